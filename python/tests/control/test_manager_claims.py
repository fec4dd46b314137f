# SPDX-License-Identifier: Apache-2.0
"""Two managers and one set of nodes."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from rashpa.control.books.outcome import Outcome
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.run.manager import Manager
from rashpa.control.telegrams import telegram, telegram_xml
from rashpa.node.state.node import Node
from rashpa.testing.fake_engine import FakeFactory
from rashpa.testing.in_process import transports_of
from rashpa.testing.run_file import run_file
from rashpa.testing.waiting import GUARD_S, eventually_in_loop

pytestmark = pytest.mark.whole


def run_text(name: str, frames: int, rate_hz: float) -> str:
    return run_file(
        run={"name": name, "frames": frames},
        detector={"width": 32, "height": 16, "rate_hz": rate_hz},
        receiver=[{"name": "one", "port": 0}, {"name": "other", "port": 0}],
        buffer=[
            {"name": "full", "sink": [{"kind": "null"}], "receiver": "one"},
            {"name": "centre", "sink": [{"kind": "null"}], "receiver": "other", "region": [8, 8, 16, 8]},
        ],
    )


NAMES = ("emulator", "one", "other")


def plan_of(folder: Path, name: str, frames: int = 20, rate_hz: float = 0.0) -> Plan:
    path = folder / f"{name}.toml"
    path.write_text(run_text(name=name, frames=frames, rate_hz=rate_hz))
    return load_plan(path)


def plan_at(urls: dict[str, str], folder: Path, name: str, frames: int) -> Plan:
    """Return the plan of a run with 50 frames/s, on running nodes."""
    path = plan_of(folder, name, frames, 50.0).source.path
    text = path.read_text() + f'[nodes]\nemulator = "{urls["emulator"]}"\n'
    for receiver in ("one", "other"):
        text = text.replace(f'name = "{receiver}"\n', f'name = "{receiver}"\nnode = "{urls[receiver]}"\n', 1)
    path.write_text(text)
    return load_plan(path)


class Jittered(httpx.AsyncBaseTransport):
    """Lets other tasks run, at random, before and after each telegram."""

    def __init__(self, inner: httpx.AsyncBaseTransport, dice: random.Random) -> None:
        self._inner = inner
        self._dice = dice

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await self._wait()
        answer = await self._inner.handle_async_request(request)
        await self._wait()
        return answer

    async def _wait(self) -> None:
        for _ in range(self._dice.choice((0, 1, 3, 20))):
            await asyncio.sleep(0)  # wait: so many turns


async def both(plans: list[Plan], seed: int) -> tuple[list[Outcome], dict[str, Node]]:
    nodes = {name: Node(name, "emulator" if name == "emulator" else "receiver", factory(name)) for name in NAMES}
    dice = random.Random(seed)
    managers = []
    for plan in plans:
        transports = {name: Jittered(inner, dice) for name, inner in transports_of(nodes).items()}
        managers.append(Manager(plan, transports=transports))
    return list(await asyncio.gather(*(manager.run() for manager in managers))), nodes


def factory(name: str) -> FakeFactory:
    return FakeFactory("emulator" if name == "emulator" else "receiver")


@pytest.mark.slow
def test_of_two_managers_at_once_one_is_refused_and_the_other_is_not_disturbed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rashpa.control.run.course._POLL_S", 0.001)
    plans = [plan_of(tmp_path, name) for name in ("red", "blue")]
    refused = 0
    for seed in range(40):
        outcomes, nodes = asyncio.run(both(plans, seed))
        assert any(outcome.good for outcome in outcomes), (seed, [outcome.problem for outcome in outcomes])
        for outcome, rival in zip(outcomes, ("blue", "red"), strict=True):
            if not outcome.good:  # the other may have ended before this one began
                refused += 1
                assert outcome.refused, seed
                assert f" belongs to run {rival} of " in outcome.problem, (seed, outcome.problem)
        assert {node.state for node in nodes.values()} == {"idle"}, seed
        assert {node.status().holder for node in nodes.values()} == {""}, seed
    assert refused > 20


@pytest.fixture
def urls() -> Iterator[dict[str, str]]:
    """Run nodes with fake engines and a lease of two seconds during the context; yield their URLs by the names of the run."""
    program = (
        "import sys; from rashpa.node.serve import Listen, serve_node; from rashpa.testing.fake_engine import FakeFactory; "
        "serve_node(sys.argv[1], sys.argv[2], FakeFactory(sys.argv[1]), Listen(lease_s=2.0), 'test')"
    )
    processes = []
    found = {}
    for name in NAMES:
        role = "emulator" if name == "emulator" else "receiver"
        process = subprocess.Popen(
            [sys.executable, "-m", "rashpa.testing.prepared.program", program, role, name],
            stdout=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
    try:
        for name, process in zip(NAMES, processes, strict=True):
            assert process.stdout is not None
            found[name] = str(json.loads(process.stdout.readline())["url"])
        yield found
    finally:
        for process in processes:
            process.terminate()
            process.communicate(timeout=GUARD_S)


def status_of(url: str) -> telegram.Status:
    body = telegram_xml.encode(telegram.GetStatus())
    answer = httpx.post(f"{url}/telegram", content=body, headers={"content-type": "application/xml"})
    status = telegram_xml.decode(answer.content)
    assert isinstance(status, telegram.Status)
    return status


def awaited(url: str, state: str) -> telegram.Status:
    deadline = time.monotonic() + 60.0
    while (status := status_of(url)).state != state:
        assert time.monotonic() < deadline, f"{url} stays {status.state}, not {state}"
    return status


def test_after_kill_9_of_a_manager_its_nodes_are_free_again(urls: dict[str, str], tmp_path: Path) -> None:
    plan = plan_at(urls, tmp_path, "endless", 1_000_000)
    program = (
        "import asyncio, sys; from pathlib import Path; from rashpa.control.run.manager import Manager; "
        "from rashpa.control.plan.run_plan import load_plan; asyncio.run(Manager(load_plan(Path(sys.argv[1]))).run())"
    )
    manager = subprocess.Popen(
        [sys.executable, "-m", "rashpa.testing.prepared.program", program, str(plan.source.path)]
    )
    try:
        assert awaited(urls["emulator"], "running").holder.startswith("run endless of ")
        others = asyncio.run(Manager(load_plan(plan.source.path)).run())
        assert others.refused
        assert " belongs to run endless of " in others.problem
        assert status_of(urls["emulator"]).state == "running"
    finally:
        os.kill(manager.pid, signal.SIGKILL)
        manager.wait()
    for url in urls.values():
        status = awaited(url, "idle")
        assert re_said(status.message)
        assert status.holder == ""
    assert asyncio.run(Manager(plan_at(urls, tmp_path, "short", 20)).run()).good


def re_said(message: str) -> bool:
    return message.startswith("run endless of ") and "was not heard for 2 s: its run is aborted" in message


def test_a_manager_whose_node_was_freed_by_force_says_so(tmp_path: Path) -> None:
    nodes = {name: Node(name, "emulator" if name == "emulator" else "receiver", factory(name)) for name in NAMES}

    async def run_and_free() -> Outcome:
        running = asyncio.create_task(
            Manager(plan_of(tmp_path, "endless", 1_000_000, 50.0), transports=transports_of(nodes)).run()
        )
        await eventually_in_loop(lambda: nodes["emulator"].state == "running")
        await nodes["one"].obey(telegram.Abort(force=True))
        await nodes["one"].obey(telegram.Reset(force=True))
        return await running

    outcome = asyncio.run(run_and_free())
    assert "receiver one is not this run's any more" in outcome.problem
    assert {node.status().holder for node in nodes.values()} == {""}


def test_a_run_that_takes_longer_than_the_lease_keeps_its_nodes(urls: dict[str, str], tmp_path: Path) -> None:
    outcome = asyncio.run(Manager(plan_at(urls, tmp_path, "long", 150)).run())
    assert outcome.good, outcome.problem
