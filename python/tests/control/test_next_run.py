# SPDX-License-Identifier: Apache-2.0
"""A single fault anywhere: the run ends in bounded time and names the cause; the next run works on the same nodes without a restart."""

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from rashpa.control.books.outcome import Outcome, modules_behind
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.run.manager import Manager
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.run_state import TRANSITIONS, Transition
from rashpa.node.engine.engine import EngineError
from rashpa.node.state.node import Node
from rashpa.testing.fake_engine import FakeFactory
from rashpa.testing.in_process import transports_of
from rashpa.testing.run_file import run_file
from rashpa.testing.waiting import eventually_in_loop

pytestmark = pytest.mark.whole

RUN = run_file(
    run={"name": "again", "frames": 40},
    detector={"width": 32, "height": 16, "rate_hz": 200.0, "module": [{"x": 0, "y": 0}, {"x": 0, "y": 16}]},
    dataset={"modules": 2},
)
ROLES = ("emulator", "receiver")
SECONDS = 60.0  # for a run of 0.2 s with a fault: shortened deadlines, and a machine that has other things to do


def refuse(*_: object, **__: object) -> None:
    raise EngineError("resource", "the fault of this test: no memory; try less")


def fail(*_: object, **__: object) -> None:
    raise OSError("the fault of this test")


class Faulty(FakeFactory):
    """Replaces `method` of the first engine by `fault`; later engines are unchanged."""

    def __init__(self, role: str, method: str = "", fault: Callable[..., Any] | None = None) -> None:
        super().__init__(role)
        self._method = method
        self._fault = fault

    def make(self, order: telegram.Configure):  # type: ignore[no-untyped-def]
        fault, self._fault = self._fault, None
        if fault is not None and self._method == "make":
            fault()
        engine = super().make(order)
        if fault is not None:
            setattr(engine, self._method, fault)
        return engine


def plan_of(tmp_path: Path) -> Plan:
    path = tmp_path / "run.toml"
    path.write_text(RUN)
    return load_plan(path)


def run_twice(plan: Plan, nodes: dict[str, Node], between: Callable[[], None] = lambda: None) -> Outcome:
    """Return the first run's outcome; the second run, after `between`, must be good."""

    async def both() -> Outcome:
        began = time.monotonic()
        first = await Manager(plan, transports=transports_of(nodes)).run()
        assert time.monotonic() - began < SECONDS
        between()
        second = await Manager(plan, transports=transports_of(nodes)).run()
        assert second.good, (first.problem, second.problem, second.reasons)
        assert {node.state for node in nodes.values()} == {"idle"}
        assert {node.holder for node in nodes.values()} == {""}
        return first

    return asyncio.run(both())


def nodes_with(role: str, method: str, fault: Callable[..., Any]) -> dict[str, Node]:
    return {one: Node(one, one, Faulty(one, method, fault) if one == role else FakeFactory(one)) for one in ROLES}


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, known in TRANSITIONS.items():
        monkeypatch.setitem(TRANSITIONS, name, Transition(known.sources, known.target, 4.0))
    monkeypatch.setattr("rashpa.control.run.course._POLL_S", 0.02)
    monkeypatch.setattr("rashpa.node.state.node._END_WATCH_S", 1.0)
    monkeypatch.setattr("rashpa.control.plan.patience._STALL_S", 1.5)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("method", ["make", "arm", "start"])
