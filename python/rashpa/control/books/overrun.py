# SPDX-License-Identifier: Apache-2.0
"""Reacts to overruns: images that came while their slot was not free, or that sources skipped because no slot was free.

`run.on_overrun` chooses the reaction. Either overruns are only counted. Or the sources pause at the same frame, images in flight are processed, and
the sources continue at a lower rate: that of the last second, less a margin. Or the sources stop there, and the run ends in order.
"""

import asyncio
import collections
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Literal

from rashpa.control.books.overrun_look import NOTHING, Look, look_at, streams_of
from rashpa.control.nodes.fleet import Fleet
from rashpa.control.nodes.gather_limited import gather_limited
from rashpa.control.nodes.holding import deadlines_held, hold_deadlines
from rashpa.control.nodes.node_client import NodeClient
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram import BufferStatus

_WINDOW_S = 1.0  # over which it is measured what is processed
_SHORTEST_S = 0.5  # of it, right after the sources have begun
_MARGIN = 0.8  # of the processed rate
_LESS = 0.9  # than the rate before, at most
_DRAIN_S = 60.0  # longest wait for images in flight
_STILL_S = 1.0  # without a change, of stacks that wait for images that do not come
_POLL_S = 0.1
_MOST_TIMES = 12  # slowed down; 0.9^12 of the rate is 28 %, and a measured rate is less in general

Action = Literal["counted", "slowed", "stopped"]


@dataclass(frozen=True)
class Overrun:
    """Describes one overrun and the reaction. `at_s`: seconds after the start. `buffers`: names of buffers or groups; `images`: images of DTPs that
    found no free slot; `skipped`: images that sources did not send. Rates are in frames/s; the old rate is the ordered one, or the measured one of
    unthrottled sources. `paused_s`: seconds from Pause to Resume or Stop."""

    at_s: float
    buffers: tuple[str, ...]
    frame: int
    images: int
    skipped: int
    action: Action
    old_rate_hz: float
    new_rate_hz: float = 0.0
    paused_s: float = 0.0

    @property
    def text(self) -> str:
        """Return the overrun as a line for people."""
        kinds = ((self.images, "images of DTPs found no free slot"), (self.skipped, "were skipped by their source"))
        what = ", ".join(f"{count} {name}" for count, name in kinds if count)
        done = {
            "counted": "counted, nothing was changed",
            "slowed": f"the sources were paused for {self.paused_s:.1f} s and slowed down from {self.old_rate_hz:.4g} to {self.new_rate_hz:.4g} frames a second",
            "stopped": "the sources were stopped",
        }[self.action]
        where = " and ".join(self.buffers)
        return f"overrun of {where} after {self.at_s:.1f} s, about frame {self.frame}: {what}; {done}"


