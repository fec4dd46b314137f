# SPDX-License-Identifier: Apache-2.0
"""Asks the nodes while a page is open, once for all pages. Without an open page it asks no node."""

import asyncio
import contextlib
import shutil
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace

from rashpa.control.capacity.limits import limits_of
from rashpa.control.nodes.gather_limited import gather_limited
from rashpa.control.nodes.node_client import NodeClient, NodeError
from rashpa.control.nodes.running_time import within
from rashpa.control.plan.model import Plan
from rashpa.control.telegrams.telegram import Capabilities, Status
from rashpa.dashboard.alarms import AlarmBoard
from rashpa.dashboard.course import Course
from rashpa.dashboard.nodes import Going, Nodes
from rashpa.dashboard.past.past_runs import ending_of
from rashpa.dashboard.scene import NodeScene, Scene

LOOK_S = 0.5
_LOAD_EVERY = 4  # looks: the load of a machine changes slowly
_DISK_S = 5.0
_PATIENCE_S = 1.2  # a node that has not answered for so long is shown as lost; the others are not kept waiting


class _Disk:
    """Reads the free space of the run's folder in a thread, because a disk may hang, and the page must not wait for it."""

    def __init__(self) -> None:
        self._asked: Future[int] | None = None
        self._known: int | None = None
        self._again = 0.0

    def free_bytes(self, plan: Plan | None) -> int | None:
        """Return the last result in bytes. Return None before the first one, and when no receiver of this machine stores images."""
        here = plan is not None and any(receiver.node == "local" for receiver in plan.receivers)
        if plan is None or not here:
            return None
        if self._asked is not None and self._asked.done():
            self._known = self._asked.result() if self._asked.exception() is None else None
            self._asked = None
        if self._asked is None and time.monotonic() >= self._again:
            self._again = time.monotonic() + _DISK_S
            self._asked = _in_thread(lambda: shutil.disk_usage(plan.file.run.folder).free)
        return self._known


def _in_thread(work: Callable[[], int]) -> "Future[int]":
    """Run `work` in a thread that does not delay the end of the process."""
    found: Future[int] = Future()

    def done() -> None:
        try:
            found.set_result(work())
        except OSError as error:
            found.set_exception(error)

    threading.Thread(target=done, name="free space", daemon=True).start()
    return found


class Watch:
    """Asks the nodes for their status while a page is open. `clock`: returns seconds since 1970; `board`: receives the alarms."""

    def __init__(self, nodes: Nodes, clock: Callable[[], float] = time.time, board: AlarmBoard | None = None) -> None:
        self.nodes = nodes
        self.board = board
        self._disk = _Disk()
        self.scene = Scene(clock(), nodes.plan, going=False, managed=False)
        self.course = Course()
        self.clients: dict[str, NodeClient] = {}
        self._clock = clock
        self._run: tuple[str, float] | None = None
        self._report = ""
        self._began = 0.0
        self._connected = False
        self._lookers = 0
        self._looks = 0
        self._task: asyncio.Task[None] | None = None
        self._asked: set[str] = set()
        self._capabilities: dict[str, Capabilities] = {}

    def join(self) -> None:
        """Count one more page; the first page starts the requests."""
        self._lookers += 1
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._look_on())

    def leave(self) -> None:
        """Count one page less."""
        self._lookers -= 1

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        await self._let_go()

    async def _look_on(self) -> None:
        while self._lookers > 0:
            began = time.monotonic()
            await self.look()
            await asyncio.sleep(max(0.05, LOOK_S - (time.monotonic() - began)))

    async def look(self) -> None:
        """Ask the run and its nodes for their state, once."""
        self._looks += 1
        going = self.nodes.going()
        await self._follow(going)
        known = {node.name: node for node in self.scene.nodes}
        names = list(self.clients)
        ended = going is None and self._run is not None
        if ended:  # its nodes go with it: their last words stay
            nodes = tuple(known[name].ended() for name in names if name in known)
        else:
            nodes = tuple(await gather_limited(lambda name: self._ask(name, known.get(name)), names))
            if not all(node.problem for node in nodes):
                nodes = tuple(replace(node, alone=bool(node.problem)) for node in nodes)
        plan = going.plan if going is not None else self.scene.plan if ended else self.nodes.plan
        self.scene = Scene(
            self._clock(),
            plan,
            going=going is not None,
            managed=going is not None and going.managed,
            holder=going.record.holder if going is not None else "",
            nodes=nodes,
            limits=self.scene.limits,
            free_bytes=self._disk.free_bytes(plan) if going is not None else None,
            ending=ending_of(self._report, self._began) if ended else None,
        )
        if not ended:
            self.course.add(self.scene)
            await self._take_limits()
        if self.board is not None:
            self.board.look(self.scene, self.course)

    async def _follow(self, going: Going | None) -> None:
        """Make new clients when another run goes on than before."""
        identity = going.identity if going is not None else None
        if going is None:
            if not self._connected:  # nodes that stay up
                self.clients = self.nodes.clients(None)
                self._connected = True
            return
        known = {node.name for node in going.record.nodes}
        if (
            identity is not None
            and self._run is not None
            and identity[0] == self._run[0]
            and known == set(self.clients)
        ):
            self._run, self._report = identity, going.record.report
            return
        if self._run is None or identity is None or identity[0] != self._run[0]:
            self.course = Course()
            self._capabilities = {}
            self._asked = set()
            self._began = self._clock()
            self.scene = replace(self.scene, nodes=(), limits=(), ending=None)
        await self._let_go()
        self.clients = self.nodes.clients(going)
        self._connected = True
        self._run, self._report = identity, going.record.report

    async def _let_go(self) -> None:
        for client in self.clients.values():
            with contextlib.suppress(TimeoutError, RuntimeError):
                await client.close()
        self.clients = {}

    async def _ask(self, name: str, known: NodeScene | None) -> NodeScene:
        client = self.clients[name]
        before = known or NodeScene(client.name, client.url)
        try:
            async with within(_PATIENCE_S):
                if self._looks % _LOAD_EVERY == 0 or before.load is None:
                    status, load = await asyncio.gather(client.status(), client.load())
                    before = replace(before, load=load, load_before=before.load)
                else:
                    status = await client.status()
        except NodeError as error:
            return replace(before, problem=str(error))
        except TimeoutError:
            return replace(before, problem=f"{client.name} has not answered for {_PATIENCE_S:g} s")
        return NodeScene(
            name, client.url, _with_last_words(status, before.status), before.status, before.load, before.load_before
        )

    async def _take_limits(self) -> None:
        """Compute, once for each run, the needs of the plan and the resources of its machines."""
        plan = self.scene.plan
        if plan is None or not self.scene.going:
            return
        for name, client in self.clients.items():
            if name not in self._asked:
                self._asked.add(name)
                with contextlib.suppress(NodeError, TimeoutError):
                    async with within(_PATIENCE_S):
                        self._capabilities[name] = await client.capabilities()
        if not self.scene.limits and self._asked == set(self.clients):
            self.scene = replace(self.scene, limits=limits_of(plan, self._capabilities))


def _with_last_words(status: Status, before: Status | None) -> Status:
    """Return the status with the last counters of a node that its run has freed; they stay until the next run."""
    if before is None or status.source is not None or status.destination is not None:
        return status
    return replace(status, source=before.source, destination=before.destination)
