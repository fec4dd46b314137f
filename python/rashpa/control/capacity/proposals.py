# SPDX-License-Identifier: Apache-2.0
"""Finds changes of a run file with which it fits its machines. Each change is tried: a plan is made with it, and all limits are computed again."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil, floor, log10
from typing import Any

from rashpa.control.capacity.limits import Limit, limits_of
from rashpa.control.capacity.loads import memory_of
from rashpa.control.plan.model import Plan
from rashpa.control.plan.reduction import bins_of
from rashpa.control.plan.run_plan import plan_run
from rashpa.control.runfile import run_file as toml
from rashpa.control.runfile.kernels import files_of
from rashpa.control.runfile.key_types import KeyPath
from rashpa.control.runfile.run_file_reader import RunFileError, key_text
from rashpa.control.telegrams.telegram import Capabilities

_MOST_EVERY = 1 << 20
_MOST_FACTOR = 1 << 11  # by which all that share a limit become rarer
_DECADES = 9  # how much lower a rate may be proposed
_STEPS = 9000  # numbers of four digits: rates of a decade
_LEAST_STACKS = 2  # of a ring
_ONE_BY_ONE = 1000  # limits that are looked at one by one, times DTPs that are planned anew each time


@dataclass(frozen=True)
class Change:
    """Describes a change: a key and its new value. `name`: the name of the buffer that has the key."""

    path: KeyPath
    value: Any
    name: str = ""

    @property
    def toml(self) -> Any:
        """Return the value in the form of a run file."""
        return list(self.value) if isinstance(self.value, tuple) else self.value

    @property
    def text(self) -> str:
        value = f"{self.value:.12g}" if isinstance(self.value, float) else self.toml
        return f"{key_text(self.path)} = {value}{f' ({self.name})' if self.name else ''}"


Changes = tuple[Change, ...]
"""Made at once."""


@dataclass(frozen=True)
class Proposal:
    """Holds changes that are made together."""

    changes: Changes

    @property
    def text(self) -> str:
        return " and ".join(change.text for change in self.changes)

    def applied(self, file: toml.RunFile) -> toml.RunFile:
        """Return the run file with the changes."""
        for change in self.changes:
            file = _with(file, change)
        return file


def proposals_for(plan: Plan, capabilities: Mapping[str, Capabilities]) -> tuple[Proposal, ...]:
    """Return proposals, each sufficient alone, or none when no remedy fits: a slice, a region, a rate; slots and frames when memory is short."""
    found = []
    for remedy in (_slower, _smaller, _rarer):
        proposal = _Search(plan, capabilities).by(remedy)
        if proposal is not None and proposal not in found:
            found.append(proposal)
    return tuple(found)


class _Search:
    """Collects changes until no limit is exceeded."""

    def __init__(self, plan: Plan, capabilities: Mapping[str, Capabilities]) -> None:
        self.plan = plan
        self._capabilities = capabilities
        self._changes: dict[KeyPath, Change] = {}

    def by(self, remedy: "Remedy") -> Proposal | None:
        """Return a proposal by this remedy, None when a limit would stay exceeded. Each round makes one limit fit, and no change makes another limit
        worse."""
        for _ in range(2 * len(limits_of(self.plan, self._capabilities)) + 1):
            exceeded = [limit for limit in limits_of(self.plan, self._capabilities) if limit.exceeded]
            if not exceeded:
                return Proposal(tuple(self._changes.values()))
            changes, plan = self._all(remedy, exceeded) or self._one(remedy, exceeded[0])
            if plan is None:
                return None
            self.plan = plan
            self._changes |= {change.path: change for change in changes}
        return None

    def _one(self, remedy: "Remedy", limit: Limit) -> tuple[Changes, Plan | None]:
        """Return the smallest change that makes the limit fit, and the plan with it; no plan when there is no such change."""
        tried = _LEANER.get(limit.kind, remedy)
        changes = next(tried(self, limit), ())
        return changes, self.with_changes(changes) if changes else None

    def _all(self, remedy: "Remedy", exceeded: Sequence[Limit]) -> tuple[Changes, Plan] | None:
        """Reduce all buffers that use exceeded limits in proportion, when they are so many that reducing one after the other would take minutes.
        Return None when they are few, or when it does not suffice."""
        if len(exceeded) == 1 or len(exceeded) * len(self.plan.dtps) <= _ONE_BY_ONE:
            return None
        changes = _leaner_in_proportion(self, [limit for limit in exceeded if limit.kind == "memory"])
        changes += _IN_PROPORTION[remedy](self, [limit for limit in exceeded if limit.kind not in _LEANER])
        plan = self.with_changes(changes) if changes else None
        return (changes, plan) if plan is not None else None

    def with_changes(self, changes: Changes) -> Plan | None:
        """Return the plan with the changes, None when no plan can be made."""
        try:
            return plan_run(Proposal(changes).applied(self.plan.file), self.plan.source)
        except RunFileError:
            return None

    def fits(self, limit: Limit, changes: Changes) -> bool:
        """Return True when the limit holds with the changes, or when there is no plan with them."""
        plan = self.with_changes(changes)
        if plan is None:
            return True
        return not any(one.exceeded for one in limits_of(plan, self._capabilities) if one.who == limit.who)

    def most(self, limit: Limit, least: int, most: int, change: Callable[[int], Changes]) -> Iterator[Changes]:
        """Yield the change with the largest number from `least` to `most` for which the limit holds; nothing when it holds for none."""
        if least > most or not self.fits(limit, change(least)):
            return
        above, step = most + 1, 1  # near the largest first: an excess is often small
        while above - step > least and not self.fits(limit, change(above - step)):
            above, step = above - step, 2 * step
        least = max(least, above - step)
        while least < above - 1:
            middle = (least + above) // 2
            if self.fits(limit, change(middle)):
                least = middle
            else:
                above = middle
        if self.with_changes(change(least)):
            yield change(least)

    def heaviest(self, limit: Limit) -> list[int]:
        """Return the limit's buffers in descending order of pixels/s."""

        def weight(position: int) -> float:
            buffer = self.plan.buffers[position]
            return sum(dtp.target.width * dtp.target.height for dtp in buffer.dtps) / buffer.section.every

        return sorted(limit.buffers, key=weight, reverse=True)