@pytest.mark.parametrize("fault", [refuse, fail])
def test_what_an_engine_refuses_is_said_and_the_next_run_works(
    tmp_path: Path, role: str, method: str, fault: Callable[..., Any]
) -> None:
    outcome = run_twice(plan_of(tmp_path), nodes_with(role, method, fault))
    assert not outcome.good
    assert "the fault of this test" in outcome.problem


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("method", ["wait", "status", "table"])
def test_an_engine_that_fails_while_it_runs_is_named_and_the_next_run_works(
    tmp_path: Path, role: str, method: str
) -> None:
    outcome = run_twice(plan_of(tmp_path), nodes_with(role, method, fail))
    assert not outcome.good
    assert role in outcome.problem
    assert "the fault of this test" in outcome.problem or "table" in outcome.problem


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("method", ["make", "arm", "start"])
def test_an_engine_that_hangs_is_given_up_by_its_deadline_and_the_next_run_works(
    tmp_path: Path, role: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = threading.Event()
    order = {"make": "Configure", "arm": "Arm", "start": "Start"}[method]
    known = TRANSITIONS[order]
    monkeypatch.setitem(TRANSITIONS, order, Transition(known.sources, known.target, 1.0))

    def release() -> None:
        """Release hanging calls and restore the deadline, both of which are for the first run only."""
        released.set()
        monkeypatch.setitem(TRANSITIONS, order, known)

    try:
        # it hangs until the first run has ended
        nodes = nodes_with(role, method, lambda *_: released.wait(2 * SECONDS))
        outcome = run_twice(plan_of(tmp_path), nodes, release)
    finally:
        released.set()
    assert f"{role}: {order} did not end within 1 s" in outcome.problem


def test_modules_of_which_less_has_come_than_of_others_are_what_an_image_waits_for() -> None:
    def of(module: int, complete: int, missing: int) -> telegram.DestinationDtpStatus:
        return telegram.DestinationDtpStatus(
            id=module, module=module, expected=40, complete=complete, partial=0, missing=missing, lines_missing=0
        )

    def buffer(*dtps: telegram.DestinationDtpStatus) -> telegram.BufferStatus:
        return telegram.BufferStatus(
            name="full",
            sink_error="",
            unit="",
            unit_error="",
            bytes_written=0,
            bytes_stored=0,
            books=telegram.Books(),
            dtps=dtps,
        )

    assert modules_behind(buffer(of(0, 9, 1), of(1, 9, 0), of(2, 8, 2), of(3, 0, 0))) == (1, 3)
    assert modules_behind(buffer(of(0, 9, 1), of(1, 10, 0))) == ()
    assert modules_behind(buffer()) == ()


class Unreachable(httpx.AsyncBaseTransport):
    """Answers `good` requests; then `fails` requests are lost."""

    def __init__(self, inner: httpx.AsyncBaseTransport, good: int, error: type[httpx.TransportError]) -> None:
        self._inner = inner
        self._good = good
        self._error = error

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self._good -= 1
        if self._good < 0:
            raise self._error("the fault of this test", request=request)
        return await self._inner.handle_async_request(request)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("good", [0, 1, 2, 3, 4, 6])
def test_a_node_that_is_cut_off_at_any_step_is_named_and_serves_the_next_run_when_its_lease_is_over(
    tmp_path: Path, role: str, good: int
) -> None:
    nodes = {one: Node(one, one, FakeFactory(one), lease_s=0.4) for one in ROLES}
    transports = transports_of(nodes)
    transports[role] = Unreachable(transports[role], good, httpx.ConnectError)
    plan = plan_of(tmp_path)

    async def cut_off() -> Outcome:
        first = await Manager(plan, transports=transports).run()
        await eventually_in_loop(lambda: not any(node.holder for node in nodes.values()))
        second = await Manager(plan, transports=transports_of(nodes)).run()
        assert second.good, (first.problem, second.problem)
        for node in nodes.values():
            await node.close()
        return first

    outcome = asyncio.run(cut_off())
    assert f"{role} at http://node cannot be reached" in outcome.problem


def test_an_answer_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    from rashpa.control.nodes.node_client import NodeClient, NodeError

    class Trickle(httpx.AsyncByteStream):
        async def __aiter__(self):  # type: ignore[no-untyped-def]
            while True:
                await asyncio.sleep(0.01)  # wait: so slowly does it answer
                yield b" "

    async def ask() -> None:
        transport = httpx.MockTransport(lambda _: httpx.Response(200, stream=Trickle()))
        client = NodeClient("receiver", "http://node", transport=transport)
        try:
            await client.status()
        finally:
            await client.close()

    monkeypatch.setattr("rashpa.control.nodes.node_client._SILENCE_S", 0.2)
    with pytest.raises(NodeError, match="did not answer in time"):
        asyncio.run(ask())
