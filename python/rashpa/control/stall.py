"""Notices that nothing happens any more, for each receiver on its own: others that go on must not hide one that stands still."""

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from rashpa.control.receivers import EMULATOR
from rashpa.control.run_plan import Plan
from rashpa.control.telegram import Status

_STALL_S = 8.0  # without any news, beyond what rate and deadlines explain
_STORING_S = (
    300.0  # without a byte stored, where images wait for a sink or files are being completed: disks are slow, not dead
)


@dataclass(frozen=True)
class Stalled:
    """Who stands still, and for how long."""

    node: str
    seconds: float


class StallWatch:
    """`stalled` after each look at the nodes. With dead modules the receivers are watched together: nothing may be due at one of them."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        names = [receiver.name for receiver in plan.receivers]
        self._groups = [names] if plan.file.faults.dead_modules else [[name] for name in names]
        now = time.monotonic()
        self._news: dict[str, object] = {}
        self._since = {group[0]: now for group in self._groups}

    def stalled(self, last: Mapping[str, Status], awaited: Collection[str]) -> Stalled | None:
        """The node to blame, when a group that is not at its end has been without news for too long; `awaited`: nodes the run waits for."""
        now = time.monotonic()
        for group in self._groups:
            key = group[0]
            news = [self._counters(name, last) for name in group]
            if news != self._news.get(key) or last[EMULATOR].state == "paused" or self._at_end(group, last, awaited):
                self._news[key], self._since[key] = news, now
            elif now - self._since[key] > (patience := self._patience_now_s(group, last)):
                waiting = [name for name in awaited if name in group and last[name].state != "finished"]
                alone = len(self._groups) == 1
                node = waiting[0] if waiting else next(iter(awaited)) if alone else key
                return Stalled(node, patience)
        return None

    def _counters(self, name: str, last: Mapping[str, Status]) -> object:
        """What changes as long as images are sent, decided or written. Packets are no progress: a link that repeats itself sends them for ever."""
        source, destination = last[EMULATOR].source, last[name].destination
        own = {dtp.id for dtp in self._plan.dtps_of(name)}
        return (
            [(dtp.images_sent, dtp.images_skipped) for dtp in source.dtps if dtp.id in own] if source else None,
            [
                (buffer.books, buffer.bytes_stored, [(dtp.complete, dtp.partial, dtp.missing) for dtp in buffer.dtps])
                for buffer in destination.buffers
            ]
            if destination
            else None,
            last[name].state,
            last[EMULATOR].state,
        )

    def _at_end(self, group: Collection[str], last: Mapping[str, Status], awaited: Collection[str]) -> bool:
        """Whether nothing more can come of these receivers while the run waits for others."""
        if len(self._groups) == 1:
            return False
        if any(name in awaited for name in group):
            return all(last[name].state == "finished" for name in group)
        return all(self._sent(name, last[EMULATOR]) for name in group)

    def _sent(self, name: str, emulator: Status) -> bool:
        """Whether the emulator is through with all images for a receiver; what was lost of the last ones is decided after Stop."""
        images = {dtp.id: buffer.images for buffer in self._plan.buffers_of(name) for dtp in buffer.dtps}
        own = [dtp for dtp in emulator.source.dtps if dtp.id in images] if emulator.source else []
        return bool(own) and all(dtp.images_sent + dtp.images_skipped >= images[dtp.id] for dtp in own)

    def _patience_now_s(self, group: Collection[str], last: Mapping[str, Status]) -> float:
        return _STORING_S if any(_storing(last[name]) for name in group) else self._patience_s(group)

    def _patience_s(self, group: Collection[str]) -> float:
        """How long a healthy run may be without news from these receivers."""
        file = self._plan.file
        period = 1.0 / file.detector.rate_hz if file.detector.rate_hz > 0 else 0.0
        sections = [buffer.section for buffer in self._plan.buffers if buffer.receiver in group]
        slowest = max(section.every * section.stack for section in sections) * period
        deadline_s = max(section.deadline_ms for section in sections) / 1000.0
        return _STALL_S + 2.0 * slowest + deadline_s + file.faults.stall_us / 1e6


def _storing(status: Status) -> bool:
    """Whether sinks are at work: images wait for them, or all are through and files are being completed."""
    buffers = status.destination.buffers if status.destination and status.state != "finished" else ()
    return any(buffer.to_write for buffer in buffers) or (
        bool(buffers) and all(buffer.books.decided == buffer.books.expected for buffer in buffers)
    )
