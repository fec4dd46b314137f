# SPDX-License-Identifier: Apache-2.0
"""Limits of vetoes that change while a run goes on, for its manager: a request is checked as the run file is, and every receiver of the buffer gets it."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from rashpa.control.handover.journal import Journal
from rashpa.control.handover.limits_request import LIMITS, Limits, LimitsAnswer, LimitsError
from rashpa.control.handover.run_request import RequestDesk
from rashpa.control.nodes.fleet import Fleet
from rashpa.control.nodes.node_client import NodeError
from rashpa.control.plan.model import Plan, PlannedBuffer
from rashpa.control.runfile import special_values
from rashpa.control.runfile.kernels import Kernel, live_keys, step_of
from rashpa.control.runfile.pipeline import problems_of
from rashpa.control.telegrams import telegram
from rashpa.data.base.value_words import faults_of

_LOOK_S = 0.2
_LONGEST = 2000  # characters of a value


class LimitOrders:
    """Obeys requests, for the manager of one run."""

    def __init__(self, fleet: Fleet, journal: Journal | None) -> None:
        self._fleet = fleet
        self._desk = RequestDesk(LIMITS, journal.path) if journal is not None else None

    @contextlib.asynccontextmanager
    async def attended(self) -> AsyncIterator[None]:
        """Take requests for the time of the context; a request of an earlier run does not count."""
        if self._desk is None:
            yield
            return
        self._desk.forget()
        task = asyncio.create_task(self._attend(self._desk))
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            self._desk.close()

    async def _attend(self, desk: RequestDesk[Limits, LimitsAnswer]) -> None:
        while True:
            if (wanted := desk.next()) is not None:
                try:
                    answer = LimitsAnswer(done=await self.set(wanted.what))
                except (LimitsError, NodeError) as error:
                    answer = LimitsAnswer(refused=str(error))
                desk.answer(wanted, answer)
            await asyncio.sleep(_LOOK_S)

    async def set(self, wanted: Limits) -> str:
        """Change limits, and return the changes, a line each. Raise LimitsError when a value is wrong, NodeError when a receiver refuses."""
        buffers = self._alive(buffers_named(self._fleet.plan, wanted.buffer))
        for buffer in buffers:
            await self._fleet.look_at(buffer.receiver)
        orders = [self._order(buffer, wanted) for buffer in buffers]
        lines: list[str] = []
        for buffer, order in zip(buffers, orders, strict=True):
            try:
                status = await self._fleet.clients[buffer.receiver].order(order)
            except NodeError as error:
                raise LimitsError("\n".join([*lines, f"{buffer.section.name}: {error}"])) from None
            before = len(changes_of(self._fleet, buffer))
            self._fleet.keep(buffer.receiver, status)
            lines += [line_of(buffer.section.name, one) for one in changes_of(self._fleet, buffer)[before:]]
        return "\n".join(lines)

    def _alive(self, buffers: Sequence[PlannedBuffer]) -> list[PlannedBuffer]:
        found = [one for one in buffers if one.receiver not in self._fleet.lost]
        if not found:
            raise LimitsError("buffer: no receiver of it takes part in the run any more; start another run")
        return found

    def _order(self, buffer: PlannedBuffer, wanted: Limits) -> telegram.SetLimits:
        kernels = kernels_now(self._fleet, buffer)
        number = _number_of(kernels, wanted.step, buffer.section.name)
        changed = _changed(kernels[number], wanted.values)
        self._check_pipeline(buffer, [*kernels[:number], changed, *kernels[number + 1 :]], number)
        return telegram.SetLimits(buffer=buffer.section.name, number=number, kernel=changed, by=wanted.by[:_LONGEST])

    def _check_pipeline(self, buffer: PlannedBuffer, kernels: Sequence[Kernel], number: int) -> None:
        """Raise LimitsError for values that contradict each other, or the columns before the step."""
        detector = self._fleet.plan.file.detector
        for problem in problems_of(kernels, detector.pixel, special_values.largest_count(detector)):
            path = [part for part in problem.path if part not in ("kernel", number)]
            raise LimitsError(f"{'.'.join(map(str, path)) or buffer.section.name}: {problem.text}")


def buffers_named(plan: Plan, name: str) -> list[PlannedBuffer]:
    """Return the buffers that a name of the run file stands for: one of a group, or of one of its members, stands for all members'. Raise LimitsError when it
    names none, or is empty and there are several."""
    names = dict.fromkeys(_family(plan, one) for one in plan.buffers)
    if not name and len(names) == 1:
        name = next(iter(names))
    for family in names:
        members = [one for one in plan.buffers if _family(plan, one) == family]
        if name == family or name in [one.section.name for one in members]:
            return members
    what = f"there is no {name}" if name else "the run has several"
    raise LimitsError(f"buffer: {what}; name one of {', '.join(names)}")


def _family(plan: Plan, buffer: PlannedBuffer) -> str:
    """Return the name of a buffer in the run file, without that of a group's member."""
    group = plan.group_of(buffer.receiver) if buffer.section.group else None
    return buffer.section.name.removesuffix(f"_{buffer.receiver}") if group is not None else buffer.section.name


