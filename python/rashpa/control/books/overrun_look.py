# SPDX-License-Identifier: Apache-2.0
"""Measures whether receivers keep up: the images that each stream has lost for lack of a free slot, and the images that it has processed.

A stream is a buffer, or a group with all its members: an image that does not fit at one member goes to another. So there is an overrun only when no
member has a free slot.
"""

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from rashpa.control.nodes.heard import status_of
from rashpa.control.plan.model import Plan, PlannedBuffer
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram import BufferStatus, GroupStatus, Status


@dataclass(frozen=True)
class Stream:
    """Describes a stream. `buffers`: one buffer, or one at each member of `group`."""

    name: str
    buffers: tuple[PlannedBuffer, ...]
    group: str = ""

    @property
    def every(self) -> int:
        return self.buffers[0].section.every


@dataclass(frozen=True)
class Look:
    """Holds a snapshot. It counts, for each stream, processed images, images of DTPs that found no free slot, and images that sources did not send.
    `frames`: the position of the foremost source."""

    at: float
    processed: Mapping[str, int]
    lost: Mapping[str, int]
    skipped: Mapping[str, int]
    frames: int

    def worse_than(self, before: "Look") -> tuple[str, ...]:
        """Return the streams that have lost images since `before`."""
        return tuple(
            name
            for name in self.lost
            if self.lost[name] > before.lost.get(name, 0) or self.skipped[name] > before.skipped.get(name, 0)
        )

    def fit_hz(self, before: "Look", streams: Collection[Stream]) -> float:
        """Return the rate of the slowest stream since `before`, in frames/s."""
        seconds = max(self.at - before.at, 1e-3)
        return min((self.processed[one.name] - before.processed[one.name]) / seconds * one.every for one in streams)

    def sent_hz(self, before: "Look") -> float:
        """Return the rate at which sources have sent since `before`, in frames/s."""
        return (self.frames - before.frames) / (self.at - before.at) if self.at > before.at else 0.0


NOTHING = Look(0.0, {}, {}, {}, 0)


def streams_of(plan: Plan) -> tuple[Stream, ...]:
    """Return all streams of a run."""
    alone = (buffer for buffer in plan.buffers if plan.group_of(buffer.receiver) is None)
    groups = (
        Stream(f"group {group.name}", tuple(plan.buffers_of(member)[0] for member in group.members), group.name)
        for group in plan.groups
    )
    return (*(Stream(buffer.section.name, (buffer,)) for buffer in alone), *groups)


def look_at(plan: Plan, streams: Collection[Stream], last: Mapping[str, Status]) -> Look:
    """Return a snapshot from the last status of the nodes."""
    sources = [source for one in plan.emulators if (source := status_of(last, one.name).source)]
    dtps = {dtp.id: dtp for source in sources for dtp in source.dtps}
    groups = {group.name: group for source in sources for group in source.groups}
    known = buffers_of(plan, last)
    processed, lost, skipped, frames = {}, {}, {}, 0
    for stream in streams:
        own = [known[buffer.section.name] for buffer in stream.buffers if buffer.section.name in known]
        processed[stream.name] = sum(map(through, own))
        if stream.group:
            lost[stream.name], skipped[stream.name], images = 0, *_dealt(stream, groups.get(stream.group))
        else:
            sent = [dtps[dtp.id] for dtp in stream.buffers[0].dtps if dtp.id in dtps]
            lost[stream.name] = sum(map(overruns_of, own))
            skipped[stream.name] = sum(dtp.images_skipped for dtp in sent)
            images = max((dtp.images_due for dtp in sent), default=0)
        frames = max(frames, stream.buffers[0].frame_of(images))
    return Look(time.monotonic(), processed, lost, skipped, frames)


def buffers_of(plan: Plan, last: Mapping[str, Status]) -> dict[str, BufferStatus]:
    """Return the status of buffers by name."""
    heard = (status_of(last, receiver.name) for receiver in plan.receivers)
    return {buffer.name: buffer for status in heard if status.destination for buffer in status.destination.buffers}


def through(status: BufferStatus) -> int:
    """Return the number of images that need no slot any more: vetoed, errored in a kernel, or finished by the slowest sink, stored or not."""
    books = status.books
    settled = min((sink.written + sink.dropped + sink.errored for sink in status.sinks), default=0)
    return books.vetoed + books.errored + max(books.written, settled)


def overruns_of(status: BufferStatus) -> int:
    """Return the number of images of DTPs that came while their slot was not free."""
    return sum(telegram.count_of(dtp.counts, "loss").get("overrun", 0) for dtp in status.dtps)


def _dealt(stream: Stream, status: GroupStatus | None) -> tuple[int, int]:
    """Return the number of skipped images of DTPs, and the number of due images of the stream."""
    return (status.skipped * len(stream.buffers[0].dtps), status.fresh) if status else (0, 0)
