# SPDX-License-Identifier: Apache-2.0
"""Changes limits of vetoes during a run, for its manager: a request is checked like the run file, and every receiver of the buffer gets the order."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager

from rashpa.control.handover.journal import Journal
from rashpa.control.handover.limits_request import LIMITS, Limits, LimitsAnswer
from rashpa.control.handover.run_request import RequestDesk, attended
from rashpa.control.nodes.fleet import Fleet
from rashpa.control.nodes.node_client import NodeError
from rashpa.control.orders.limit_values import (
    LimitsError,
    buffers_named,
    changed_kernels,
    kernels_with,
    line_of,
    number_of,
)
from rashpa.control.plan.model import PlannedBuffer
from rashpa.control.telegrams import telegram

_LOOK_S = 0.2
_LONGEST_NAME = 1000  # of a requester


class LimitOrders:
    """Carries out requests for the manager of one run."""

    def __init__(self, fleet: Fleet, journal: Journal | None) -> None:
        self._fleet = fleet
        self._desk = RequestDesk(LIMITS, journal.path) if journal is not None else None

    def attended(self) -> AbstractAsyncContextManager[None]:
        """Receive requests during the context. A request to an earlier run is ignored."""
        return attended(self._desk, self._attend)

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
        """Change limits, and return the changes, one line for each. Raise LimitsError for a wrong value, NodeError when a receiver refuses."""
        buffers = self._alive(buffers_named(self._fleet.plan, wanted.buffer))
        for buffer in buffers:
            await self._fleet.look_at(buffer.receiver)
        orders = [self._order(buffer, wanted) for buffer in buffers]
        lines: list[str] = []
        for buffer, order in zip(buffers, orders, strict=True):
            before = len(changes_of(self._fleet, buffer))
            try:
                status = await self._fleet.clients[buffer.receiver].order(order)
            except NodeError as error:
                raise LimitsError("\n".join([*lines, f"{buffer.section.name}: {error}"])) from None
            self._fleet.keep(buffer.receiver, status)
            lines += [line_of(buffer.section.name, one) for one in changes_of(self._fleet, buffer)[before:]]
        return "\n".join(lines)

    def _alive(self, buffers: Sequence[PlannedBuffer]) -> list[PlannedBuffer]:
        found = [one for one in buffers if one.receiver not in self._fleet.lost]
        if not found:
            raise LimitsError("buffer: no receiver of it takes part in the run any more; start another run")
        return found

    def _order(self, buffer: PlannedBuffer, wanted: Limits) -> telegram.SetLimits:
        kernels = kernels_with(buffer, changes_of(self._fleet, buffer))
        number = number_of(kernels, wanted.step, buffer.section.name)
        changed = changed_kernels(self._fleet.plan, kernels, number, wanted.values)
        by = wanted.by[:_LONGEST_NAME]
        return telegram.SetLimits(buffer=buffer.section.name, number=number, kernel=changed[number], by=by)


def changes_of(fleet: Fleet, buffer: PlannedBuffer) -> tuple[telegram.LimitChange, ...]:
    """Return the changes of a buffer's limits, from the last status of its receiver."""
    destination = fleet.status(buffer.receiver).destination
    known = destination.buffers if destination is not None else ()
    return next((one.limits for one in known if one.name == buffer.section.name), ())


def orders_like(fleet: Fleet, buffer: PlannedBuffer) -> Iterator[telegram.SetLimits]:
    """Yield the orders that give a new member of a group the limits of the other members."""
    others = [one for one in buffers_named(fleet.plan, buffer.section.name) if one.receiver != buffer.receiver]
    model = next((one for one in others if changes_of(fleet, one)), None)
    if model is None:
        return
    changes = changes_of(fleet, model)
    now = kernels_with(model, changes)
    for number in dict.fromkeys(change.number for change in changes):
        if now[number] != buffer.section.kernel[number]:
            by = next(change.by for change in reversed(changes) if change.number == number)
            yield telegram.SetLimits(buffer=buffer.section.name, number=number, kernel=now[number], by=by)
