# SPDX-License-Identifier: Apache-2.0
"""Handles requests to pause a run, to resume it, or to end it at once, from outside its manager (`rashpa pause`, the dashboard). They are files
beside the run's journal (`run_request`), like requests to end it in order (`stop_request`).

A pause begins at a frame at which every buffer has whole stacks; images of an incomplete stack would be given up at its deadline.
"""

import asyncio
import math
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rashpa.control.handover.journal import Journal
from rashpa.control.handover.run_request import RequestDesk, RequestKind, Wanted, asked, attended
from rashpa.control.nodes.fleet import Fleet
from rashpa.control.nodes.holding import deadlines_held
from rashpa.control.nodes.node_client import NodeError
from rashpa.control.plan.model import Plan
from rashpa.control.telegrams import telegram
from rashpa.data.base.rashpa_error import RashpaError

Way = Literal["pause", "resume", "abort"]
WAYS: tuple[Way, ...] = ("pause", "resume", "abort")
_LOOK_S = 0.2
_ORDER_S = 0.5  # within which an order is obeyed, usually
_MOST_TIMES = 8
_LONGEST_WAIT_S = 10.0  # for the frame of a pause; where whole stacks take longer, the pause is at once


class SteerError(RashpaError, ValueError):
    """Reports that the run refuses the request; the text gives reason and remedy."""


@dataclass(frozen=True)
class Steer:
    """Holds a request. `by`: the user who asks, for people."""

    way: Way
    by: str


@dataclass(frozen=True)
class SteerAnswer:
    """Holds the action of the manager, or the reason of a refusal."""

    done: str = ""
    refused: str = ""


STEER = RequestKind("_steer.json", Steer, SteerAnswer)


def steer(journal: Path, way: Way, by: str, patience_s: float) -> str:
    """Ask the manager of a run for an action, after earlier requests, and return its description. Raise SteerError when it refuses."""
    answer = asked(STEER, journal, Steer(way, by), patience_s, SteerError, "`rashpa stop` ends it in order")
    if answer.refused:
        raise SteerError(f"{journal}: {answer.refused}")
    return answer.done


def stacks_end_every(plan: Plan) -> int:
    """Return the period, in frames, at which the stacks of all buffers end together."""
    return math.lcm(*(buffer.section.stack * buffer.section.every for buffer in plan.buffers))


class Steering:
    """Carries out requests for the manager of one run. `last`: the last status of nodes; `alive`: returns the nodes that still take part;
    `interrupt`: ends the run at once."""

    def __init__(self, fleet: Fleet, journal: Journal | None, interrupt: Callable[[], None]) -> None:
        self._plan = fleet.plan
        self._fleet = fleet
        self._interrupt = interrupt
        self._desk = RequestDesk(STEER, journal.path) if journal is not None else None
        self._wanted: Wanted[Steer] | None = None

    def attended(self) -> AbstractAsyncContextManager[None]:
        """Receive requests during the context. A request to an earlier run is ignored."""
        return attended(self._desk, self._attend)

    async def look(self) -> None:
        """Carry out a request. Call it after each status of the nodes while the emulators play. It raises no refusal of a node."""
        wanted, self._wanted = self._wanted, None
        if wanted is None or self._desk is None:
            return
        try:
            done = await (self._pause() if wanted.what.way == "pause" else self._resume())
            self._desk.answer(wanted, SteerAnswer(done=done))
        except (NodeError, SteerError) as error:
            self._desk.answer(wanted, SteerAnswer(refused=str(error)))

    async def _attend(self, desk: RequestDesk[Steer, SteerAnswer]) -> None:
        waited = 0
        while True:
            wanted = desk.next()
            if wanted is not None and wanted.what.way == "abort":
                desk.answer(wanted, SteerAnswer(done="the run ends at once; its files are completed"))
                self._interrupt()
                return
            if wanted is None or wanted == self._wanted:
                waited += wanted is not None
            else:
                self._wanted, waited = wanted, 0
            if wanted is not None and waited > 2.0 / _LOOK_S:  # nobody looks: the emulators do not play
                self._wanted = None
                desk.answer(
                    wanted, SteerAnswer(refused=f"no emulator plays now; there is nothing to {wanted.what.way}")
                )
            await asyncio.sleep(_LOOK_S)

    def _players(self, state: str) -> list[str]:
        return [one.name for one in self._plan.emulators if self._fleet.status(one.name).state == state]

    async def _pause(self) -> str:
        playing = self._players("running")
        if not playing:
            paused = ": the run is paused already" if self._players("paused") else ""
            raise SteerError(f"no emulator plays now{paused}")
        receivers = self._fleet.alive(receiver.name for receiver in self._plan.receivers)
        async with deadlines_held([self._fleet.clients[name] for name in receivers]):
            frame = await self._pause_at_one_frame(playing)
        return f"paused before frame {frame}"

    async def _pause_at_one_frame(self, playing: list[str]) -> int:
        ahead = self._ahead()
        for attempt in range(_MOST_TIMES):
            frame = self._stack_end(self._begun(playing) + ahead)
            if attempt == 0:
                self._check_end(frame)
            await self._order(playing, telegram.Pause(frame=frame))
            if frame == 0 or self._begun(playing) <= frame:
                break
            ahead = 2 * (self._begun(playing) - frame + ahead)  # it was faster than the order
        begun = self._begun(playing)
        if begun > frame and len(playing) > 1:
            await self._order(playing, telegram.Pause(frame=begun))  # slower ones go on to there
        self._check_end(frame)
        return max(frame, begun)

    def _check_end(self, frame: int) -> None:
        """Raise SteerError when the run ends before the frame of a pause."""
        frames = self._plan.file.run.most_frames
        if frame >= frames:
            raise SteerError(
                f"the run ends with frame {frames - 1}, before the next frame at which it can pause; let it end"
            )

    async def _resume(self) -> str:
        paused = self._players("paused")
        if not paused:
            raise SteerError("the run is not paused; pause it first")
        cards = {one.name for one in self._plan.emulators if one.engine == "fpga"}
        for name in paused:  # with the rate that it has, told again: frames of the pause are not made up for
            source = self._fleet.status(name).source
            rate_hz = source.rate_hz if source is not None and name not in cards else 0.0
            await self._order([name], telegram.Resume(rate_hz=rate_hz))
        return "the run goes on"

    def _ahead(self) -> int:
        """Return the number of frames that may begin before an order has reached all nodes."""
        return int(_ORDER_S * self._plan.file.detector.rate_hz)

    def _stack_end(self, frame: int) -> int:
        """Return the first frame from `frame` on at which whole stacks end; 0, for at once, when that takes too long."""
        every = stacks_end_every(self._plan)
        rate_hz = self._plan.file.detector.rate_hz
        if rate_hz > 0 and every > _LONGEST_WAIT_S * rate_hz:
            return 0
        return (frame // every + 1) * every

    def _begun(self, names: list[str]) -> int:
        return max((source.frames_begun for name in names if (source := self._fleet.status(name).source)), default=0)

    async def _order(self, names: list[str], order: telegram.Telegram) -> None:
        said = await self._fleet.order_unless_finished(names, order)
        if all(status.state == "finished" for status in said):
            raise SteerError("all emulators have come to their ends; nothing of the run is sent any more")
