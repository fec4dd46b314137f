"""Carries a run through: plans, configures, starts, watches, and closes the books. Every wait is bounded.

Order of the telegrams: the receiver is configured first (its answer says where the DTPs write), then the emulator; the receiver is armed with
the emulator's endpoints and started before the emulator. When the emulator is finished, Stop tells the receiver that nothing more will come.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field

import httpx

from rashpa.control import telegram
from rashpa.control.accounting import BufferAccount, account_run
from rashpa.control.capacity import CapacityError, check_capacity
from rashpa.control.local_node import LocalNode, local_command
from rashpa.control.node_client import NodeClient, NodeError
from rashpa.control.plan_telegrams import destination_telegram, source_telegram
from rashpa.control.run_plan import Plan
from rashpa.control.telegram import Books, Capabilities, DestinationStatus, Endpoint, Status

_POLL_S = 0.25
_STALL_S = 8.0  # without any news, beyond what rate and deadlines explain
_QUIET_S = 6.0  # for the last words of a node when the run is given up


@dataclass(frozen=True)
class Progress:
    """What is known of a run while it lasts."""

    phase: str
    frames: int
    elapsed_s: float
    emulator: Status | None = None
    receiver: Status | None = None


@dataclass(frozen=True)
class Rates:
    """From the first packet to the last decision."""

    elapsed_s: float
    frames_per_s: float  # of the detector
    images_per_s: float  # arrived images of all buffers
    payload_gb_per_s: float  # pixels of accepted packets, 10⁹ bytes


@dataclass
class Outcome:
    """What is known at the end. `problem` is empty when the run came to its regular end."""

    plan: Plan
    problem: str = ""
    interrupted: bool = False
    capabilities: dict[str, Capabilities] = field(default_factory=dict)
    emulator: Status | None = None
    receiver: Status | None = None
    fates: dict[int, bytes] = field(default_factory=dict)
    completeness: dict[str, bytes] = field(default_factory=dict)
    decisions: dict[str, bytes] = field(default_factory=dict)
    accounts: tuple[BufferAccount, ...] = ()
    acquisition_s: float = 0.0
    refused: bool = False  # before anything was started: the input does not fit the machines

    @property
    def books(self) -> Books:
        """Over all buffers."""
        return sum((buffer.books for buffer in self.destination.buffers), Books()) if self.destination else Books()

    @property
    def destination(self) -> DestinationStatus | None:
        return self.receiver.destination if self.receiver else None

    @property
    def rates(self) -> Rates:
        """All 0 when nothing arrived."""
        if self.destination is None or self.destination.elapsed_s <= 0:
            return Rates(0.0, 0.0, 0.0, 0.0)
        elapsed = self.destination.elapsed_s
        books = self.books
        decided = max(
            buffer.section.every * (known.books.complete + known.books.partial + known.books.missing)
            for buffer, known in zip(self.plan.buffers, self.destination.buffers, strict=True)
        )
        payload = telegram.count_of(self.destination.counts, "link").get("payload_bytes", 0)
        frames = min(decided, self.plan.file.run.frames)
        return Rates(elapsed, frames / elapsed, (books.complete + books.partial) / elapsed, payload / elapsed / 1e9)

    @property
    def balanced(self) -> bool:
        """Whether the books of every buffer balance."""
        return self.destination is not None and all(buffer.books.balanced for buffer in self.destination.buffers)

    @property
    def unexplained(self) -> int:
        return sum(account.unexplained for account in self.accounts)

    @property
    def good(self) -> bool:
        """Regular end, books that balance, and nothing that the emulator's log does not explain."""
        return (
            not self.problem
            and not self.interrupted
            and self.balanced
            and bool(self.accounts)
            and self.unexplained == 0
        )


Observer = Callable[[Progress], None]


def _ignore(progress: Progress) -> None:
    """Nobody watches."""