Remedy = Callable[[_Search, Limit], Iterator[Changes]]
"""Yields changes with which one limit holds, the best first."""


def _slower(search: _Search, limit: Limit) -> Iterator[Changes]:
    """Yield a larger `every` of one buffer, as small as possible; or of all buffers that share the limit, in proportion."""
    sections = {position: search.plan.buffers[position].section for position in search.heaviest(limit)}

    def alone(position: int) -> Callable[[int], Changes]:
        return lambda less: (Change(_every(position), -less, sections[position].name),)

    for position, section in sections.items():
        yield from search.most(limit, -_MOST_EVERY, -section.every - 1, alone(position))

    def together(factor: int) -> Changes:
        return tuple(Change(_every(one), -factor * known.every, known.name) for one, known in sections.items())

    yield from search.most(limit, -_MOST_FACTOR, -2, together)


def _every(position: int) -> KeyPath:
    return ("buffer", position, "every")


def _smaller(search: _Search, limit: Limit) -> Iterator[Changes]:
    """Yield a region of the middle rows of one buffer, as many as fit. Buffers tied to files of a certain size stay as they are."""
    for position in search.heaviest(limit):
        yield from _fewer_rows(search, limit, position)


def _fewer_rows(search: _Search, limit: Limit, position: int) -> Iterator[Changes]:
    if _has_rows_to_spare(search, position):
        most = search.plan.buffers[position].height - 1
        plan = search.plan
        yield from search.most(limit, 1, most, lambda rows: _middle_rows(plan, position, rows))


def _has_rows_to_spare(search: _Search, position: int) -> bool:
    buffer = search.plan.buffers[position]
    return buffer.origin is not None and not any(files_of(kernel) for kernel in buffer.section.kernel)


