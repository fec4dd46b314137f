# SPDX-License-Identifier: Apache-2.0
"""Implements the manager of a run, as its users see it: it carries out the run, ends it on request, and returns the result."""

import asyncio
import contextlib
import errno
import logging
from collections.abc import AsyncIterator, Callable, Mapping

from rashpa.control.books.outcome import Outcome
from rashpa.control.capacity.capacity import CapacityError
from rashpa.control.handover.join_request import JOIN
from rashpa.control.handover.journal import Journal
from rashpa.control.handover.run_owner import run_owner
from rashpa.control.handover.run_request import RequestDesk
from rashpa.control.handover.steering import Steering
from rashpa.control.nodes.fleet import Fleet
from rashpa.control.nodes.launcher import LOCAL, Launcher
from rashpa.control.nodes.lean_httpx import httpx
from rashpa.control.nodes.local_node import LocalNode
from rashpa.control.nodes.node_client import NodeClient, NodeError, run_id_of
from rashpa.control.plan.model import Plan
from rashpa.control.run.adopted_node import AdoptedNode
from rashpa.control.run.course import Course
from rashpa.control.run.end import EndOfRun
from rashpa.control.run.giving_up import GivingUp
from rashpa.control.run.limit_orders import LimitOrders
from rashpa.control.run.run_nodes import RunNodes
from rashpa.control.run.run_notes import Observer, RunNotes, unobserved
from rashpa.control.telegrams.telegram import Capabilities
from rashpa.data.base.limit_said import limit_behind

_REFUSALS = ("config", "resource", "file", "state", "denied")  # of a run that cannot be as it is asked for
_HURRY_S = 1.0  # for the rest of a run that was interrupted twice
_log = logging.getLogger(__name__)


