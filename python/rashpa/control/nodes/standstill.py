# SPDX-License-Identifier: Apache-2.0
"""Detects within a second that packets arrive without images, or that images arrive and are not written. Its caller passes a status about twice a
second."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from rashpa.control.nodes.running_time import RunningClock
from rashpa.control.telegrams.telegram import BufferStatus, DestinationStatus, Status, count_of

REFUSED = MappingProxyType(
    {
        "refused_key": "have a wrong key, or lie out of bounds: sender and receiver are not of one run",
        "refused_alignment": "do not lie on the line map's units: set unit_bytes of the link",
        "wrong_source": "come from an address or queue pair that is not connected",
        "unknown_qp": "are for a queue pair that does not exist: the receiver was configured anew",
        "malformed": "are no packets of this link: another program sends to this port",
        "wrong_number": "have packet numbers that the detector of this run file does not have",
        "wrong_port": "come from a second module to one port",
        "icrc_bad": "have a wrong ICRC: a device on the way changes them",
        "bad_records": "are events without a frame record of this run; a source without records needs records = false",
        "sequence_drops": "are dropped by the state of their connection: earlier ones were lost",
    }
)
"""The counters of a link that refuses packets, with words for people."""
_LONGEST_STEP_S = 2.0  # between two looks: longer ones are of a process that stood still
_SILENT_S = 1.0  # without a packet: nothing comes any more
_LONG_S = 0.35  # without an image, or without one that goes out: nearly the time between two looks of a page


@dataclass(frozen=True)
class _Out:
    """Holds the counts of images that have left a buffer."""

    done: int  # written or vetoed
    errored: int
    stored: int  # bytes


@dataclass
class _Seen:
    """Holds the last snapshot of a receiver. `grown_s`: when the last packets came; `quiet_s`: since when packets come without images; `held_s`: by
    buffer, since when nothing is written."""

    time_s: float
    packets: int
    refused: Mapping[str, int]
    images: int
    out: dict[str, _Out]
    grown_s: float = -math.inf
    quiet_s: float | None = None
    refused_then: Mapping[str, int] = field(default_factory=dict)
    held_s: dict[str, float] = field(default_factory=dict)


class Standstill:
    """Remembers the snapshots of receivers, by node. `clock`: returns seconds; a node's own clock stops while no image comes."""

    def __init__(self, clock: Callable[[], float] | None = None) -> None:
        self._clock = clock or RunningClock(_LONGEST_STEP_S).look
        self._seen: dict[str, _Seen] = {}

    def look(self, status: Status) -> tuple[str, ...]:
        """Return a sentence for each place at which nothing moves; empty while images flow, or while nothing arrives."""
        now = status.destination
        before = self._seen.pop(status.node, None)
        if now is None or status.state != "running":
            return ()
        seen = _seen(now, self._clock())
        self._seen[status.node] = seen
        if before is None or seen.images < before.images or seen.packets < before.packets:
            return ()
        return (*_without_images(before, seen), *_without_end(before, seen, now))


def _seen(now: DestinationStatus, time_s: float) -> _Seen:
    link = count_of(now.counts, "link")
    return _Seen(
        time_s=time_s,
        packets=link.get("packets", 0) + link.get("events", 0),
        refused={name: link.get(name, 0) for name in REFUSED},
        images=sum(dtp.complete + dtp.partial + dtp.missing for buffer in now.buffers for dtp in buffer.dtps),
        out={buffer.name: _out(buffer) for buffer in now.buffers},
    )


def _out(buffer: BufferStatus) -> _Out:
    return _Out(buffer.books.written + buffer.books.vetoed, buffer.books.errored, buffer.bytes_stored)


def _without_images(before: _Seen, seen: _Seen) -> Iterator[str]:
    if seen.packets != before.packets:
        seen.grown_s = seen.time_s
    else:
        seen.grown_s = before.grown_s
    if seen.images != before.images or seen.time_s - seen.grown_s > _SILENT_S:
        return
    went_on = before.quiet_s is not None
    seen.quiet_s = before.quiet_s if went_on else before.time_s
    seen.refused_then = before.refused_then if went_on else before.refused
    if seen.quiet_s is None or seen.time_s - seen.quiet_s < _LONG_S:
        return
    refused = {name: count - seen.refused_then.get(name, 0) for name, count in seen.refused.items()}
    worst = max(refused, key=refused.__getitem__)
    if refused[worst]:
        yield f"packets come and no image: {refused[worst]:,} {REFUSED[worst]}"
    else:
        yield "packets come and no image: lines or events of each image are lost, or another program sends; see rashpa doctor"


def _without_end(before: _Seen, seen: _Seen, now: DestinationStatus) -> Iterator[str]:
    for buffer in now.buffers:
        old, new = before.out.get(buffer.name, _Out(0, 0, 0)), seen.out[buffer.name]
        if (new.done, new.stored) != (old.done, old.stored):
            continue
        full = bool(buffer.slots) and buffer.to_write >= buffer.slots
        fails = new.errored > old.errored
        since = before.held_s.get(buffer.name, before.time_s)
        if full or fails or (buffer.name in before.held_s and buffer.to_write):
            seen.held_s[buffer.name] = since
        if seen.time_s - since < _LONG_S:
            continue
        if fails:
            yield f"images come to buffer {buffer.name} and every one is errored{_because(buffer)}"
        elif full:
            yield f"images come to buffer {buffer.name} and none goes out: all {buffer.slots} slots wait{_because(buffer)}"


def _because(buffer: BufferStatus) -> str:
    """Return the reason for the standstill that the buffer shows, empty when unknown."""
    reason = buffer.unit_error or buffer.sink_error or buffer.busy
    return f": {reason}" if reason else "; its kernels or sinks do not pass them on, see the log"
