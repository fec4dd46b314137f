# SPDX-License-Identifier: Apache-2.0
"""Carries out the regular course of a run: nodes are claimed, configured, started and watched, and the books are closed. Every wait is bounded.

Order of the telegrams: the receivers are configured first, because their answers say where the DTPs write; then the emulators. The receivers are
armed with the emulators' endpoints and started before the emulators. When all emulators have finished, Stop tells the receivers that nothing more
will come. All nodes of one role get an order at the same time, and all answers are awaited.

Before that, every node is claimed, one after the other and by all managers in the same order. So of two managers that start at once, the refused one
holds no node that the other still needs, and one of them gets all nodes.
"""

import asyncio
import contextlib
import importlib
import threading
import time
from collections.abc import Callable, Collection

from rashpa.control.books.group_course import GroupCourse
from rashpa.control.books.overrun import OverrunGuard
from rashpa.control.capacity.capacity import CapacityError, check_abilities, overloads
from rashpa.control.handover.join_request import JoinAnswer
from rashpa.control.handover.run_request import RequestDesk
from rashpa.control.handover.steering import Steering
from rashpa.control.nodes.fleet import Fleet
from rashpa.control.nodes.gather_limited import gather_all, gather_limited
from rashpa.control.nodes.heard import UNHEARD
from rashpa.control.nodes.node_client import NodeError
from rashpa.control.nodes.poll_while import poll_while
from rashpa.control.plan.groups import Joined
from rashpa.control.run.configuring import Ends, configure_emulator, configure_receiver
from rashpa.control.run.end import EndOfRun, end_sources, never_early
from rashpa.control.run.foreign_detector import ForeignDetector, end_of
from rashpa.control.run.joining import Joining
from rashpa.control.run.looks import next_look_s, shortest_run_s
from rashpa.control.run.run_nodes import RunNodes
from rashpa.control.run.run_notes import RunNotes
from rashpa.control.run.stall import StallWatch
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram import Endpoint

_POLL_S = 0.25
_ITS_LOG = "its log says what it was at: `rashpa node log URL`, or nodes.log beside the report"


def unprepared() -> None:
    """Do nothing: the default for `prepare`."""


