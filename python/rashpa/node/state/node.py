# SPDX-License-Identifier: Apache-2.0
"""Implements a node without its transport: state, engine, and the answer to each telegram."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from typing import TypeVar

from rashpa.control.nodes.running_time import within
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.run_state import RunState, StateError, Transition, check_transition
from rashpa.control.telegrams.telegram import Configure, Fault, Status, Telegram
from rashpa.node.engine.engine import Engine, EngineError, EngineFactory, Table
from rashpa.node.engine.preview import Preview, Shown
from rashpa.node.logs.log import NodeLog
from rashpa.node.state.condition import Condition
from rashpa.node.state.configure_facts import modules_of, outside_kernels_of, overruns_of, parts_of
from rashpa.node.state.order_calls import OrderError, call_of, check_role
from rashpa.node.state.orphan import Orphan
from rashpa.node.state.ownership import Ownership

_log = logging.getLogger(__name__)
_WATCH_S = 0.1  # how long one wait of the watcher blocks its thread
_END_WATCH_S = 10.0  # for a wait that takes a tenth of a second
_LEASE_PARTS = 10  # how often the owner's silence is looked at in a lease
_T = TypeVar("_T")


class Node:
    """Runs one emulator or receiver. All methods are called on one event loop; engine calls run on threads, one order at a time. `lease_s`: the
    longest silence of an owner, in seconds; 0: unlimited."""

    def __init__(
        self, name: str, role: str, factory: EngineFactory, lease_s: float = 0.0, log: NodeLog | None = None
    ) -> None:
        self.name = name
        self.role = role
        self.log = log or NodeLog(node=name)
        self._events = self.log.logger
        self._ownership = Ownership(name, lease_s)
        self._lease: asyncio.Task[None] | None = None
        self._factory = factory
        self._engine: Engine | None = None
        self._condition = Condition(name, self._events)
        self._orders = asyncio.Lock()
        self._watcher: asyncio.Task[None] | None = None
        self._unwatched = False
        self._orphaned: telegram.Orphaned | None = None  # the fate of the run when its owner is gone
        self._orphan: Orphan | None = None
        self._freed = asyncio.Event()
        self._configuring = False

    @property
    def state(self) -> RunState:
        return self._condition.state

    @property
    def run(self) -> int | None:
        """Return the number of the run for which the node is configured, None without one."""
        return self._condition.run

    def hear_native(self) -> None:
        """Put the messages of native code into the log. Any thread may call it; the node does not call it itself."""
        self.log.hear(self._factory.take_log())

    def hear_printed(self, who: str, text: str) -> None:
        """Put a line that this process has printed into the log. Any thread may call it."""
        self.log.printed(who, text, self._condition.about)

    def capabilities(self, units: Sequence[str] = ()) -> telegram.Capabilities:
        return self._factory.capabilities(self.name, units)

    def status(self) -> Status:
        """Return the node's state and, once configured, its engine's counters."""
        counters = self._counters()
        source = counters if isinstance(counters, telegram.SourceStatus) else None
        destination = counters if isinstance(counters, telegram.DestinationStatus) else None
        return Status(
            node=self.name,
            role=self.role,
            state=self._condition.state.value,
            message=self._condition.message,
            holder=self._ownership.holder,
            source=source,
            destination=destination,
            notifications=self._condition.notifications,
            prepared=self._factory.prepared() if self._configuring else 0.0,
        )

    def _counters(self) -> telegram.SourceStatus | telegram.DestinationStatus | None:
        """Return the engine's counters, None without an engine. Also return None when the engine fails to give them; the node is then in fault, and
        can still be reset."""
        try:
            return self._engine.status() if self._engine is not None else None
        except Exception as error:  # noqa: BLE001  whatever it is, the node says it
            if self._condition.state is not RunState.fault:
                self._condition.enter_fault(f"{self.name}: the engine cannot say how far it is: {error}; send Reset")
            return None

    @property
    def holder(self) -> str:
        """Return the owner's name for people, empty for none."""
        return self._ownership.holder

    def is_owner(self, order: Telegram) -> bool:
        """Return True when the order comes from the node's owner, by its secret."""
        return isinstance(order, telegram.Order) and self._ownership.is_owner(order.owner)

    async def obey(self, order: Telegram) -> Telegram:
        """Carry out a telegram and return the answer: Capabilities, Configured, Status or Fault. It never raises."""
        try:
            match order:
                case telegram.GetCapabilities():
                    return self.capabilities(order.units)
                case telegram.GetStatus():
                    if self._ownership.is_owner(order.owner):
                        self._ownership.renew()
                    return self.status()
                case telegram.Trigger():
                    async with self._orders:
                        return await self._carry_out(order)
                case telegram.Notify():
                    self._condition.notify(order.what, f"{order.node}: {order.text}")
                    return self.status()
                case telegram.Order():
                    async with self._orders:
                        self._ownership.check(order)
                        return await self._carry_out(order)
                case _:
                    return self.fault("telegram", f"{type(order).__name__} is an answer; {self.name} takes orders")
        except StateError as error:
            why = self._condition.message if self._condition.state is RunState.fault else ""
            return self._refused(order, "state", f"{error} ({why})" if why else str(error))
        except (OrderError, EngineError) as error:
            return self._refused(order, error.code, str(error))
        except Exception as error:  # noqa: BLE001  the last guard of a server: says it, keeps answering
            _log.exception("%s failed", type(order).__name__)
            return self.fault(
                "internal", f"{self.name}: {type(order).__name__} failed: {type(error).__name__}: {error}"
            )

    def _refused(self, order: Telegram, code: str, text: str) -> Fault:
        self._events.warning(f"{type(order).__name__} is refused ({code}): {text}", extra=self._condition.about.extra)
        return self.fault(code, text)

    def fault(self, code: str, text: str) -> Fault:
        return Fault(node=self.name, state=self._condition.state.value, code=code, text=text)

    def table(self, name: str, key: str) -> Table:
        """Return a table of the engine, with one byte for each image. Raise KeyError for an unknown name."""
        if self._engine is None:
            raise KeyError(f"{self.name} is {self._condition.state}; there are no books yet")
        return self._engine.table(name, key)

    def preview(self, key: str, of: Shown = "accepted") -> Preview | None:
        """Return a recent accepted image and request a new copy; with another `of`, return the first image of that kind in the run. Raise KeyError
        for an unknown buffer."""
        if self._engine is None:
            raise KeyError(f"{self.name} is {self._condition.state}; there are no images yet")
        return self._engine.preview(key, of)

    async def close(self) -> None:
        """End the engine and release everything, within the deadlines of Abort and Reset."""
        async with self._orders:
            await self._reset()
            if self._lease is not None:
                self._lease.cancel()

    async def outlive_owner(self, lease_s: float) -> None:
        """Continue without the owner and return when the node is free. That is at once unless the run may go on without its owner; then it is after
        the run's end and the time for which its books are kept. A new owner has the lease `lease_s`."""
        self._freed.clear()
        if not self._goes_on:
            return
        self._ownership.lose(lease_s)
        self._begin_lease()
        await self._freed.wait()

    @property
    def goes_on(self) -> bool:
        """Return True when the run has begun and may go on without its owner."""
        return self._goes_on and self._ownership.owned

    # ---- orders -----------------------------------------------------------------------------------------------------------------

    async def _carry_out(self, order: Telegram) -> Telegram:
        name = type(order).__name__
        forced = isinstance(order, telegram.Abort | telegram.Reset) and order.force
        whose = f" of {self._ownership.holder}" if self._ownership.owned else ""
        if isinstance(order, telegram.Claim):
            return await self._claim(order)
        transition = check_transition(self.name, self._condition.state, name)
        if isinstance(order, telegram.Reset):
            about = self._condition.about
            await self._reset()
            self._events.info(
                f"Reset{', forced' if forced else ''}: the node{whose} is idle, and nobody's", extra=about.extra
            )
            return self.status()
        if isinstance(order, Configure):
            return await self._configure(order, transition)
        check_role(self.name, self.role, order)
        engine = self._engine
        if engine is None:
            raise OrderError("internal", f"{self.name} is {self._condition.state} without an engine; send Reset")
        if isinstance(order, telegram.Stop) and self._condition.state is RunState.finished:
            return self.status()
        if isinstance(order, telegram.Join):
            return await self._join(order, engine, transition)
        await self._bounded(name, transition, call_of(order, engine))
        stays = isinstance(order, telegram.Resend | telegram.Feed | telegram.HoldDeadlines | telegram.SetLimits)
        if not stays and (self._condition.state is not RunState.finished or isinstance(order, telegram.Abort)):
            self._condition.state = transition.target
        if isinstance(order, telegram.Start):
            self._unwatched = False
            self._watcher = asyncio.create_task(self._watch(engine))
        if isinstance(order, telegram.Abort):
            self._condition.message = "aborted"
            await self._end_watch()
        self._events.info(
            f"{name}{', forced' if forced else ''}: the node{whose} is {self._condition.state}",
            extra=self._condition.about.extra,
        )
        return self.status()

    async def _join(self, order: telegram.Join, engine: Engine, transition: Transition) -> Telegram:
        ends = await self._bounded("Join", transition, lambda: engine.join(order))
        self._events.info(
            f"Join: {order.member.name} is a member of group {order.group}", extra=self._condition.about.extra
        )
        return telegram.Configured(node=self.name, endpoints=ends)

    async def _configure(self, order: Configure, transition: Transition) -> Telegram:
        if (order.source is None) == (self.role == "emulator"):
            raise OrderError(
                "config",
                f"{self.name} is {self.role}; it cannot be configured as {'receiver' if order.destination else 'emulator'}",
            )
        self._condition.clear()
        claimed = bool(order.owner) and not self._ownership.owned
        if claimed:
            self._own(order.owner, f"run {order.name}")
        self.log.know_modules(modules_of(order))
        self.log.know_printers(outside_kernels_of(order))
        self._configuring = True
        try:
            self._engine = await self._bounded("Configure", transition, lambda: self._factory.make(order))
        except Exception:
            if claimed:
                self._ownership.free()
            raise
        finally:
            self._configuring = False
        self._condition.state = transition.target
        self._orphaned = order.orphaned
        self._condition.run = order.run
        self._events.info(
            f"Configure: run {order.name}, number {order.run}, {parts_of(order)}", extra=self._condition.about.extra
        )
        return self._engine.configured(self.name)

    async def _claim(self, order: telegram.Claim) -> Telegram:
        if not order.owner:
            raise OrderError("telegram", f"{self.name}: Claim needs an owner")
        if not self._ownership.owned:
            check_transition(self.name, self._condition.state, "Claim")
            if self._condition.state is not RunState.idle:  # the rest of an earlier run
                await self._reset()
            self._own(order.owner, order.holder)
            self._events.info(f"Claim: the node belongs to {order.holder}")
        elif order.holder != self._ownership.holder:
            self._ownership.take(order.owner, order.holder)
            self._end_orphan()
            self._events.info(f"Claim: {order.holder} has taken the run over", extra=self._condition.about.extra)
        return self.status()

    def _own(self, owner: str, holder: str) -> None:
        self._ownership.take(owner, holder)
        self._begin_lease()

    def _begin_lease(self) -> None:
        if self._ownership.lease_s > 0 and (self._lease is None or self._lease.done()):
            self._lease = asyncio.create_task(self._watch_lease())

    async def _bounded(self, name: str, transition: Transition, call: Callable[[], _T]) -> _T:
        """Run an engine's call on a thread. When it does not end in time, put the node into fault and raise OrderError."""
        try:
            async with within(transition.deadline_s):
                return await asyncio.to_thread(call)
        except TimeoutError:
            text = f"{self.name}: {name} did not end within {transition.deadline_s:g} s; restart the node"
            self._condition.enter_fault(text)
            raise OrderError("deadline", text) from None

    async def _reset(self) -> None:
        self._ownership.free()
        self._orphaned = self._orphan = None
        self._freed.set()
        await self._end_watch()
        engine, self._engine = self._engine, None
        if engine is not None:
            # an engine that does not stop in time is left to its threads; the node says so and stays usable for a look
            await self._bounded("Reset", check_transition(self.name, self._condition.state, "Reset"), engine.abort)
        del engine  # sockets, memory and files go with the last reference
        self._condition.state = RunState.idle
        self._condition.run = None
        self._condition.clear()

    # ---- what happens by itself -------------------------------------------------------------------------------------------------

    async def _watch(self, engine: Engine) -> None:
        """Wait for the end of the run, and note the end, overruns, and failures of the engine."""
        try:
            overruns = 0
            while not await asyncio.to_thread(engine.wait, _WATCH_S):
                if self._unwatched:
                    return
                if not overruns and (overruns := overruns_of(engine.status())):
                    self._condition.notify(
                        "overrun", f"{overruns} images of DTPs came while their slot was not free, and more may"
                    )
        except Exception as error:  # noqa: BLE001  whatever the engine threw, the node is in fault and says so
            self._condition.enter_fault(f"{self.name}: the engine failed: {error}", error)
            return
        self._condition.state = RunState.finished
        counters = engine.status()
        if isinstance(counters, telegram.DestinationStatus):
            if counters.first_incomplete:
                self._condition.notify("incomplete", counters.first_incomplete)
            if overruns := overruns_of(counters):
                self._condition.notify("overrun", f"{overruns} images of DTPs came while their slot was not free")
        self._condition.notify("finished", f"after {counters.elapsed_s:.3f} s")

    async def _watch_lease(self) -> None:
        """Free the node when its owner has been silent for the lease, unless the run goes on without it. Files are completed as by Abort."""
        part_s = self._ownership.lease_s / _LEASE_PARTS
        while self._ownership.owned:
            await asyncio.sleep(part_s)
            if self._orders.locked():  # an order of the owner is carried out; it is heard when it has its answer
                if not self._ownership.abandoned:
                    self._ownership.renew()
                continue
            self._ownership.pass_time(part_s)
            if self._ownership.abandoned:
                async with self._orders:
                    await self._look_after_abandoned(part_s)
            else:
                self._end_orphan()
            part_s = self._ownership.lease_s / _LEASE_PARTS

    async def _look_after_abandoned(self, seconds: float) -> None:
        if not self._ownership.abandoned:  # it was heard while this waited
            return
        silent = f"{self._ownership.holder} {self._ownership.silence}"
        if not self._goes_on:
            await self._end_abandoned(f"{silent}: its run is aborted, the node is free")
            return
        if self._orphan is None and self._orphaned is not None:
            self._orphan = Orphan(self._orphaned)
            kept = f"its books are kept {self._orphaned.keep_s:g} s for `rashpa attach`"
            self._condition.message = f"{silent}: the run goes on to its end, and {kept}"
            self._events.warning(self._condition.message, extra=self._condition.about.extra)
            await self._carry_out_if_possible(telegram.HoldDeadlines(held=False))  # nobody else would say so any more
        step = self._orphan.next_step(self.status(), seconds) if self._orphan is not None else "wait"
        if step == "free":
            await self._end_abandoned(f"{silent}, and nobody has asked for the books of its run: the node is free")
        elif step != "wait":
            orders: dict[str, Telegram] = {
                "resume": telegram.Resume(),
                "stop": telegram.Stop(),
                "abort": telegram.Abort(),
            }
            await self._carry_out_if_possible(orders[step])

    async def _carry_out_if_possible(self, order: Telegram) -> None:
        with contextlib.suppress(OrderError, EngineError, StateError):  # the next look sees what became of it
            await self._carry_out(order)

    @property
    def _goes_on(self) -> bool:
        began = (RunState.running, RunState.paused, RunState.finished)
        return self._orphaned is not None and (self._condition.state in began or self._orphan is not None)

    async def _end_abandoned(self, text: str) -> None:
        self._events.warning(text, extra=self._condition.about.extra)
        with contextlib.suppress(OrderError):  # the node is then in fault, and says so
            await self._reset()
            self._condition.message = text

    def _end_orphan(self) -> None:
        """End the mode without an owner, because the owner or a new owner sends orders again."""
        if self._orphan is not None:
            self._orphan = None
            self._condition.message = "" if self._condition.state is not RunState.fault else self._condition.message

    async def _end_watch(self) -> None:
        # not cancelled: its thread must have left the engine before the engine's sockets and memory can go
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            self._unwatched = True
            ended, _ = await asyncio.wait({watcher}, timeout=_END_WATCH_S)
            if not ended:
                self._watcher = watcher
                text = f"{self.name}: the engine does not answer for {_END_WATCH_S:g} s; restart the node"
                self._condition.enter_fault(text)
                raise OrderError("deadline", text)
