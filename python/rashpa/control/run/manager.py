# SPDX-License-Identifier: Apache-2.0
"""Carries a run through: plans, configures, starts, watches, and closes the books. Every wait is bounded.

Order of the telegrams: the receivers are configured first (their answers say where the DTPs write), then the emulators; the receivers are armed
with the emulators' endpoints and started before the emulators. When all emulators are finished, Stop tells the receivers that nothing more will
come. Nodes of one role get an order at the same time, and all answers are waited for.

Before all that every node is claimed, one after the other and by all managers in the same order: of two that start at once the one that is
refused holds nothing that the other still needs, and one of them gets all.
"""

import asyncio
import contextlib
import errno
import importlib
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterable, Mapping
from typing import TypeVar

from rashpa.control.books.first_missing import first_missing
from rashpa.control.books.group_course import GroupCourse
from rashpa.control.books.outcome import Outcome, Progress
from rashpa.control.books.overrun import OverrunGuard
from rashpa.control.books.pictures import take_pictures
from rashpa.control.capacity.capacity import CapacityError, check_abilities, overloads
from rashpa.control.handover.join_desk import JoinDesk
from rashpa.control.handover.journal import Journal
from rashpa.control.handover.run_owner import run_owner
from rashpa.control.handover.steering import Steering
from rashpa.control.nodes.gather_limited import gather_all, gather_limited
from rashpa.control.nodes.heard import UNHEARD, status_of
from rashpa.control.nodes.launcher import LOCAL, Launcher
from rashpa.control.nodes.lean_httpx import httpx
from rashpa.control.nodes.local_node import LocalNode
from rashpa.control.nodes.log_text import lines_of
from rashpa.control.nodes.node_client import NodeClient, NodeError, run_id_of
from rashpa.control.nodes.poll_while import poll_while
from rashpa.control.nodes.running_time import since_boot, within
from rashpa.control.plan.groups import Joined
from rashpa.control.plan.receivers import PlannedReceiver
from rashpa.control.plan.run_plan import Plan
from rashpa.control.run.adopted_node import AdoptedNode
from rashpa.control.run.configuring import Ends, configure_emulator, configure_receiver
from rashpa.control.run.end import EndOfRun, end_sources, never_early
from rashpa.control.run.joining import Joining
from rashpa.control.run.journal_entry import note
from rashpa.control.run.looks import next_look_s, shortest_run_s
from rashpa.control.run.run_nodes import RunNodes
from rashpa.control.run.stall import StallWatch
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram import Capabilities, Endpoint, Status
from rashpa.data.base.limit_said import limit_behind
from rashpa.data.base.telling import OnlyTells, only_tells

_POLL_S = 0.25
_LOG_ENTRIES = 1000
_ITS_LOG = "its log says what it was at: `rashpa node log URL`, or nodes.log of --report"
_CLOSE_S = 5.0  # of a connection to one that does not answer
_ENDED_S = 0.05  # for the end of a process to be known
_REFUSALS = ("config", "resource", "file", "state", "denied")  # of a run that cannot be as it is asked for
_HURRY_S = 1.0  # for what is left of a run that was interrupted twice
_EARLY_S = 3.0  # for the last words of a node before anything was acquired
_QUIET_S = 12.0  # for the last words of a node when the run is given up: Abort alone may take 10 s, a node that hangs is given up sooner
_T = TypeVar("_T")
_log = logging.getLogger(__name__)


Observer = Callable[[Progress], None]


def unobserved(progress: Progress) -> None:
    """Nobody watches."""


def unprepared() -> None:
    """Nothing is made ready."""


