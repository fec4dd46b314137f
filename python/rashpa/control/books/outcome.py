# SPDX-License-Identifier: Apache-2.0
"""Holds the facts of a run, during the run and at its end."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from rashpa.control.books.overrun import Overrun
from rashpa.control.books.overrun_look import streams_of
from rashpa.control.books.pictures import Pictures
from rashpa.control.nodes.fleet import LostMember
from rashpa.control.plan.model import Plan, PlannedBuffer
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram import Books, BufferStatus, Capabilities, DestinationStatus, SourceStatus, Status

if TYPE_CHECKING:  # with NumPy, for which no node waits
    from rashpa.control.books.accounting import BufferAccount
    from rashpa.control.books.group_accounting import GroupAccount


@dataclass(frozen=True)
class Progress:
    """Holds a snapshot of a run. `emulators`, `receivers`: by name, the status of each node that has sent one."""

    phase: str
    frames: int
    elapsed_s: float
    emulators: Mapping[str, Status] = field(default_factory=dict)
    receivers: Mapping[str, Status] = field(default_factory=dict)


@dataclass(frozen=True)
class Rates:
    """Holds mean rates, from the first packet to the last decision of any receiver."""

    elapsed_s: float
    frames_per_s: float  # of the detector, those of which something arrived
    images_per_s: float  # arrived images of all buffers
    payload_gb_per_s: float | None  # pixels of accepted packets, 10⁹ bytes; None: of a simulated card


@dataclass
class Outcome:
    """Holds the result of a run. `problem` is empty when the run reached its regular end. `capabilities`, `emulators` and `receivers` are by the name
    of the node; a lost node has its last status."""

    plan: Plan
    problem: str = ""
    interrupted: bool = False
    stopped_by: str = ""  # the user who has ended it in order before its last frame
    capabilities: dict[str, Capabilities] = field(default_factory=dict)
    emulators: dict[str, Status] = field(default_factory=dict)
    receivers: dict[str, Status] = field(default_factory=dict)
    fates: dict[int, bytes] = field(default_factory=dict)
    completeness: dict[str, bytes] = field(default_factory=dict)
    decisions: dict[str, bytes] = field(default_factory=dict)
    accounts: "tuple[BufferAccount, ...]" = ()
    acquisition_s: float = 0.0
    logs: dict[str, list[str]] = field(default_factory=dict)  # lines, of nodes that end with the run
    cautions: tuple[str, ...] = ()  # lines: limits of the machines that were exceeded, and forced
    overruns: list[Overrun] = field(default_factory=list)
    lost: dict[str, LostMember] = field(default_factory=dict)  # members of groups that the run went on without
    joined: dict[str, float] = field(default_factory=dict)  # members that came later, and when, in seconds of the run
    dealt: dict[str, bytes] = field(default_factory=dict)  # by member of a group, the frames that it was given
    groups: "tuple[GroupAccount, ...]" = ()
    pictures: Pictures = field(default_factory=dict)  # where a report is wanted
    run_id: str = ""  # of all its files; empty: nothing was configured
    refused: bool = False  # before anything was started: the input does not fit the machines

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows."""
        from rashpa.data.figures.notebook import books_html

        said = self.problem or ("" if self.good else "not every image is stored or explained")
        columns = {buffer.name: asdict(buffer.books) for buffer in self.buffers} | {"all": asdict(self.books)}
        return books_html(f"run {self.plan.file.run.name}", columns, (said, *self.all_cautions))

    @property
    def sources(self) -> dict[str, SourceStatus]:
        """Return the counters of emulators that have some, by name, in the order of the plan."""
        statuses = ((emulator.name, self.emulators.get(emulator.name)) for emulator in self.plan.emulators)
        return {name: status.source for name, status in statuses if status and status.source}

    @property
    def injected(self) -> dict[str, int]:
        """Return the counts of injected faults by name, over all emulators."""
        total: dict[str, int] = {}
        for status in self.sources.values():
            for name, value in telegram.count_of(status.counts, "injected").items():
                total[name] = total.get(name, 0) + value
        return total

    @property
    def replayed(self) -> dict[str, int]:
        """Return the counts of a replayed run's images: `expected`, `made`, `missing`, `errored`. Each emulator reads the same images. Return an
        empty dict without a replayed run, or without counters."""
        counts = (telegram.count_of(source.counts, "dataset") for source in self.sources.values())
        return next((counted for counted in counts if counted), {})

    @property
    def frames(self) -> int:
        """Return the number of frames of the run; without a fixed number, the frames played."""
        if not self.plan.end_told and not self.stopped_by:
            return self.plan.file.run.most_frames
        if not self.plan.emulators:
            return max(
                (one.frame_of(self._expected(one) - 1) + 1 for one in self.plan.buffers if self._expected(one)),
                default=0,
            )
        return max((source.frames_begun for source in self.sources.values()), default=0)

    def _expected(self, planned: PlannedBuffer) -> int:
        """Return the number of images that a buffer expected, 0 when unknown."""
        return next((one.books.expected for one in self.buffers if one.name == planned.section.name), 0)

    @property
    def images_skipped(self) -> int:
        """Return the number of images of DTPs that emulators did not send, because the ring was full or the frame too late."""
        return sum(dtp.images_skipped for source in self.sources.values() for dtp in source.dtps)

    @property
    def destinations(self) -> dict[str, DestinationStatus]:
        """Return the counters of receivers that have some, by name, in the order of the plan."""
        statuses = ((receiver.name, self.receivers.get(receiver.name)) for receiver in self.plan.receivers)
        return {name: status.destination for name, status in statuses if status and status.destination}

    @property
    def buffers(self) -> tuple[BufferStatus, ...]:
        """Return the status of buffers in the order of the plan, without those of receivers that the run continued without."""
        known = {buffer.name: buffer for status in self.destinations.values() for buffer in status.buffers}
        names = (buffer.section.name for buffer in self.plan.buffers if buffer.receiver not in self.lost)
        return tuple(known[name] for name in names if name in known)

    @property
    def books(self) -> Books:
        """Return the sum of the books of all buffers."""
        return sum((buffer.books for buffer in self.buffers), Books())

    @property
    def link_counts(self) -> dict[str, int]:
        """Return the link counters, summed over all receivers."""
        total: dict[str, int] = {}
        for status in self.destinations.values():
            for name, value in telegram.count_of(status.counts, "link").items():
                total[name] = total.get(name, 0) + value
        return total

    @property
    def rates(self) -> Rates:
        """Return the mean rates of the run, all 0 when nothing arrived."""
        elapsed = max((status.elapsed_s for status in self.destinations.values()), default=0.0)
        if elapsed <= 0:
            return Rates(0.0, 0.0, 0.0, 0.0)
        books = self.books
        # given-up images are decided, too, but they never came; of a group each member has a part
        arrived = {buffer.name: buffer.books.arrived for buffer in self.buffers}
        came = max(
            stream.every * sum(arrived.get(buffer.section.name, 0) for buffer in stream.buffers)
            for stream in streams_of(self.plan)
        )
        frames = min(came, self.plan.file.run.most_frames)
        payload = self.link_counts.get("payload_bytes", 0)
        speed = None if simulates(self.sources.values()) else payload / elapsed / 1e9
        return Rates(elapsed, frames / elapsed, books.arrived / elapsed, speed)

    @property
    def cards(self) -> dict[str, dict[str, int]]:
        """Return the counters of cards, by the name of the emulator."""
        counts = {name: telegram.count_of(source.counts, "card") for name, source in self.sources.items()}
        return {name: counted for name, counted in counts.items() if counted}

    @property
    def balanced(self) -> bool:
        """Return True when the books of every buffer are known and balanced."""
        buffers = self.buffers
        lost = sum(buffer.receiver in self.lost for buffer in self.plan.buffers)
        return len(buffers) == len(self.plan.buffers) - lost and all(buffer.books.balanced for buffer in buffers)

    @property
    def unexplained(self) -> int:
        return sum(account.unexplained for account in self.accounts)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Return a line for each fault of images: their number, buffer, cause, and the first images. An empty result means nothing for a run that did
        not reach its regular end."""
        lines = [line for buffer in self.buffers for line in _reasons_of(buffer)]
        lines += [line for group in self.groups for line in group.reasons]
        if self.unexplained:
            first = next(account.first_unexplained for account in self.accounts if account.first_unexplained)
            lines.append(f"{self.unexplained} images are not as the emulator's log says; the first: {first}")
        lines += _reasons_of_replay(self.plan, self.replayed)
        if not self.plan.emulators and self.buffers and not self.books.arrived:
            packets = self.link_counts.get("packets", 0)
            lines.append(
                f"no image came, of {self.books.expected} expected; {packets:,} datagrams did"
                + _unused(self.link_counts)
            )
        lines += [f"run.on_overrun: {overrun.text}" for overrun in self.overruns if overrun.action == "stopped"]
        return tuple(lines)

    @property
    def all_cautions(self) -> tuple[str, ...]:
        """Return lines on facts that are no failure but important: `cautions`, images that the detector itself lost, and overruns after which the run
        continued."""
        return (
            *self.cautions,
            *_losses_of(self),
            *(overrun.text for overrun in self.overruns if overrun.action != "stopped"),
        )

    @property
    def good(self) -> bool:
        """Return True after a regular end with balanced books, no errored or unwritten image, and every loss explained by the emulator's log."""
        return not self.problem and not self.interrupted and self.balanced and bool(self.accounts) and not self.reasons


