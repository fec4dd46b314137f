# SPDX-License-Identifier: Apache-2.0
"""Computes the progress, the rate and the reserves of a node from two of its statuses."""

from collections.abc import Iterator
from dataclasses import dataclass

from rashpa.control.telegrams.telegram import Books, BufferStatus, DestinationStatus, SourceStatus, Status


@dataclass(frozen=True)
class Sending:
    """Holds the progress of an emulator. `late_s`: its longest delay behind `asked_hz` (0: unthrottled). Rates are sums over all DTPs."""

    name: str
    dtps: int
    images_sent: int
    images_skipped: int
    images_per_s: float
    bytes_per_s: float
    asked_hz: float
    late_s: float


@dataclass(frozen=True)
class Receiving:
    """Holds the progress of a receiver's buffer. Rates: images decided, bytes stored. `free_slots`: the share of the buffer's slots that are free,
    None when the node does not report their number. `waiting`: images that the slowest sink has not finished."""

    name: str
    receiver: str
    books: Books
    images_per_s: float
    stored_bytes_per_s: float
    to_write: int
    free_slots: float | None
    waiting: int

    @property
    def done(self) -> float:
        """Return the share of the receiver's images that have a known completeness."""
        return self.books.decided / self.books.expected if self.books.expected else 1.0


def progress_of(before: Status | None, now: Status) -> tuple[Sending | Receiving, ...]:
    """Return the progress since `before` if that is of the same run, otherwise since the run began; empty for an idle node."""
    if now.source is not None:
        return (_sending(before.source if before else None, now.source),)
    if now.destination is not None:
        return tuple(_receiving(before.destination if before else None, now.destination))
    return ()


def _sending(before: SourceStatus | None, now: SourceStatus) -> Sending:
    seconds, earlier = now.elapsed_s, SourceStatus(elapsed_s=0.0)
    if before is not None and before.elapsed_s < now.elapsed_s and len(before.dtps) == len(now.dtps):
        seconds, earlier = now.elapsed_s - before.elapsed_s, before
    images = sum(dtp.images_sent for dtp in now.dtps)
    sent = images - sum(dtp.images_sent for dtp in earlier.dtps)
    payload = sum(dtp.payload_bytes for dtp in now.dtps) - sum(dtp.payload_bytes for dtp in earlier.dtps)
    return Sending(
        name=now.emulator,
        dtps=len(now.dtps),
        images_sent=images,
        images_skipped=sum(dtp.images_skipped for dtp in now.dtps),
        images_per_s=_rate(sent, seconds),
        bytes_per_s=_rate(payload, seconds),
        asked_hz=now.rate_hz,
        late_s=max((dtp.late_ns for dtp in now.dtps), default=0) / 1e9,
    )


def _receiving(before: DestinationStatus | None, now: DestinationStatus) -> Iterator[Receiving]:
    seconds, earlier = now.elapsed_s, dict[str, BufferStatus]()
    if before is not None and before.elapsed_s < now.elapsed_s:
        seconds = now.elapsed_s - before.elapsed_s
        earlier = {buffer.name: buffer for buffer in before.buffers}
    for buffer in now.buffers:
        known = earlier.get(buffer.name)
        decided = buffer.books.decided - (known.books.decided if known else 0)
        stored = buffer.bytes_stored - (known.bytes_stored if known else 0)
        yield Receiving(
            name=buffer.name,
            receiver=now.receiver,
            books=buffer.books,
            images_per_s=_rate(decided, seconds),
            stored_bytes_per_s=_rate(stored, seconds),
            to_write=buffer.to_write,
            free_slots=max(0.0, 1 - buffer.to_write / buffer.slots) if buffer.slots else None,
            waiting=max((sink.waiting for sink in buffer.sinks), default=0),
        )


def _rate(count: float, seconds: float) -> float:
    return max(0.0, count / seconds) if seconds > 0 else 0.0  # a node that was reset begins again at 0