class Manager:
    """Manages one run. Nodes have the names of the plan. `transports`: for tests, nodes in this process in place of URLs. `force`: exceeded limits of
    links, memory or units do not stop the run. `journal`: the file for `rashpa attach`. `launcher`: starts the nodes that have no URL. `nodes`:
    existing nodes, in place of launcher, token and transports."""

    def __init__(
        self,
        plan: Plan,
        observer: Observer = unobserved,
        token: str = "",
        transports: Mapping[str, httpx.AsyncBaseTransport] | None = None,
        *,
        force: bool = False,
        journal: Journal | None = None,
        launcher: Launcher = LOCAL,
        nodes: RunNodes | None = None,
        course: Callable[..., Course] = Course,
    ) -> None:
        self._nodes = nodes or RunNodes(launcher, plan.file.nodes.token or token, transports or {})
        self._fleet = Fleet(plan, self._nodes.clients, run_owner(plan))
        self._outcome = Outcome(plan, run_id=run_id_of(self._nodes.owner))
        self._notes = RunNotes(self._fleet, self._nodes, self._outcome, journal, observer)
        self._end = EndOfRun(plan, journal)
        self._steering = Steering(self._fleet, journal, self.interrupt)
        self._limits = LimitOrders(self._fleet, journal)
        desk = RequestDesk(JOIN, journal.path) if journal is not None and plan.groups else None
        self._course = course(self._fleet, self._nodes, self._notes, self._end, self._steering, desk, forced=force)
        self._giving_up = GivingUp(self._fleet, self._nodes, self._notes, self._course.groups)
        self._task: asyncio.Task[None] | None = None
        self._stopped = self._interrupted = False

    async def run(self) -> Outcome:
        """Carry out the run and return its outcome. Faults of nodes raise nothing; the outcome's `problem` describes them."""
        async with self._closed(), self._steering.attended(), self._limits.attended():
            self._task = asyncio.create_task(self._course.carry_through())
            try:
                await asyncio.shield(self._task)
            except asyncio.CancelledError:
                if not self._task.cancelled():  # this call was cancelled from outside, not the run by interrupt()
                    self._task.cancel()
                    raise
                self._outcome.interrupted = True
                await self._giving_up.give_up("interrupted")
            except CapacityError as error:
                self._outcome.problem = str(error)
                self._outcome.refused = True
            except NodeError as error:
                await self._fail_by_node(error)
            except Exception as error:
                if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
                    raise  # all further work needs files, too
                await self._fail(error)
        self._end.answer(self._outcome)
        self._notes.close()
        return self._outcome

    async def ask(self) -> dict[str, Capabilities]:
        """Return the capabilities of the plan's nodes, by name; local nodes are started for this. Raise NodeError when a node does not answer."""
        async with self._closed():
            await self._nodes.connect(self._fleet.plan)
            return await self._fleet.ask_abilities()

    @property
    def plan(self) -> Plan:
        return self._fleet.plan

    @property
    def clients(self) -> Mapping[str, NodeClient]:
        """Return the clients of the nodes, by name."""
        return self._fleet.clients

    @property
    def local_nodes(self) -> Mapping[str, LocalNode | AdoptedNode]:
        """Return the nodes that this manager has started, by name."""
        return self._nodes.local

    @property
    def hurried(self) -> bool:
        """Return True after a second interrupt."""
        return self._giving_up.hurried

    def observe(self, observer: Observer) -> None:
        """Set the observer of progress; call it before `run`. An exception of `observer` becomes a caution of the run, and `observer` is not called
        again."""
        self._notes.observe(observer)

    def prepare(self, prepare: Callable[[], None]) -> None:
        """Set a function that is called in a separate thread once the sources play, when processors are less busy than during the start of nodes.
        Call it before `run`. The run does not wait for it, and ignores its errors."""
        self._course.prepare = prepare

    def stop(self) -> None:
        """End an open-ended run in order, at the next frame at which all emulators can end; interrupt any other run. Call it from the loop's thread."""
        if self.plan.end_told and self._notes.began and not self._end.wanted:
            self._end.want()
        else:
            self._interrupted = self._interrupted or self._stopped
            self.interrupt()
        self._stopped = True

    def end(self, by: str) -> None:
        """End any run in order before its last frame, if its engines support that. `by`: the user who asks. Call it before `run`, or from the loop's
        thread."""
        self._end.want(by)

    def interrupt(self) -> None:
        """End the run in order within a bounded time; call it from the loop's thread. A second call gives up everything that does not end at once,
        and kills nodes that the run has started."""
        if self._task is None:
            return
        if self._interrupted:
            asyncio.get_running_loop().call_later(_HURRY_S, self._giving_up.hurry)
        self._interrupted = True
        self._task.cancel()

    async def _fail_by_node(self, error: NodeError) -> None:
        """End a run that cannot continue because a node failed or refused."""
        name, began = self._fleet.name_of(error), self._notes.began
        reason = await self._nodes.reason_of(error, name)
        gone = "" if began or error.lost else await self._nodes.gone()
        self._outcome.refused = not began and not gone and error.code in _REFUSALS
        await self._giving_up.give_up(f"{gone}; {reason}" if gone else reason, name if error.lost else "")

    async def _fail(self, error: Exception) -> None:
        """End the run when the manager itself cannot continue: a limit of its process, or a bug."""
        if limit := limit_behind(error) or limit_behind(MemoryError()):  # at which errors are of all kinds
            why = f"{str(error) or type(error).__name__}; {limit}; raise that limit"
        else:
            _log.error("the manager has failed", exc_info=error)
            why = f"{type(error).__name__}: {error}; please report it"
        await self._giving_up.give_up(f"the manager has failed: {why}")

    @contextlib.asynccontextmanager
    async def _closed(self) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await self._giving_up.unless_hurried(self._close())
            if self.hurried:  # they were killed; a process with a seen end leaves nothing behind in the loop
                await asyncio.gather(*(local.ended() for local in self.local_nodes.values()))

    async def _close(self) -> None:
        await self._course.cancel()
        await self._nodes.close()