class Course:
    """Carries out one run. `forced`: exceeded limits of links, memory or units do not stop it. `desk`: receives requests to join."""

    def __init__(
        self,
        fleet: Fleet,
        nodes: RunNodes,
        notes: RunNotes,
        end: EndOfRun,
        steering: Steering,
        desk: RequestDesk[Joined, JoinAnswer] | None,
        *,
        forced: bool = False,
    ) -> None:
        self._fleet, self._nodes, self._notes, self._end, self._steering = fleet, nodes, notes, end, steering
        self._forced = forced
        self._outcome = notes.outcome
        self.groups = GroupCourse(fleet)
        can_end = not never_early(fleet.plan)
        want_end = (lambda: end.want("run.on_overrun")) if can_end else None
        self._overruns = OverrunGuard(fleet, self._look_at, want_end)
        self._outcome.overruns = self._overruns.found
        self._stall = StallWatch(fleet.plan)
        control = fleet.plan.file.detector.control
        self._detector = None if control is None else ForeignDetector(fleet.plan, control)
        self._joining = Joining(
            fleet, nodes, self.groups, self._outcome.capabilities, desk, self._follow, forced=forced
        )
        self.prepare: Callable[[], None] = unprepared

    async def carry_through(self) -> None:
        """Carry the run from the start of the nodes to the closed books. Raise NodeError or CapacityError."""
        self._notes.tell("starting nodes")
        await self._nodes.connect(self._fleet.plan)
        await self._ask_abilities()
        async with self._nodes.renewed(self._fleet.heard):
            await self._claim()
            self._end.begin()
            self._notes.note()
            try:
                await self._acquire()
            finally:
                if self._detector is not None:
                    await self._detector.stop()

    async def cancel(self) -> None:
        """Accept no more receivers."""
        await self._joining.cancel()

    async def _ask_abilities(self) -> None:
        """Ask the nodes for their capabilities. Raise CapacityError when they lack a feature that the plan needs."""
        fleet, capabilities = self._fleet, self._outcome.capabilities
        capabilities.update(await fleet.ask_abilities())
        check_abilities(fleet.plan, capabilities)
        if too_much := overloads(fleet.plan, capabilities):
            if not self._forced:
                raise CapacityError("\n".join((*too_much, "`rashpa run --force` tries it as it is")))
            self._outcome.cautions = tuple(f"forced: {line}" for line in too_much)

    async def _claim(self) -> None:
        fleet = self._fleet
        alive = {name: fleet.clients[name] for name in fleet.alive(fleet.clients)}
        emulators = fleet.emulators
        for name, client in sorted(alive.items(), key=lambda known: (known[0] in emulators, known[1].url, known[0])):
            fleet.claimed.add(name)
            try:
                await client.order(telegram.Claim(holder=fleet.holder))
            except NodeError as error:
                if not error.lost:
                    fleet.claimed.discard(name)
                raise

    async def _acquire(self) -> None:
        fleet = self._fleet
        if self._detector is not None:
            self._notes.tell("preparing the detector")
            await self._detector.prepare()
        await self._configure()
        self._notes.tell("running")
        self._notes.began = time.monotonic()
        self.groups.begin(self._notes.began)
        await fleet.order_all(fleet.receivers, telegram.Start())
        await fleet.order_all(fleet.emulators, telegram.Start())
        if self._detector is not None:
            await self._detector.start()
        with contextlib.suppress(RuntimeError):  # without a thread, the work is done where it is needed
            threading.Thread(target=self._get_ready, name="get ready", daemon=True).start()
        self._notes.note()
        await self._see_through()

    def _get_ready(self) -> None:
        """Import, in a separate thread, the modules that the end of the run needs."""
        importlib.import_module("rashpa.control.books.books")
        self.prepare()

    async def _configure(self) -> None:
        fleet = self._fleet
        receivers, emulators = fleet.plan.receivers, fleet.plan.emulators
        self._notes.tell("configuring the receiver" if len(receivers) == 1 else "configuring the receivers")
        ends: Ends = {}
        for found in await gather_all(
            configure_receiver(fleet.plan, one, fleet.clients[one.name]) for one in receivers
        ):
            ends.update(found)
        phase = f"configuring the emulator{'' if len(emulators) == 1 else 's'} (dataset)"
        self._notes.tell(phase)
        sources: dict[int, Endpoint] = {}
        async with poll_while(lambda: self._tell_prepared(phase), _POLL_S):
            answers = (configure_emulator(fleet.plan, one, fleet.clients[one.name], ends) for one in emulators)
            for sent_from in await gather_all(answers):
                sources.update(sent_from)
        if self._detector is not None:
            self._detector.know(ends)
        control = fleet.plan.file.detector.control
        elsewhere = {one.name: end_of(control, one.destination_kind) for one in receivers}
        dtps = {name: fleet.plan.dtps_of(name) for name in fleet.receivers}
        await fleet.order_each(
            {
                name: telegram.Arm(endpoints=tuple(sources.get(dtp.id, elsewhere[name]) for dtp in own))
                for name, own in dtps.items()
            }
        )
        await fleet.order_all(fleet.emulators, telegram.Arm())

    async def _tell_prepared(self, phase: str) -> None:
        for name in self._fleet.emulators:
            self._fleet.last[name] = await self._fleet.clients[name].status()
        self._notes.tell(phase)

    async def _see_through(self) -> None:
        """Watch the run from the start of the emulators to the closed books."""
        fleet, notes = self._fleet, self._notes
        self._stall = StallWatch(fleet.plan)
        through = notes.began + shortest_run_s(fleet.plan.file)
        sources = fleet.emulators if self._detector is None else fleet.receivers
        await self._watch(sources, "running", self._ends, joining=True, through_at=through)
        await self._joining.end()
        if self._end.early:
            await self._end_early()
        await self.groups.settle(lambda names: self._watch(names, "settling"))
        dealers = [name for name in fleet.emulators if fleet.status(name).state != "finished"]
        await fleet.order_all(dealers, telegram.Stop())
        alone = [name for name in fleet.receivers if name not in self.groups.members]
        await fleet.order_each(self._end.orders(alone, fleet.heard_of([*fleet.emulators, *fleet.receivers]).values()))
        await self._watch([*dealers, *fleet.alive(fleet.receivers)], "finishing")
        self._outcome.acquisition_s = notes.elapsed_s
        self._overruns.close(self._outcome.acquisition_s)
        await self._take_books()
        await notes.keep_pictures(fleet.alive(fleet.receivers))
        await gather_all(notes.keep_log(name) for name in fleet.alive(self._nodes.local))
        await gather_all(self._release(name) for name in fleet.alive(fleet.clients))

    def _ends(self, elapsed_s: float) -> bool:
        """Return True when the run must end although its sources still send. This never holds for a detector that sends by itself."""
        if self._end.due(elapsed_s):
            return True
        if self._detector is None or not self._detector.ended(self._fleet.heard_of(self._fleet.receivers)):
            return False
        self._outcome.cautions += self._detector.cautions
        return True

    async def _end_early(self) -> None:
        fleet = self._fleet
        self._end.wanted, self._outcome.stopped_by = True, self._end.by
        receivers = [fleet.clients[name] for name in fleet.alive(fleet.receivers)]
        await end_sources([fleet.clients[name] for name in fleet.emulators], receivers)
        await self._watch(fleet.emulators, "running")

    async def _watch(
        self,
        awaited: Collection[str],
        phase: str,
        ends: Callable[[float], bool] = lambda _: False,
        *,
        joining: bool = False,
        through_at: float = 0.0,
    ) -> None:
        """Watch the nodes until all `awaited` ones have finished, or `ends` returns True. Raise NodeError when a node is lost, in fault, or stalled.
        `through_at`: the monotonic time before which they cannot finish."""
        due = max(through_at, time.monotonic())
        while True:
            if joining:
                self._joining.look()
            asked_s = await self._look_at_all()
            self._notes.tell(phase)
            if phase == "running":
                await self._overruns.look(self._notes.elapsed_s)
                await self._steering.look()
            waited = self._fleet.alive(awaited)
            if all(self.groups.through(name) for name in waited) or ends(self._notes.elapsed_s):
                return
            self._check_stall(waited)
            # half of the time at most: many nodes take long to ask, and have more to do than to answer
            await asyncio.sleep(max(next_look_s(time.monotonic(), due, _POLL_S), asked_s))

    async def _look_at_all(self) -> float:
        """Ask all nodes for their status; return the seconds that this took. Raise NodeError when a node that the run needs fails."""
        began = time.monotonic()
        await gather_limited(self._look_at, self._fleet.alive(self._fleet.clients))
        asked_s = time.monotonic() - began
        for name in self._fleet.alive(self._fleet.clients):
            trouble = self._trouble_of(name)
            if trouble and not await self.groups.give_up(name, str(trouble)):
                raise trouble
        return asked_s

    async def _look_at(self, name: str) -> None:
        try:
            await self._fleet.look_at(name)
        except NodeError as error:
            await self._go_on_without(name, error)

    async def _go_on_without(self, name: str, error: NodeError) -> None:
        """Give up a node at which an order or a request has failed. Raise the error when the node is not lost, or when the run needs it."""
        if not error.lost or not await self.groups.give_up(name, await self._nodes.reason_of(error, name)):
            raise error

    def _check_stall(self, waited: Collection[str]) -> None:
        """Raise NodeError when a node makes no progress."""
        waits = self._detector is not None or self._fleet.plan.file.detector.trigger == "software"
        resting = waits and not self._end.wanted
        if resting or (found := self._stall.stalled(self._fleet.last, waited)) is None:
            return
        label, state = self._fleet.label(found.node), self._fleet.status(found.node).state
        text = f"{label} is {state}, but nothing has happened for {found.seconds:.0f} s; {_ITS_LOG}"
        raise NodeError(label, text, "deadline")

    def _trouble_of(self, name: str) -> NodeError | None:
        """Return the fault of a node that answers but cannot continue, None without one."""
        client, last = self._fleet.clients[name], self._fleet.status(name)
        if last.state == UNHEARD:
            return None
        if last.state == "fault":
            return NodeError(client.name, last.message)
        if last.holder != self._fleet.holder:
            said = last.message or f"it belongs to {last.holder or 'nobody'}"
            return NodeError(client.name, f"{client.name} is not this run's any more: {said}", "state")
        return None

    async def _take_books(self) -> None:
        from rashpa.control.books.books import take_books  # NumPy, for which no node waits

        fleet = self._fleet
        while True:
            self.groups.tell(self._outcome)
            try:
                await take_books(fleet.plan, fleet.clients, fleet.last, self._outcome)
            except NodeError as error:  # a lost node that had its end has left the images that its credits have proven
                await self._go_on_without(fleet.name_of(error), error)
            else:
                return self._notes.tell("done")

    async def _release(self, name: str) -> None:
        """Release a node after its books were taken. A node that is lost by now is only a caution."""
        try:
            await self._fleet.clients[name].order(telegram.Reset())
        except NodeError as error:
            if not error.lost:
                raise
            self._notes.caution(f"{await self._nodes.reason_of(error, name)}, after its books had been taken")

    def _follow(self, joined: Joined) -> None:
        """Update plan, notes and stall watch for a receiver that has joined."""
        self._outcome.plan = self._fleet.plan
        self._notes.joined += (joined,)
        self._stall = StallWatch(self._fleet.plan)
        self._notes.note()