def changes_of(fleet: Fleet, buffer: PlannedBuffer) -> tuple[telegram.LimitChange, ...]:
    """Return the changes of a buffer's limits, by the last status of its receiver."""
    destination = fleet.status(buffer.receiver).destination
    known = destination.buffers if destination is not None else ()
    return next((one.limits for one in known if one.name == buffer.section.name), ())


def kernels_now(fleet: Fleet, buffer: PlannedBuffer) -> list[Kernel]:
    """Return the kernels of a buffer with the limits that they have now."""
    kernels = list(buffer.section.kernel)
    for change in changes_of(fleet, buffer):
        kernels[change.number] = kernels[change.number].model_copy(update={change.key: json.loads(change.new)})
    return kernels


def orders_like(fleet: Fleet, buffer: PlannedBuffer) -> Iterator[telegram.SetLimits]:
    """Yield the orders that give a member that has joined a group the limits which the others have."""
    others = [one for one in buffers_named(fleet.plan, buffer.section.name) if one.receiver != buffer.receiver]
    model = next((one for one in others if changes_of(fleet, one)), None)
    if model is None:
        return
    changes = changes_of(fleet, model)
    now = kernels_now(fleet, model)
    for number in dict.fromkeys(change.number for change in changes):
        if now[number] != buffer.section.kernel[number]:
            by = next(change.by for change in reversed(changes) if change.number == number)
            yield telegram.SetLimits(buffer=buffer.section.name, number=number, kernel=now[number], by=by)


def line_of(buffer: str, change: telegram.LimitChange) -> str:
    """Return a change in words."""
    return f"{buffer}: {change.step}: {change.key} is {_plain(change.new)} in place of {_plain(change.old)}, from image {change.first_image} on"


def _plain(text: str) -> str:
    """Return a value of JSON for people."""
    value = json.loads(text)
    return value if isinstance(value, str) else text


def limits_now(fleet: Fleet, buffer: PlannedBuffer) -> dict[str, dict[str, Any]]:
    """Return the limits that may change, by step and key."""
    kernels = kernels_now(fleet, buffer)
    return {
        _name_of(kernels, number): {key: getattr(kernels[number], key) for key in live_keys(kernels[number])}
        for number in _changing(kernels)
    }


def _changing(kernels: Sequence[Kernel]) -> list[int]:
    return [number for number, kernel in enumerate(kernels) if live_keys(kernel)]


def _name_of(kernels: Sequence[Kernel], number: int) -> str:
    """Return the name of a step: its reason or its kernel's name, and its number where another step has the same."""
    name = step_of(kernels[number])
    return name if [step_of(kernel) for kernel in kernels].count(name) == 1 else str(number)


def _number_of(kernels: Sequence[Kernel], step: str, buffer: str) -> int:
    changing = _changing(kernels)
    names = {_name_of(kernels, number): number for number in changing}
    if step in names:
        return names[step]
    if step.isdecimal() and int(step) in changing:
        return int(step)
    known = ", ".join(f"{name} ({', '.join(live_keys(kernels[number]))})" for name, number in names.items())
    advice = f"there are {known}" if known else "it has no veto with limits that may change"
    raise LimitsError(f"step: buffer {buffer} has no veto {step[:80]}; {advice}")


def _changed(kernel: Kernel, values: Mapping[str, str]) -> Kernel:
    """Return the kernel with other values. Raise LimitsError in the words of the run file."""
    if not values:
        raise LimitsError(f"no limit is given; give KEY=VALUE, of {', '.join(live_keys(kernel))}")
    known = kernel.model_dump()
    for key, text in values.items():
        if key not in live_keys(kernel):
            what = (
                f"{kernel.name} keeps it from its start to its end"
                if key in known
                else f"{kernel.name} has no such key"
            )
            raise LimitsError(f"{key[:80]}: {what}; change {' or '.join(live_keys(kernel))}")
        known[key] = _value_of(text.strip()[:_LONGEST], type(kernel).model_fields[key].annotation)
    try:
        changed: Kernel = type(kernel).model_validate(known)
    except ValidationError as error:
        raise LimitsError("\n".join(faults_of(error))) from None
    if changed == kernel:
        raise LimitsError(f"{', '.join(values)}: {step_of(kernel)} has this limit already; give another")
    return changed


def _value_of(text: str, kind: Any) -> str | int | float:
    """Return the value of a text; one that is no number stays as it is, and the model says so."""
    if kind is str:
        return text
    try:
        return float(text) if kind is float else int(text)
    except ValueError:
        return text
