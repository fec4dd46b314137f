# SPDX-License-Identifier: Apache-2.0
"""Detects a stalled node. Each node is watched separately, so that active nodes do not hide a stalled one."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from rashpa.control.nodes.heard import status_of
from rashpa.control.nodes.running_time import RunningClock
from rashpa.control.plan.model import Plan
from rashpa.control.plan.patience import patience_s
from rashpa.control.telegrams.telegram import Status

_LONGEST_STEP_S = (
    2.0  # between two looks: a manager that stood still has seen nothing, and nobody stood still for that long
)
STORING_S = (
    300.0  # without a byte stored, where images wait for a sink or files are being completed: disks are slow, not dead
)


@dataclass(frozen=True)
class Stalled:
    """Names the stalled node, and the time in seconds for which it made no progress."""

    node: str
    seconds: float


class StallWatch:
    """Finds a stalled node; call `stalled` after each status of the nodes. A receiver is watched together with the emulators that send to it; with
    several emulators, each is also watched alone. The members of a group are watched together. With dead modules, all receivers are watched together
    and emulators are not, because nothing may be due at one of them."""

    def __init__(self, plan: Plan, clock: Callable[[], float] | None = None) -> None:
        self._plan = plan
        self._clock = clock or RunningClock(_LONGEST_STEP_S).look
        names = [receiver.name for receiver in plan.receivers]
        dead = bool(plan.file.faults.dead_modules)
        dealt = [list(group.members) for group in plan.groups]  # a member may have an image that another lacks
        alone = [name for name in names if plan.group_of(name) is None]
        self._groups = [names] if dead else [*([name] for name in alone), *dealt]
        self._alone = [emulator.name for emulator in plan.emulators] if len(plan.emulators) > 1 and not dead else []
        now = self._clock()
        self._news: dict[str, object] = {}
        self._since = dict.fromkeys([*(group[0] for group in self._groups), *self._alone], now)

    def stalled(self, last: Mapping[str, Status], awaited: Collection[str]) -> Stalled | None:
        """Return the node at fault when a node that has not finished made no progress for too long, otherwise None. `awaited`: the nodes that the run
        waits for."""
        for group in self._groups:
            news = [self._counters(name, last) for name in group]
            rests = self._paused(group, last) or self._at_end(group, last, awaited)
            patience = self._patience_now_s(group, last)
            if self._quiet(group[0], news, rests, patience):
                return Stalled(self._to_blame(group, last, awaited), patience)
        for name in self._alone:
            fed = [receiver.name for receiver in self._plan.receivers if name in self._feeders[receiver.name]]
            rests = (
                status_of(last, name).state != "running"
                or name not in awaited
                or self._waits_for_others(name, fed, last)
            )
            patience = self._patience_now_s(fed, last)
            if self._quiet(name, (self._sent_of(name, last, None), status_of(last, name).state), rests, patience):
                return Stalled(name, patience)
        return None

    @cached_property
    def _feeders(self) -> dict[str, list[str]]:
        """Return, for each receiver, the emulators that send to it."""
        plan = self._plan
        senders = {name: {plan.emulator_of(dtp) for dtp in plan.dtps_of(name)} for name in self._receivers}
        return {name: [each.name for each in plan.emulators if each.name in senders[name]] for name in self._receivers}

    @property
    def _receivers(self) -> list[str]:
        return [receiver.name for receiver in self._plan.receivers]

    def _quiet(self, key: str, news: object, rests: bool, patience_s: float) -> bool:
        """Return True when `news` has not changed for more than `patience_s` seconds. While the node `rests`, the time does not count."""
        now = self._clock()
        if news != self._news.get(key) or rests:
            self._news[key], self._since[key] = news, now
        return now - self._since[key] > patience_s

    def _to_blame(self, group: Collection[str], last: Mapping[str, Status], awaited: Collection[str]) -> str:
        waiting = [name for name in awaited if name in group and status_of(last, name).state != "finished"]
        if waiting:
            return waiting[0]
        if behind := self._behind(group, last):
            return behind
        open_ones = [name for name in awaited if status_of(last, name).state != "finished"]
        return [*open_ones, *awaited][0] if len(self._groups) == 1 else next(iter(group))

    def _behind(self, group: Collection[str], last: Mapping[str, Status]) -> str:
        """Return the emulator that has sent fewer images of a buffer of these receivers than another, which then waits for a free slot. Return an
        empty name when all have sent the same number."""
        for sent in self._sent_by_buffer(group, last):
            if len(set(sent.values())) > 1:
                return min(sent, key=sent.__getitem__)
        return ""

    def _waits_for_others(self, emulator: str, group: Collection[str], last: Mapping[str, Status]) -> bool:
        """Return True when the emulator is ahead of another one in a buffer of these receivers and behind none, so that it may be waiting for a free
        slot."""
        ahead = False
        for sent in self._sent_by_buffer(group, last):
            if emulator in sent:
                if sent[emulator] < max(sent.values()):
                    return False
                ahead = ahead or sent[emulator] > min(sent.values())
        return ahead

    def _sent_by_buffer(self, group: Collection[str], last: Mapping[str, Status]) -> Iterator[dict[str, int]]:
        """Yield, for each buffer of these receivers, the number of its images that each emulator has sent with all of its DTPs."""
        for buffer in (buffer for buffer in self._plan.buffers if buffer.receiver in group):
            sent: dict[str, int] = {}
            for dtp in buffer.dtps:
                name = self._plan.emulator_of(dtp)
                count = sum(map(sum, self._sent_of(name, last, {dtp.id})))
                sent[name] = min(count, sent.get(name, count))
            yield sent

    def _sent_of(self, emulator: str, last: Mapping[str, Status], own: Collection[int] | None) -> list[tuple[int, int]]:
        """Return the numbers of images sent and skipped, for each DTP in `own`, by default for all."""
        return sent_of(status_of(last, emulator), own)

    def _paused(self, group: Collection[str], last: Mapping[str, Status]) -> bool:
        return any(status_of(last, name).state == "paused" for receiver in group for name in self._feeders[receiver])

    def _counters(self, name: str, last: Mapping[str, Status]) -> object:
        """Return counters that change while images are sent, decided or written. Packets are not counted, because a link may repeat them for ever."""
        own = {dtp.id for dtp in self._plan.dtps_of(name)}
        return (
            [self._sent_of(emulator, last, own) for emulator in self._feeders[name]],
            decided_by(status_of(last, name)),
            status_of(last, name).state,
            [status_of(last, emulator).state for emulator in self._feeders[name]],
        )

    def _at_end(self, group: Collection[str], last: Mapping[str, Status], awaited: Collection[str]) -> bool:
        """Return True when these receivers can get nothing more while the run waits for others."""
        if len(self._groups) == 1:
            return False
        if any(name in awaited for name in group):
            return all(status_of(last, name).state == "finished" for name in group)
        return all(self._sent(name, last) for name in group)

    def _sent(self, name: str, last: Mapping[str, Status]) -> bool:
        """Return True when the emulators have sent all images for a receiver. Losses among the last images are only decided after Stop."""
        if group := self._plan.group_of(name):
            source = status_of(last, self._feeders[name][0]).source
            return any(known.settled for known in (source.groups if source else ()) if known.name == group.name)
        images = {dtp.id: buffer.images for buffer in self._plan.buffers_of(name) for dtp in buffer.dtps}
        sources = [status_of(last, emulator).source for emulator in self._feeders[name]]
        own = [dtp for source in sources if source for dtp in source.dtps if dtp.id in images]
        return len(own) == len(images) and all(dtp.images_sent + dtp.images_skipped >= images[dtp.id] for dtp in own)

    def _patience_now_s(self, group: Collection[str], last: Mapping[str, Status]) -> float:
        return STORING_S if any(storing(status_of(last, name)) for name in group) else self._patience_s(group)

    def _patience_s(self, group: Collection[str]) -> float:
        return patience_s(self._plan.file, [buffer for buffer in self._plan.buffers if buffer.receiver in group])


def sent_of(status: Status, own: Collection[int] | None = None) -> list[tuple[int, int]]:
    """Return the numbers of images that an emulator has sent and skipped, for each DTP in `own`, by default for all."""
    dtps = status.source.dtps if status.source else ()
    return [(dtp.images_sent, dtp.images_skipped) for dtp in dtps if own is None or dtp.id in own]


def decided_by(status: Status) -> object:
    """Return a value that differs between two calls while the receiver makes progress."""
    buffers = status.destination.buffers if status.destination else ()
    return [
        (buffer.books, buffer.bytes_stored, [(dtp.complete, dtp.partial, dtp.missing) for dtp in buffer.dtps])
        for buffer in buffers
    ]


def storing(status: Status) -> bool:
    """Return True while a sink still stores images or completes its files."""
    buffers = status.destination.buffers if status.destination and status.state != "finished" else ()
    return any(buffer.to_write for buffer in buffers) or (
        bool(buffers) and all(buffer.end_known and buffer.books.decided == buffer.books.expected for buffer in buffers)
    )