_UNUSED = {
    "malformed": "of another size, detector or version",
    "wrong_port": "of another port",
    "wrong_number": "with a number that no packet has",
    "no_frame": "of no frame of the run",
    "late_packets": "too late",
    "overrun_packets": "without a free slot",
}


def _unused(counts: Mapping[str, int]) -> str:
    """Return the number of arrived but unused datagrams by cause, as text after a semicolon; empty without any."""
    found = [f"{counts[name]:,} {words}" for name, words in _UNUSED.items() if counts.get(name)]
    return f"; {', '.join(found)}" if found else ""


def _losses_of(outcome: Outcome) -> Iterator[str]:
    """Yield a line for each buffer with incomplete images when the detector has no log."""
    books, counts = outcome.books, outcome.link_counts
    if outcome.plan.emulators or not books.arrived or not (books.partial or books.missing):
        return
    dropped = counts.get("host_drops", 0)
    whose = (
        f"this host dropped {dropped:,} datagrams (receiver behind, or link.sls.socket_buffer)"
        if dropped
        else "none was dropped by this host"
    )
    yield f"{books.partial:,} images are partial and {books.missing:,} missing, of {books.expected:,}; {whose}{_unused(counts)}"


def simulates(sources: Iterable[SourceStatus]) -> bool:
    """Return True when the emulators include a simulated card: its times are not those of a real link or detector."""
    return any(telegram.count_of(source.counts, "card").get("clock_khz") == 0 for source in sources)