class Manager:
    """One run. Nodes go by the names that they have in the plan. `transports`: for tests, nodes in this process in place of URLs. `force`: what is too
    much for links, memory or units is tried nevertheless. `journal`: where to note what `rashpa attach` needs. `launcher`: who starts the nodes that
    have no URL. `nodes`: in place of launcher, token and transports, for who has some already."""

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
    ) -> None:
        self._plan = plan
        self._force = force
        self._journal = journal
        self._labels = {node.name: node.label for node in plan.nodes}
        self.observe(observer)
        self._nodes = nodes or RunNodes(launcher, plan.file.nodes.token or token, transports or {})
        self._local, self._clients = self._nodes.local, self._nodes.clients
        self._last: dict[str, Status] = {}
        self._heard: dict[str, float] = {}
        self._outcome = Outcome(plan, run_id=run_id_of(self._nodes.owner))
        self._task: asyncio.Task[None] | None = None
        self._stopped = self._interrupted = False
        self._hurried = asyncio.Event()
        self._busy: dict[str, str] = {}  # by buffer: the step that does not come to its end
        self._began = 0.0
        self._holder = run_owner(plan)
        self._claimed: set[str] = set()  # nodes that may be this run's
        self._end = EndOfRun(plan, journal)
        self._groups = GroupCourse(plan, self._clients, self._last)
        can_end = not never_early(plan)
        end = (lambda: self._end.want("run.on_overrun")) if can_end else None
        self._overruns = OverrunGuard(plan, self._clients, self._last, self._look_at, self._alive, end)
        self._outcome.overruns = self._overruns.found
        self._steering = Steering(plan, self._clients, self._last, self._alive, journal, self.interrupt)
        self._stall = StallWatch(plan)
        self._joined: tuple[Joined, ...] = ()
        self._prepare: Callable[[], None] = unprepared
        self._joining = Joining(self, JoinDesk(journal) if journal is not None and plan.groups else None)

    async def run(self) -> Outcome:
        """Carries the run through. Does not raise for what nodes do: that is the outcome's problem."""
        async with self._closed(), self._steering.attended():
            self._task = asyncio.create_task(self._carry_through())
            try:
                await asyncio.shield(self._task)
            except asyncio.CancelledError:
                if not self._task.cancelled():  # this call was cancelled from outside, not the run by interrupt()
                    self._task.cancel()
                    raise
                self._outcome.interrupted = True
                await self._give_up("interrupted")
            except CapacityError as error:
                self._outcome.problem = str(error)
                self._outcome.refused = True
            except NodeError as error:
                name = self._name_of(error)
                reason = await self._reason_of(error, name)
                gone = "" if self._began or error.lost else await self._gone()
                self._outcome.refused = not self._began and not gone and error.code in _REFUSALS
                await self._give_up(f"{gone}; {reason}" if gone else reason, name if error.lost else "")
            except Exception as error:
                if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
                    raise  # what else is to be done needs files, too
                if limit := limit_behind(error) or limit_behind(MemoryError()):  # whose ends are of all kinds
                    await self._give_up(
                        f"the manager has failed: {error or type(error).__name__}; {limit}; raise that limit"
                    )
                else:
                    _log.exception("the manager has failed")
                    await self._give_up(f"the manager has failed: {type(error).__name__}: {error}; please report it")
        self._end.answer(self._outcome)
        if self._journal is not None:
            self._journal.remove()
        return self._outcome

    async def ask(self) -> dict[str, Capabilities]:
        """What the nodes of the plan can do, by name; those that are local are started for the question. NodeError when one does not answer."""
        async with self._closed():
            await self._nodes.connect(self._plan)
            answers = await gather_limited(NodeClient.capabilities, self._clients.values())
            return dict(zip(self._clients, answers, strict=True))

    @property
    def plan(self) -> Plan:
        return self._plan

    def observe(self, observer: Observer) -> None:
        """Before `run`: who is told how far it is. An exception of `observer` is a caution of the run, and it is told nothing more."""
        self._observer = OnlyTells("the observer of the run", observer, self._caution)

    def _caution(self, text: str) -> None:
        self._outcome.cautions += (text,)

    def prepare(self, prepare: Callable[[], None]) -> None:
        """Before `run`: call `prepare` in a thread of its own once the sources play, when processors have more time than while nodes start. Nobody
        waits for it, and it raises nothing."""
        self._prepare = prepare

    @property
    def local_nodes(self) -> Mapping[str, LocalNode | AdoptedNode]:
        """By name, those that this manager has started."""
        return self._local

    def stop(self) -> None:
        """Ends a run until stopped at the next frame at which all emulators can end, in order; any other run is interrupted. From the loop's thread."""
        if self._plan.end_told and self._began and not self._end.wanted:
            self._end.want()
        else:
            self._interrupted = self._interrupted or self._stopped
            self.interrupt()
        self._stopped = True

    def end(self, by: str) -> None:
        """Ends any run in order before its last frame, if its engines can; `by`: who wants it. Before `run`, or from the loop's thread."""
        self._end.want(by)

    def interrupt(self) -> None:
        """Ends the run in order and in bounded time; from the loop's thread. The second time, what has not ended within a moment is given up: nodes of
        the run's own are killed."""
        if self._task is None:
            return
        if self._interrupted:
            asyncio.get_running_loop().call_later(_HURRY_S, self._give_up_waiting)
        self._interrupted = True
        self._task.cancel()

    @property
    def hurried(self) -> bool:
        """Whether somebody has no more patience."""
        return self._hurried.is_set()

    # ---- the regular course -----------------------------------------------------------------------------------------------------

    async def _carry_through(self) -> None:
        self._tell("starting nodes")
        await self._nodes.connect(self._plan)
        can = await gather_limited(NodeClient.capabilities, self._clients.values())
        self._outcome.capabilities.update(zip(self._clients, can, strict=True))
        check_abilities(self._plan, self._outcome.capabilities)
        if too_much := overloads(self._plan, self._outcome.capabilities):
            if not self._force:
                raise CapacityError("\n".join((*too_much, "`rashpa run --force` tries it as it is")))
            self._outcome.cautions = tuple(f"forced: {line}" for line in too_much)
        async with self._nodes.renewed(self._heard):
            await self._claim()
            self._end.begin()
            self._note()
            await self._acquire()

    def _note(self) -> None:
        """For who comes when this manager dies, or wants the run to end. NodeError where the run is to go on without it and nobody could find it."""
        if self._journal is None:
            return
        try:
            began = since_boot() - (time.monotonic() - self._began) if self._began else 0.0
            note(self._journal, self._plan, self._holder, self._nodes, began, self._joined)
        except OSError as error:
            text = f"{self._journal.path}: the journal of the run cannot be written: {error.strerror}; choose another run.output"
            if self._plan.file.run.orphaned == "finish":
                raise NodeError("manager", text, "file") from None
            if not self._began:
                self._outcome.cautions += (f"{text}, or `rashpa attach` will not find this run",)

    async def _acquire(self) -> None:
        await self._configure()
        self._tell("running")
        self._began = time.monotonic()
        self._groups.begin(self._began)
        await self._order_all(self._receiver_names, telegram.Start())
        await self._order_all(self._emulator_names, telegram.Start())
        with contextlib.suppress(RuntimeError):  # without a thread, who needs it does it himself
            threading.Thread(target=self._get_ready, name="get ready", daemon=True).start()
        self._note()
        await self._see_through()

    def _get_ready(self) -> None:
        """Import what the end needs, in a thread of its own."""
        importlib.import_module("rashpa.control.books.books")
        self._prepare()

    async def _see_through(self) -> None:
        """From the start of the emulators to the closed books."""
        self._stall = StallWatch(self._plan)
        through = self._began + shortest_run_s(self._plan.file)
        await self._watch(self._emulator_names, "running", self._end.due, joining=True, through_at=through)
        await self._joining.end()
        if self._end.early:
            self._end.wanted, self._outcome.stopped_by = True, self._end.by
            receivers = [self._clients[name] for name in self._alive(self._receiver_names)]
            await end_sources([self._clients[name] for name in self._emulator_names], receivers)
            await self._watch(self._emulator_names, "running")
        await self._groups.settle(lambda names: self._watch(names, "settling"))
        dealers = [name for name in self._emulator_names if status_of(self._last, name).state != "finished"]
        await self._order_all(dealers, telegram.Stop())
        await self._tell_ends([name for name in self._receiver_names if name not in self._groups.members])
        await self._watch([*dealers, *self._alive(self._receiver_names)], "finishing")
        self._outcome.acquisition_s = time.monotonic() - self._began
        self._overruns.close(self._outcome.acquisition_s)
        await self._take_books()
        await self._take_pictures(self._alive(self._receiver_names))
        await gather_all(self._take_log(name) for name in self._alive(self._local))
        await gather_all(self._release(name) for name in self._alive(self._clients))

    async def _release(self, name: str) -> None:
        """A node whose books are taken; the run has lost nothing when it is gone."""
        try:
            await self._clients[name].order(telegram.Reset())
        except NodeError as error:
            if not error.lost:
                raise
            self._outcome.cautions += (f"{await self._reason_of(error, name)}, after its books had been taken",)

    async def _tell_ends(self, receivers: Iterable[str]) -> None:
        """To the receivers, from what their sources say that they have come to."""
        for_each = self._end.orders(receivers, self._heard_of(self._emulator_names).values())
        await gather_all(self._clients[name].order(order) for name, order in for_each.items())

    @property
    def _receiver_names(self) -> list[str]:
        return [receiver.name for receiver in self._plan.receivers]

    @property
    def _emulator_names(self) -> list[str]:
        return [emulator.name for emulator in self._plan.emulators]

    async def _order_all(self, names: Iterable[str], order: telegram.Telegram) -> None:
        await gather_all(self._clients[name].order(order) for name in names)

    async def _claim(self) -> None:
        emulators = self._emulator_names
        alive = {name: self._clients[name] for name in self._alive(self._clients)}
        for name, client in sorted(alive.items(), key=lambda known: (known[0] in emulators, known[1].url, known[0])):
            self._claimed.add(name)
            try:
                await client.order(telegram.Claim(self._holder))
            except NodeError as error:
                if not error.lost:
                    self._claimed.discard(name)
                raise

    async def _configure(self) -> None:
        receivers = self._plan.receivers
        self._tell("configuring the receiver" if len(receivers) == 1 else "configuring the receivers")
        ends: Ends = {}
        for found in await gather_all(
            configure_receiver(self._plan, one, self._clients[one.name]) for one in receivers
        ):
            ends.update(found)
        emulators = self._plan.emulators
        phase = f"configuring the emulator{'' if len(emulators) == 1 else 's'} (dataset)"
        self._tell(phase)
        sources: dict[int, Endpoint] = {}
        async with poll_while(lambda: self._tell_prepared(phase), _POLL_S):
            answers = (configure_emulator(self._plan, one, self._clients[one.name], ends) for one in emulators)
            for sent_from in await gather_all(answers):
                sources.update(sent_from)
        await gather_all(
            self._clients[name].order(telegram.Arm(tuple(sources[dtp.id] for dtp in self._plan.dtps_of(name))))
            for name in self._receiver_names
        )
        await self._order_all(self._emulator_names, telegram.Arm())

    async def _tell_prepared(self, phase: str) -> None:
        for name in self._emulator_names:
            self._last[name] = await self._clients[name].status()
        self._tell(phase)

    async def _watch(
        self,
        awaited: Collection[str],
        phase: str,
        ends: Callable[[float], bool] = lambda _: False,
        *,
        joining: bool = False,
        through_at: float = 0.0,
    ) -> None:
        """Until all `awaited` are finished, or `ends` says so. NodeError when a node is lost, in fault, or nothing happens any more. `through_at`: when
        they may be finished at the earliest, if that is not now."""
        due = max(through_at, time.monotonic())
        while True:
            if joining:
                self._joining.look()
            began = time.monotonic()
            await gather_limited(self._look_at, self._alive(self._clients))
            asked_s = time.monotonic() - began
            for name in self._alive(self._clients):
                trouble = self._trouble_of(name)
                if trouble and not await self._groups.give_up(name, str(trouble)):
                    raise trouble
            self._tell(phase)
            if phase == "running":
                await self._overruns.look(time.monotonic() - self._began)
                await self._steering.look()
            waited = self._alive(awaited)
            through = all(self._groups.through(name) for name in waited)
            if through or ends(time.monotonic() - self._began):
                return
            resting = self._plan.file.detector.trigger == "software" and not self._end.wanted
            if not resting and (found := self._stall.stalled(self._last, waited)):
                label = self._labels[found.node]
                text = f"{label} is {status_of(self._last, found.node).state}, but nothing has happened for {found.seconds:.0f} s; {_ITS_LOG}"
                raise NodeError(label, text, "deadline")
            # half of the time at most: many nodes take long to ask, and have more to do than to answer
            await asyncio.sleep(max(next_look_s(time.monotonic(), due, _POLL_S), asked_s))

    async def _look_at(self, name: str) -> None:
        try:
            self._last[name] = await self._clients[name].status()
        except NodeError as error:
            if not error.lost or not await self._groups.give_up(name, await self._reason_of(error, name)):
                raise
            return
        self._heard[name] = time.monotonic()
        destination = self._last[name].destination
        for buffer in destination.buffers if destination else ():
            if buffer.busy:
                self._busy[buffer.name] = f"buffer {buffer.name}: {buffer.busy}"
            else:
                self._busy.pop(buffer.name, None)

    def _alive(self, names: Iterable[str]) -> list[str]:
        """Those that the run has not gone on without."""
        return [name for name in names if name not in self._groups.lost]

    def _trouble_of(self, name: str) -> NodeError | None:
        """Of a node that answers and yet cannot go on."""
        client, last = self._clients[name], status_of(self._last, name)
        if last.state == UNHEARD:
            return None
        if last.state == "fault":
            return NodeError(client.name, last.message)
        if last.holder != self._holder:
            said = last.message or f"it belongs to {last.holder or 'nobody'}"
            return NodeError(client.name, f"{client.name} is not this run's any more: {said}", "state")
        return None

    async def _take_books(self) -> None:
        from rashpa.control.books.books import take_books  # NumPy, for which no node waits

        while True:
            self._outcome.lost, self._outcome.joined = dict(self._groups.lost), dict(self._groups.joined)
            try:
                await take_books(self._plan, self._clients, self._last, self._outcome)
            except NodeError as error:  # who had its end and is lost now has left what its credits have proven
                name = self._name_of(error)
                if not error.lost or not await self._groups.give_up(name, await self._reason_of(error, name)):
                    raise
            else:
                return self._tell("done")

    async def _take_pictures(self, receivers: Iterable[str]) -> None:
        """For the report, where there will be one."""
        if self._journal is None or not self._journal.report:
            return
        with only_tells("images for the report", self._caution):
            self._outcome.pictures |= await take_pictures(self._plan, self._clients, receivers)

    async def _take_log(self, name: str) -> None:
        """Of a node that ends with the run, as far as it answers; the run is none the worse without."""
        with only_tells(f"the log of {self._labels[name]}", self._caution), contextlib.suppress(NodeError):
            self._outcome.logs[name] = lines_of(await self._clients[name].log(_LOG_ENTRIES))

    # ---- receivers that join (joining.Host) ---------------------------------------------------------------------------------------

    @property
    def clients(self) -> Mapping[str, NodeClient]:
        """Of the nodes, by name."""
        return self._clients

    @property
    def capabilities(self) -> dict[str, Capabilities]:
        """What each has said that it can do."""
        return self._outcome.capabilities

    @property
    def groups(self) -> GroupCourse:
        """Who was lost."""
        return self._groups

    @property
    def forced(self) -> bool:
        """Whether what is too much is tried nevertheless."""
        return self._force

    async def reach(self, receiver: PlannedReceiver) -> NodeClient:
        """Started where it is local, claimed, its lease renewed. NodeError."""
        return await self._nodes.reach(self._plan, receiver, self._holder)

    async def let_go(self, receiver: PlannedReceiver, client: NodeClient) -> None:
        """It is nobody's, and ends where it was started for the run. NodeError."""
        await self._nodes.let_go(receiver, client)

    def take_in(
        self, plan: Plan, receiver: PlannedReceiver, client: NodeClient, joined: Joined, status: Status
    ) -> None:
        """It belongs to the run."""
        self._last[receiver.name], self._heard[receiver.name] = status, time.monotonic()
        self._plan = self._outcome.plan = plan
        self._joined += (joined,)
        self._labels[receiver.name] = receiver.label
        self._clients[receiver.name] = client
        self._claimed.add(receiver.name)
        self._groups.follow(plan, receiver.name)
        self._stall = StallWatch(plan)
        self._note()

    # ---- when it goes wrong -----------------------------------------------------------------------------------------------------

    def _name_of(self, error: NodeError) -> str:
        """Of the node that an error is about; empty: of none."""
        return next((name for name, label in self._labels.items() if label == error.node), "")

    async def _reason_of(self, error: NodeError, name: str) -> str:
        """For a node of our own that does not answer: how its process ended."""
        local = self._local.get(name)
        return (await local.ended() or str(error)) if local is not None and error.lost else str(error)

    async def _gone(self) -> str:
        """How a node of our own has ended, where one has: others may refuse what they cannot do without it."""
        for local in self._local.values():
            if ended := await local.ended(_ENDED_S):
                return ended
        return ""

    async def _give_up(self, reason: str, lost: str = "") -> None:
        """Aborts what still answers, takes its last counters, and names the first missing image."""
        outcome = self._outcome
        if self._began:
            outcome.acquisition_s = time.monotonic() - self._began
        await self._unless_hurried(self._stop_nodes(lost))
        outcome.emulators, outcome.receivers = (
            self._heard_of(self._emulator_names),
            self._heard_of(self._receiver_names),
        )
        missing = first_missing(self._plan, self._last, self._heard, lost) if self._began else ""
        outcome.problem = "\n".join(line for line in (reason, *self._busy.values(), missing) if line)
        if self._began:
            outcome.lost, outcome.joined = dict(self._groups.lost), dict(self._groups.joined)
            from rashpa.control.books.group_accounting import groups_so_far

            outcome.groups = groups_so_far(self._plan, self._last, outcome.lost, outcome.joined)

    async def _stop_nodes(self, lost: str) -> None:
        for names in (self._emulator_names, self._receiver_names):
            await gather_all(self._stop_node(name) for name in names if name != lost)

    def _give_up_waiting(self) -> None:
        self._nodes.kill()
        self._hurried.set()

    async def _unless_hurried(self, work: Coroutine[None, None, None]) -> None:
        """Waits for it, as long as nobody has lost patience."""
        doing = asyncio.ensure_future(work)
        hurried = asyncio.ensure_future(self._hurried.wait())
        try:
            await asyncio.wait((doing, hurried), return_when=asyncio.FIRST_COMPLETED)
        finally:
            hurried.cancel()
            doing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await doing

    async def _stop_node(self, name: str) -> None:
        """Aborts a node that is this run's and still answers, and keeps its last counters; bounded."""
        if name not in self._claimed:
            return
        client = self._clients[name]
        try:
            async with within(_QUIET_S if self._began else _EARLY_S):
                status = await client.status()
                if status.holder != self._holder:
                    return
                if (
                    self._busy and name in self._local
                ):  # one whose kernel hangs may say nothing more once it is told to end
                    await self._take_log(name)
                if status.state in ("configured", "armed", "running", "paused", "finished"):
                    status = await client.order(telegram.Abort())
                self._last[name] = status
                if self._began:
                    await self._take_pictures([name])
                if name in self._local:
                    await self._take_log(name)
                await client.order(telegram.Reset())
        except (NodeError, TimeoutError):
            if name in self._local:  # who does not obey now does not end when told so
                self._local[name].kill()

    @contextlib.asynccontextmanager
    async def _closed(self) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await self._unless_hurried(self._close())
            if self.hurried:  # they were killed; who is seen to end leaves nothing behind in the loop
                await asyncio.gather(*(local.ended() for local in self._local.values()))

    async def _close(self) -> None:
        await self._joining.cancel()
        await self._nodes.close()

    def _tell(self, phase: str) -> None:
        elapsed = time.monotonic() - self._began if self._began else 0.0
        emulators, receivers = self._heard_of(self._emulator_names), self._heard_of(self._receiver_names)
        self._observer(Progress(phase, self._plan.file.run.most_frames, elapsed, emulators, receivers))

    def _heard_of(self, names: Iterable[str]) -> dict[str, Status]:
        """What nodes said last, by name."""
        return {name: status_of(self._last, name) for name in names if name in self._last}
