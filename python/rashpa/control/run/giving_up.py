# SPDX-License-Identifier: Apache-2.0
"""Ends a run that cannot continue: aborts the nodes that still answer, reads their last counters, and names the first missing image. Every wait is
bounded."""

import asyncio
import contextlib
from collections.abc import Coroutine

from rashpa.control.books.first_missing import first_missing
from rashpa.control.books.group_course import GroupCourse
from rashpa.control.nodes.fleet import Fleet
from rashpa.control.nodes.gather_limited import gather_all
from rashpa.control.nodes.node_client import NodeError
from rashpa.control.nodes.running_time import within
from rashpa.control.run.run_nodes import RunNodes
from rashpa.control.run.run_notes import RunNotes
from rashpa.control.telegrams import telegram

_EARLY_S = 3.0  # for the last words of a node before anything was acquired
_QUIET_S = 12.0  # for the last words of a node when the run is given up: Abort alone may take 10 s, a node that hangs is given up sooner


class GivingUp:
    """Gives up one run."""

    def __init__(self, fleet: Fleet, nodes: RunNodes, notes: RunNotes, groups: GroupCourse) -> None:
        self._fleet, self._nodes, self._notes, self._groups = fleet, nodes, notes, groups
        self._hurried = asyncio.Event()

    @property
    def hurried(self) -> bool:
        """Return True after a second interrupt."""
        return self._hurried.is_set()

    def hurry(self) -> None:
        """Kill the nodes that the run has started, and wait for nothing more."""
        self._nodes.kill()
        self._hurried.set()

    async def unless_hurried(self, work: Coroutine[None, None, None]) -> None:
        """Wait until the work ends, or until a second interrupt."""
        doing = asyncio.ensure_future(work)
        hurried = asyncio.ensure_future(self._hurried.wait())
        try:
            await asyncio.wait((doing, hurried), return_when=asyncio.FIRST_COMPLETED)
        finally:
            hurried.cancel()
            doing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await doing

    async def give_up(self, reason: str, lost: str = "") -> None:
        """Abort the nodes that still answer, read their last counters, and name the first missing image. `lost`: a node that does not answer."""
        outcome, fleet, began = self._notes.outcome, self._fleet, self._notes.began
        if began:
            outcome.acquisition_s = self._notes.elapsed_s
        await self.unless_hurried(self._stop_nodes(lost))
        outcome.emulators, outcome.receivers = fleet.heard_of(fleet.emulators), fleet.heard_of(fleet.receivers)
        missing = first_missing(fleet.plan, fleet.last, fleet.heard, lost) if began else ""
        outcome.problem = "\n".join(line for line in (reason, *fleet.busy.values(), missing) if line)
        if began:
            self._groups.tell(outcome)
            from rashpa.control.books.group_accounting import groups_so_far

            outcome.groups = groups_so_far(fleet.plan, fleet.last, outcome.lost, outcome.joined)

    async def _stop_nodes(self, lost: str) -> None:
        for names in (self._fleet.emulators, self._fleet.receivers):
            await gather_all(self._stop_node(name) for name in names if name != lost)

    async def _stop_node(self, name: str) -> None:
        """Abort a node that belongs to this run and still answers, and store its last counters, within a bounded time."""
        if name not in self._fleet.claimed:
            return
        try:
            async with within(_QUIET_S if self._notes.began else _EARLY_S):
                await self._last_words(name)
        except (NodeError, TimeoutError):
            if name in self._nodes.local:  # a node that does not obey now does not end by an order
                self._nodes.local[name].kill()

    async def _last_words(self, name: str) -> None:
        client, own = self._fleet.clients[name], name in self._nodes.local
        status = await client.status()
        if status.holder != self._fleet.holder:
            return
        if self._fleet.busy and own:  # one whose kernel hangs may say nothing more once it is told to end
            await self._notes.keep_log(name)
        if status.state in ("configured", "armed", "running", "paused", "finished"):
            status = await client.order(telegram.Abort())
        self._fleet.last[name] = status
        if self._notes.began:
            await self._notes.keep_pictures([name])
        if own:
            await self._notes.keep_log(name)
        await client.order(telegram.Reset())