def modules_behind(buffer: BufferStatus) -> tuple[int, ...]:
    """Return the modules with fewer finished images than others; empty when all have the same number."""
    counts = {dtp: dtp.complete + dtp.partial + dtp.missing for dtp in buffer.dtps}
    most = max(counts.values(), default=0)
    return tuple(sorted({dtp.module for dtp, count in counts.items() if count < most}))


def keeps_of(kind: str) -> str:
    """Return the effect of a sink of this kind on images, in at most three words."""
    words = {
        "hdf5": "files",
        "raw": "raw files",
        "memory": "memory",
        "null": "counted, not stored",
        "stream2": "sent to others",
    }
    return words.get(kind, kind)


def _lost_by_sinks(buffer: BufferStatus) -> Iterator[str]:
    """Yield the losses of each sink of a buffer with several sinks. Images that a sink may drop by the run file are no loss."""
    if len(buffer.sinks) < 2:
        return
    for sink in buffer.sinks:
        first = sink.first
        what = f"; the first: image {first.index} (frame {first.frame}), {first.reason}: {first.text}" if first else ""
        if sink.errored:
            yield f"buffer {buffer.name}: sink {sink.name} lost {sink.errored} of {sink.accepted} images{what}"


def _reasons_of_replay(plan: Plan, counts: Mapping[str, int]) -> Iterator[str]:
    """Yield a line when images of a stored run could not be played."""
    if counts.get("missing") or counts.get("errored"):
        yield (
            f"dataset: {counts['made']} of {counts['expected']} images of {getattr(plan.file.dataset, 'path', '')} were played, {counts['missing']} are missing, "
            f"{counts['errored']} errored; the log of the emulator says which"
        )


def _reasons_of(buffer: BufferStatus) -> list[str]:
    books = buffer.books
    lines = []
    if books.errored:
        by_reason = telegram.count_of(buffer.counts, "error")
        counts = ", ".join(f"{count} {reason}" for reason, count in by_reason.items() if count)
        first = buffer.first_errored
        what = f"; the first: image {first.index} (frame {first.frame}), {first.reason}: {first.text}" if first else ""
        lines.append(f"buffer {buffer.name}: {books.errored} of {books.expected} images errored ({counts}){what}")
    lines += _lost_by_sinks(buffer)
    if books.accepted > books.written:
        text = f": {buffer.sink_error}" if buffer.sink_error else ""
        lines.append(f"buffer {buffer.name}: {books.accepted - books.written} accepted images are not written{text}")
    elif not books.balanced:
        lines.append(f"buffer {buffer.name}: the books do not balance")
    if buffer.sink_error and not any(buffer.sink_error in line for line in lines):
        lines.append(f"buffer {buffer.name}: {buffer.sink_error}")
    return lines