class OverrunGuard:
    """Watches one run for overruns; nodes have the names of the plan. `last`: the last status of each node, which `ask` updates; `alive`: returns the
    nodes that still take part. `end`: ends the run in order, None when it must play to its last frame."""

    def __init__(self, fleet: Fleet, ask: Callable[[str], Awaitable[None]], end: Callable[[], None] | None) -> None:
        self._plan = plan = fleet.plan
        self._fleet = fleet
        self._ask = ask
        self._end = end
        self._policy = plan.file.run.on_overrun
        self._streams = streams_of(plan)
        self._looks: collections.deque[Look] = collections.deque()
        self._settled = NOTHING  # losses with an entry
        self._stopped = False
        self.found: list[Overrun] = []

    async def take_over(self) -> None:
        """Take over a run of another manager: ignore its earlier losses, resume sources that it had paused, and let deadlines count. Raise NodeError
        when a node fails."""
        self._settled = self._now()
        await hold_deadlines(self._receivers(), held=False)
        paused = [one.name for one in self._plan.emulators if self._fleet.status(one.name).state == "paused"]
        await self._order(paused, telegram.Resume())

    async def look(self, elapsed_s: float) -> None:
        """Check for overruns, and react. Call it after each status of the nodes while the sources send; it takes a bounded time. Raise NodeError when
        a node refuses an order."""
        now = self._now()
        self._looks.append(now)
        while len(self._looks) > 2 and now.at - self._looks[1].at >= _WINDOW_S:
            self._looks.popleft()
        if self._stopped or not now.worse_than(self._settled):
            return
        if self._policy == "count":
            self._count(elapsed_s)
        elif now.at - self._looks[0].at >= _SHORTEST_S and (playing := self._playing):
            slowed = sum(each.action == "slowed" for each in self.found)
            await self._act(elapsed_s, playing, stop=self._policy == "stop" or slowed >= _MOST_TIMES)

    def close(self, elapsed_s: float) -> None:
        """Record the losses found since the last check, when nothing more is sent."""
        if self._now().worse_than(self._settled):
            self._count(elapsed_s)

    def _now(self) -> Look:
        return look_at(self._plan, self._streams, self._fleet.last)

    @property
    def _playing(self) -> list[str]:
        return [one.name for one in self._plan.emulators if self._fleet.status(one.name).state == "running"]

    @property
    def _rate_hz(self) -> float:
        """Return the ordered rate of the sources in frames/s, 0 when they are unthrottled."""
        names = self._playing or [one.name for one in self._plan.emulators]
        told = (source.rate_hz for name in names if (source := self._fleet.status(name).source))
        return next(told, self._plan.file.detector.rate_hz)

    def _entry(self, now: Look, elapsed_s: float, action: Action) -> Overrun:
        """Return an entry for all unrecorded losses, and mark them as recorded."""
        before, self._settled = self._settled, now
        rate_hz = self._rate_hz or (now.sent_hz(self._looks[0]) if self._looks else 0.0)
        images = sum(now.lost.values()) - sum(before.lost.values())
        skipped = sum(now.skipped.values()) - sum(before.skipped.values())
        return Overrun(elapsed_s, now.worse_than(before), now.frames, images, skipped, action, rate_hz)

    def _count(self, elapsed_s: float) -> None:
        """Add losses to one entry until another action follows. Losses after an order to stop belong to the entry of that order."""
        fresh = self._entry(self._now(), elapsed_s, "counted")
        if not self.found or self.found[-1].action == "slowed":
            self.found.append(fresh)
            return
        first = self.found[-1]
        names = tuple(dict.fromkeys((*first.buffers, *fresh.buffers)))
        self.found[-1] = replace(
            first, buffers=names, images=first.images + fresh.images, skipped=first.skipped + fresh.skipped
        )

    async def _act(self, elapsed_s: float, playing: list[str], *, stop: bool) -> None:
        """Pause the sources, wait for images in flight, and resume at a lower rate; with `stop`, end the run."""
        first, before, began = self._looks[0], self._looks[-1], time.monotonic()
        old_hz = self._rate_hz or before.sent_hz(first)
        new_hz = 0.0 if stop else self._fitting_hz(before, first, old_hz)
        self._stopped = stop
        if stop and self._end is not None:
            self._end()
        else:
            await self._pause(playing)
            await self._drain(playing)
            await self._order(playing, telegram.Stop() if stop else telegram.Resume(rate_hz=new_hz))
        entry = self._entry(self._now(), elapsed_s, "stopped" if stop else "slowed")
        paused_s = time.monotonic() - began
        self.found.append(
            replace(entry, frame=before.frames, old_rate_hz=old_hz, new_rate_hz=new_hz, paused_s=paused_s)
        )
        self._looks.clear()

    def _fitting_hz(self, now: Look, first: Look, old_hz: float) -> float:
        """Return the rate of the slowest affected stream, less the margin, in frames/s; half of the old rate when nothing was processed."""
        concerned = [stream for stream in self._streams if stream.name in now.worse_than(self._settled)]
        fit_hz = _MARGIN * now.fit_hz(first, concerned) or old_hz / 2.0
        return max(min(fit_hz, _LESS * old_hz or fit_hz), 1e-3)

    async def _pause(self, playing: list[str]) -> None:
        """Pause all sources at the same frame: the latest frame that any of them has begun."""
        async with deadlines_held(self._receivers()):
            await self._order(playing, telegram.Pause())
            sources = [source for name in playing if (source := self._fleet.status(name).source)]
            if len(playing) > 1:
                await self._order(playing, telegram.Pause(frame=max(source.frames_begun for source in sources)))

    def _receivers(self) -> list[NodeClient]:
        return [
            self._fleet.clients[name] for name in self._fleet.alive(receiver.name for receiver in self._plan.receivers)
        ]

    async def _order(self, names: list[str], order: telegram.Telegram) -> None:
        """Send an order to these nodes, except to finished ones."""
        await self._fleet.order_unless_finished(names, order)

    async def _drain(self, playing: list[str]) -> None:
        """Wait until all images in flight are processed and stored, and at most a second for images that do not arrive."""
        ends = time.monotonic() + _DRAIN_S
        since, before = time.monotonic(), None
        while time.monotonic() < ends:
            names = [*playing, *self._fleet.alive(receiver.name for receiver in self._plan.receivers)]
            await gather_limited(self._ask, names)
            if any(self._fleet.status(name).state == "fault" for name in names):
                return  # the next look says so
            buffers = [
                status
                for name in names
                if (destination := self._fleet.status(name).destination)
                for status in destination.buffers
            ]
            sources = [source for name in playing if (source := self._fleet.status(name).source)]
            sent = [dtp.images_due for source in sources for dtp in source.dtps]
            counters = ([(status.books, status.bytes_stored, status.to_write) for status in buffers], sent)
            now = time.monotonic()
            if counters != before:
                since, before = now, counters
            written = all(status.to_write == 0 for status in buffers)
            if written and now - since >= (2 * _POLL_S if all(map(_through, buffers)) else _STILL_S):
                return
            await asyncio.sleep(_POLL_S)


def _through(status: BufferStatus) -> bool:
    """Return True when all arrived images are decided."""
    books = status.books
    return books.arrived == books.accepted + books.vetoed + books.errored