def _middle_rows(plan: Plan, position: int, rows: int) -> Changes:
    buffer = plan.buffers[position]
    x, y = buffer.origin or (0, 0)
    across, down = bins_of(buffer.section)
    region = (x, y + (buffer.height - rows) // 2 * down, buffer.width * across, rows * down)
    return (Change(("buffer", position, "region"), region, buffer.section.name),)


def _rarer(search: _Search, limit: Limit) -> Iterator[Changes]:
    """Yield a lower frame rate of the detector."""
    rate = search.plan.file.detector.rate_hz
    if rate <= 0:
        return
    lowest = floor(log10(rate)) - _DECADES

    def value(step: int) -> float:
        decade, digits = divmod(step, _STEPS)
        return float(f"{_STEPS // 9 + digits}e{lowest + decade - 3}")

    # steps are rates of four digits, over decades
    most = max(step for step in range(_DECADES * _STEPS, (_DECADES + 1) * _STEPS) if value(step) <= rate)
    yield from search.most(limit, 0, most, lambda step: (Change(("detector", "rate_hz"), value(step)),))


def _leaner(search: _Search, limit: Limit) -> Iterator[Changes]:
    """Yield changes that need less memory: fewer slots of one buffer, fewer rows, or fewer frames when their tables are too large."""
    plan = search.plan
    if limit.where == ("run", "frames"):
        frames = plan.file.run.most_frames
        yield from search.most(limit, 1, frames - 1, lambda fewer: (Change(("run", "frames"), fewer),))
        return

    def taken(position: int) -> int:
        return sum(memory_of(plan, plan.buffers[position]).values())

    largest_first = sorted(limit.buffers, key=taken, reverse=True)
    for position in largest_first:
        yield from _fewer_slots(search, limit, position)
    for position in largest_first:
        yield from _fewer_rows(search, limit, position)


def _leaner_on_device(search: _Search, limit: Limit) -> Iterator[Changes]:
    """Yield changes that need less memory of an accelerator: a smaller stack of one buffer, a smaller ring, or fewer rows."""

    def taken(position: int) -> int:
        section = search.plan.buffers[position].section
        return section.stack * search.plan.buffers[position].width * search.plan.buffers[position].height

    for position in sorted(limit.buffers, key=taken, reverse=True):
        section = search.plan.buffers[position].section
        yield from search.most(limit, 1, section.stack - 1, partial(_stack, section, position))
        yield from _fewer_slots(search, limit, position)
        yield from _fewer_rows(search, limit, position)


def _fewer_slots_on_device(search: _Search, limit: Limit) -> Iterator[Changes]:
    """Yield changes that need a smaller window of an accelerator: a smaller ring, or fewer rows."""
    for position in limit.buffers:
        yield from _fewer_slots(search, limit, position)
        yield from _fewer_rows(search, limit, position)


def _stack(section: toml.Buffer, position: int, stack: int) -> Changes:
    """Return the changes to a stack of that size, with the same ring, reduced to whole stacks."""
    changes: Changes = (Change(("buffer", position, "stack"), stack, section.name),)
    if left := section.slots % stack:
        changes += (Change(("buffer", position, "slots"), section.slots - left, section.name),)
    return changes


_LEANER: dict[str, Remedy] = {
    "memory": _leaner,
    "device memory": _leaner_on_device,
    "device window": _fewer_slots_on_device,
}
"""Whatever the remedy is for other limits."""


def _fewer_slots(search: _Search, limit: Limit, position: int) -> Iterator[Changes]:
    section = search.plan.buffers[position].section
    most = section.slots // section.stack - 1
    yield from search.most(limit, _LEAST_STACKS, most, lambda stacks: _slots(section, position, stacks))


def _slots(section: toml.Buffer, position: int, stacks: int) -> Changes:
    return (Change(("buffer", position, "slots"), stacks * section.stack, section.name),)


# ---- many limits at once --------------------------------------------------------------------------------------------------------------


def _excess(limits: Iterable[Limit]) -> dict[int, float]:
    """Return, by position, the worst factor by which a buffer's limits are exceeded."""
    worst: dict[int, float] = {}
    for limit in limits:
        for position in limit.buffers:
            times = limit.needed / limit.has if limit.needed and limit.has else 1.0
            worst[position] = max(times, worst.get(position, 1.0))
    return worst


def _slower_in_proportion(search: _Search, limits: Sequence[Limit]) -> Changes:
    sections = [buffer.section for buffer in search.plan.buffers]
    return tuple(
        Change(_every(position), most, sections[position].name)
        for position, times in _excess(limits).items()
        if (most := min(_MOST_EVERY, ceil(sections[position].every * times))) > sections[position].every
    )


def _smaller_in_proportion(search: _Search, limits: Sequence[Limit]) -> Changes:
    found: Changes = ()
    for position, times in _excess(limits).items():
        rows = search.plan.buffers[position].height
        if _has_rows_to_spare(search, position) and rows > 1:
            found += _middle_rows(search.plan, position, max(1, min(rows - 1, floor(rows / times))))
    return found


def _rarer_in_proportion(search: _Search, limits: Sequence[Limit]) -> Changes:
    rate = search.plan.file.detector.rate_hz
    if rate <= 0 or not limits:
        return ()
    fitting = rate / max(_excess(limits).values(), default=1.0)
    digits = 10.0 ** (floor(log10(fitting)) - 3)
    return (Change(("detector", "rate_hz"), float(f"{floor(fitting / digits) * digits:.4g}")),)


def _leaner_in_proportion(search: _Search, limits: Sequence[Limit]) -> Changes:
    found: Changes = ()
    for position, times in _excess(limit for limit in limits if limit.where != ("run", "frames")).items():
        section = search.plan.buffers[position].section
        stacks = section.slots // section.stack
        if stacks > _LEAST_STACKS:
            fewer = max(_LEAST_STACKS, min(stacks - 1, floor(stacks / times)))
            found += _slots(section, position, fewer)
    return found


_IN_PROPORTION: dict[Remedy, Callable[[_Search, Sequence[Limit]], Changes]] = {
    _slower: _slower_in_proportion,
    _smaller: _smaller_in_proportion,
    _rarer: _rarer_in_proportion,
}


def _with(file: toml.RunFile, change: Change) -> toml.RunFile:
    """Return the run file with a new value of a key, of a table or of a buffer."""
    table, *rest = change.path
    if table == "buffer":
        position, key = rest
        buffers = [
            one.model_copy(update={str(key): change.value}) if number == position else one
            for number, one in enumerate(file.buffer)
        ]
        return file.model_copy(update={"buffer": buffers})
    section = getattr(file, str(table))
    return file.model_copy(update={str(table): section.model_copy(update={str(rest[0]): change.value})})