class Manager:
    """One run. `transports`: for tests, nodes in this process in place of URLs."""

    def __init__(
        self,
        plan: Plan,
        observer: Observer = _ignore,
        token: str = "",
        command: Callable[[str], tuple[str, ...]] = local_command,
        transports: Mapping[str, httpx.AsyncBaseTransport] | None = None,
    ) -> None:
        self._plan = plan
        self._observer = observer
        self._token = plan.file.nodes.token or token
        self._command = command
        self._transports = transports or {}
        self._local: dict[str, LocalNode] = {}
        self._clients: dict[str, NodeClient] = {}
        self._last: dict[str, Status] = {}
        self._heard: dict[str, float] = {}
        self._outcome = Outcome(plan)
        self._task: asyncio.Task[None] | None = None
        self._began = 0.0
        self._owned = False  # whether the nodes are this run's to abort

    async def run(self) -> Outcome:
        """Carries the run through. Does not raise for what nodes do: that is the outcome's problem."""
        async with self._nodes_closed():
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
                self._outcome.refused = not self._began and error.code in (
                    "config",
                    "resource",
                    "file",
                    "state",
                    "denied",
                )
                await self._give_up(await self._reason_of(error), error.node if error.lost else "")
        return self._outcome

    @property
    def local_nodes(self) -> Mapping[str, LocalNode]:
        """By role, those that this manager has started."""
        return self._local

    def interrupt(self) -> None:
        """Ends the run in order and in bounded time; from the loop's thread."""
        if self._task is not None:
            self._task.cancel()

    # ---- the regular course -----------------------------------------------------------------------------------------------------

    async def _carry_through(self) -> None:
        self._tell("starting nodes")
        await self._connect()
        receiver, emulator = self._clients["receiver"], self._clients["emulator"]
        for role, client in self._clients.items():
            self._outcome.capabilities[role] = await client.capabilities()
        check_capacity(self._plan, self._outcome.capabilities["emulator"], self._outcome.capabilities["receiver"])
        await self._configure(emulator, receiver)
        self._tell("running")
        self._began = time.monotonic()
        await receiver.order(telegram.Start())
        await emulator.order(telegram.Start())
        await self._watch(emulator, "emulator", "running")
        await receiver.order(telegram.Stop())
        await self._watch(receiver, "receiver", "finishing")
        self._outcome.acquisition_s = time.monotonic() - self._began
        await self._take_books(emulator, receiver)
        for client in self._clients.values():
            await client.order(telegram.Reset())

    async def _connect(self) -> None:
        nodes = self._plan.file.nodes
        urls = {"receiver": nodes.receiver, "emulator": nodes.emulator}
        local = [role for role, url in urls.items() if url == "local" and role not in self._transports]
        try:
            async with asyncio.TaskGroup() as group:
                for role in local:
                    group.create_task(self._start_local(role))
        except* NodeError as errors:
            raise errors.exceptions[0] from None
        for role, url in urls.items():
            if role in self._transports:
                self._clients[role] = NodeClient(role, "http://node", transport=self._transports[role])
            elif role in self._local:
                self._clients[role] = NodeClient(role, self._local[role].url)
            else:
                self._clients[role] = NodeClient(role, url, self._token, nodes.authority)

    async def _start_local(self, role: str) -> None:
        self._local[role] = await LocalNode.start(role, self._command(role))

    async def _configure(self, emulator: NodeClient, receiver: NodeClient) -> None:
        for client in (receiver, emulator):
            # what an earlier run left on a node that stays up is cleared; what another manager runs is not touched
            status = await client.status()
            if status.state in ("finished", "fault"):
                await client.order(telegram.Reset())
            elif status.state != "idle":
                text = f"{client.name} is {status.state} for somebody else; wait, or send it Abort and Reset"
                raise NodeError(client.name, text, "state")
        self._owned = True
        self._tell("configuring the receiver")
        destination = await receiver.configure(destination_telegram(self._plan))
        self._expect_all("receiver", len(destination.endpoints), len(destination.placements))
        self._tell("configuring the emulator (dataset)")
        source = await emulator.configure(source_telegram(self._plan, destination.endpoints, destination.placements))
        self._expect_all("emulator", len(source.endpoints), len(self._plan.dtps))
        await receiver.order(telegram.Arm(source.endpoints))
        await emulator.order(telegram.Arm(_none))

    def _expect_all(self, node: str, endpoints: int, placements: int) -> None:
        if not endpoints == placements == len(self._plan.dtps):
            text = f"{node} answers Configure with {endpoints} endpoints for {len(self._plan.dtps)} DTPs"
            raise NodeError(node, text, "telegram")

    async def _watch(self, awaited: NodeClient, role: str, phase: str) -> None:
        """Until `awaited` is finished. NodeError when a node is lost, in fault, or nothing happens any more."""
        news: object = None
        since = time.monotonic()
        while True:
            for name, client in self._clients.items():
                self._last[name] = await client.status()
                self._heard[name] = time.monotonic()
                if self._last[name].state == "fault":
                    raise NodeError(name, self._last[name].message)
            self._tell(phase)
            if self._last[role].state == "finished":
                return
            now = _counters(self._last)
            if now != news or self._last["emulator"].state == "paused":
                news, since = now, time.monotonic()
            elif time.monotonic() - since > self._patience_s():
                text = f"{awaited.name} is {self._last[role].state}, but nothing has happened for {self._patience_s():.0f} s"
                raise NodeError(role, text, "deadline")
            await asyncio.sleep(_POLL_S)

    def _patience_s(self) -> float:
        """How long a healthy run may be without news."""
        file = self._plan.file
        period = 1.0 / file.detector.rate_hz if file.detector.rate_hz > 0 else 0.0
        slowest = max(section.every * section.stack for section in file.buffer) * period
        return (
            _STALL_S
            + 2.0 * slowest
            + max(section.deadline_ms for section in file.buffer) / 1000.0
            + file.faults.stall_us / 1e6
        )

    async def _take_books(self, emulator: NodeClient, receiver: NodeClient) -> None:
        outcome = self._outcome
        outcome.emulator, outcome.receiver = await emulator.status(), await receiver.status()
        for dtp in self._plan.dtps:
            outcome.fates[dtp.id] = await emulator.table("fates", dtp=dtp.id)
        for buffer in self._plan.buffers:
            name = buffer.section.name
            outcome.completeness[name] = await receiver.table("completeness", buffer=name)
            outcome.decisions[name] = await receiver.table("decisions", buffer=name)
        outcome.accounts = account_run(self._plan, outcome.fates, outcome.completeness)
        self._tell("done")

    # ---- when it goes wrong -----------------------------------------------------------------------------------------------------

    async def _reason_of(self, error: NodeError) -> str:
        """For a node of our own that does not answer: how its process ended."""
        local = self._local.get(error.node)
        return (await local.ended() or str(error)) if local is not None and error.lost else str(error)

    async def _give_up(self, reason: str, lost: str = "") -> None:
        """Aborts what still answers, takes its last counters, and names the first missing image."""
        outcome = self._outcome
        if self._began:
            outcome.acquisition_s = time.monotonic() - self._began
        for role in ("emulator", "receiver"):
            if self._owned and role in self._clients and role != lost:
                with contextlib.suppress(NodeError, TimeoutError):
                    async with asyncio.timeout(_QUIET_S):
                        self._last[role] = await self._stop_node(self._clients[role])
        outcome.emulator, outcome.receiver = self._last.get("emulator"), self._last.get("receiver")
        missing = self._first_missing(lost) if self._began else ""
        outcome.problem = f"{reason}\n{missing}" if missing else reason

    async def _stop_node(self, client: NodeClient) -> Status:
        status = await client.status()
        if status.state in ("configured", "armed", "running", "paused", "finished"):
            status = await client.order(telegram.Abort())
            await client.order(telegram.Reset())
        return status

    def _first_missing(self, lost: str) -> str:
        status = self._last.get("receiver")
        if status is None or status.destination is None:
            return "first missing image: 0 of every buffer; the receiver was lost before it said anything"
        if lost != "receiver" and status.destination.first_incomplete:
            return f"first missing image: {status.destination.first_incomplete}"
        ago = time.monotonic() - self._heard.get("receiver", time.monotonic())
        for buffer, known in zip(self._plan.buffers, status.destination.buffers, strict=False):
            decided = known.books.complete + known.books.partial + known.books.missing
            if decided < buffer.images:
                when = f", as last heard {ago:.1f} s before" if lost == "receiver" else ""
                return (
                    f"first missing image: buffer {known.name} image {decided} (frame {buffer.frame_of(decided)}){when}"
                )
        return "no image is missing"

    @contextlib.asynccontextmanager
    async def _nodes_closed(self) -> AsyncIterator[None]:
        try:
            yield
        finally:
            for client in self._clients.values():
                await client.close()
            await asyncio.gather(*(local.close() for local in self._local.values()))

    def _tell(self, phase: str) -> None:
        elapsed = time.monotonic() - self._began if self._began else 0.0
        self._observer(
            Progress(phase, self._plan.file.run.frames, elapsed, self._last.get("emulator"), self._last.get("receiver"))
        )


_none: tuple[Endpoint, ...] = ()


def _counters(last: Mapping[str, Status]) -> object:
    """What changes as long as something happens."""
    source, destination = last["emulator"].source, last["receiver"].destination
    return (
        [(dtp.images_sent, dtp.packets) for dtp in source.dtps] if source else None,
        ([buffer.books for buffer in destination.buffers], destination.counts) if destination else None,
        [status.state for status in last.values()],
    )
