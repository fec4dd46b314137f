# SPDX-License-Identifier: Apache-2.0
"""The nodes of a run: which ones are started, the secrets for connecting to them, their leases, and their ends."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from rashpa.control.nodes.launcher import LocalLauncher, RunCertificate
from rashpa.control.nodes.local_node import LocalNode
from rashpa.control.nodes.node_client import NodeClient, NodeError
from rashpa.control.orders.grant import Grant
from rashpa.control.plan.model import Plan
from rashpa.control.plan.planned_node import PlannedNode
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.run import run_nodes as run_nodes_module
from rashpa.control.run.run_nodes import RunNodes
from rashpa.control.telegrams import telegram
from rashpa.testing.run_file import run_file
from rashpa.testing.scripted_client import HOLDER, ScriptedClient, silent
from rashpa.testing.waiting import GUARD_S

URL = "http://127.0.0.1:9"


class Process:
    """Holds a node that was started. `ends`: how it has ended."""

    def __init__(self, label: str = "", ends: str = "") -> None:
        self.name, self.url, self.pid, self.ends = label, f"http://{label.replace(' ', '-')}:1", 7, ends
        self.waits: list[float] = []
        self.did: list[str] = []

    async def ended(self, within_s: float = 0.5) -> str:
        self.waits.append(within_s)
        return self.ends

    def kill(self) -> None:
        self.did.append("kill")

    async def close(self) -> None:
        self.did.append("close")


class Started:
    """Replaces LocalNode.start. `calls`: label, command, grant and patience of each start."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Sequence[str], Grant, float]] = []

    async def start(self, name: str, command: Sequence[str], grant: Grant, ready_s: float) -> Process:
        self.calls.append((name, command, grant, ready_s))
        return Process(name)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Started:
    found = Started()
    monkeypatch.setattr(LocalNode, "start", found.start)
    return found


def words(role: str, name: str) -> tuple[str, ...]:
    return ("a", role, name)


def plan_of(folder: Path, **nodes: str) -> Plan:
    path = folder / "run.toml"
    path.write_text(run_file(nodes=nodes) if nodes else run_file())
    return load_plan(path)


def node_of(plan: Plan, name: str) -> PlannedNode:
    return next(node for node in plan.nodes if node.name == name)


def headers(client: NodeClient) -> httpx.Headers:
    return client._http.headers


class TestConnect:
    def test_nodes_without_a_url_are_started_and_reached_with_the_secret_of_the_run(
        self, tmp_path: Path, started: Started, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        prepared: list[bool] = []
        monkeypatch.setattr(run_nodes_module, "get_ready", lambda: prepared.append(True))
        plan = plan_of(tmp_path, receiver=URL, token="of-the-nodes")
        nodes = RunNodes(LocalLauncher(words, 12.0), "of-the-nodes", {})
        asyncio.run(nodes.connect(plan))
        ((label, command, grant, ready_s),) = started.calls
        assert (label, command, ready_s) == ("emulator", ("a", "emulator", "emulator"), 12.0)
        assert grant.token == nodes.local_token
        assert (grant.certificate, grant.key) == ("", "")
        assert set(nodes.local) == {"emulator"}
        assert prepared == [True], "meanwhile the manager imports its needs"
        emulator, receiver = nodes.clients["emulator"], nodes.clients["receiver"]
        assert (emulator.url, headers(emulator)["authorization"]) == (
            "http://emulator:1",
            f"Bearer {nodes.local_token}",
        )
        assert (receiver.url, headers(receiver)["authorization"]) == (URL, "Bearer of-the-nodes")
        assert emulator._owner == receiver._owner == nodes.owner
        assert len(nodes.owner) == 32
        assert nodes.owner != RunNodes(LocalLauncher(), "", {}).owner

    def test_nothing_is_started_where_all_nodes_have_a_url_or_are_in_this_process(
        self, tmp_path: Path, started: Started, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        prepared: list[bool] = []
        monkeypatch.setattr(run_nodes_module, "get_ready", lambda: prepared.append(True))
        plan = plan_of(tmp_path, receiver=URL)
        nodes = RunNodes(LocalLauncher(), "", {"emulator": httpx.MockTransport(lambda _: httpx.Response(200))})
        asyncio.run(nodes.connect(plan))
        assert (started.calls, prepared, nodes.local) == ([], [], {})
        assert nodes.clients["emulator"].url == "http://node"
        assert "authorization" not in headers(nodes.clients["receiver"])

    def test_nodes_on_other_machines_have_the_certificate_of_the_run_and_its_key(
        self, tmp_path: Path, started: Started, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        trusted: list[Any] = []

        class Client(NodeClient):
            def __init__(self, *args: Any, **keys: Any) -> None:
                trusted.append(keys.pop("trusted", None))
                super().__init__(*args, **keys)

        monkeypatch.setattr(run_nodes_module, "NodeClient", Client)
        monkeypatch.setattr(RunCertificate, "context", lambda self: f"trusts {self.certificate}")
        nodes = RunNodes(LocalLauncher(words, certificate=RunCertificate("PEM", "a secret")), "", {})
        asyncio.run(nodes.connect(plan_of(tmp_path)))
        assert {(grant.certificate, grant.key) for _, _, grant, _ in started.calls} == {("PEM", "a secret")}
        assert trusted == ["trusts PEM", "trusts PEM"]
        trusted.clear()
        asyncio.run(RunNodes(LocalLauncher(words), "", {}).connect(plan_of(tmp_path)))
        assert trusted == [None, None]


class Reached:
    """Holds nodes with scripted clients."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.nodes = RunNodes(LocalLauncher(words), "", {})
        self.client = ScriptedClient("receiver", "receiver", holder="")
        self.claims: list[str] = []
        self.client.hear = self._hear
        self.closed = 0
        monkeypatch.setattr(self.nodes, "_client_of", lambda plan, node: self.client)
        monkeypatch.setattr(self.client, "close", self._close)

    def _hear(self, order: telegram.Telegram) -> None:
        if isinstance(order, telegram.Claim):
            self.claims.append(order.holder)

    async def _close(self) -> None:
        self.closed += 1


class TestOneMore:
    @pytest.fixture
    def reached(self, monkeypatch: pytest.MonkeyPatch) -> Reached:
        return Reached(monkeypatch)

    def test_a_node_that_joins_is_started_claimed_and_kept(
        self, tmp_path: Path, started: Started, reached: Reached
    ) -> None:
        plan, nodes = plan_of(tmp_path), reached.nodes
        receiver = node_of(plan, "receiver")

        async def check() -> None:
            assert await nodes.reach(plan, receiver, HOLDER) is reached.client
            assert [call[0] for call in started.calls] == ["receiver"]
            assert reached.claims == [HOLDER]
            renewal = nodes._renewals["receiver"]
            assert not renewal.done()
            process = nodes.local["receiver"]
            await nodes.let_go(receiver, reached.client)
            assert reached.client.orders == ["Claim", "Reset"]
            assert (nodes._renewals, nodes.local, reached.closed) == ({}, {}, 1)
            assert isinstance(process, Process)
            assert process.did == ["close"]
            await asyncio.wait([renewal])
            assert renewal.cancelled()

        asyncio.run(check())

    def test_one_with_a_url_is_not_started(self, tmp_path: Path, started: Started, reached: Reached) -> None:
        plan = plan_of(tmp_path, receiver=URL)

        async def check() -> None:
            await reached.nodes.reach(plan, node_of(plan, "receiver"), HOLDER)
            reached.client.fails["Reset"] = silent("receiver")
            with pytest.raises(NodeError):
                await reached.nodes.let_go(node_of(plan, "receiver"), reached.client)

        asyncio.run(check())
        assert (started.calls, reached.closed) == ([], 1)

    def test_one_that_refuses_ends_again(self, tmp_path: Path, started: Started, reached: Reached) -> None:
        plan, nodes = plan_of(tmp_path), reached.nodes
        reached.client.fails["Claim"] = NodeError("receiver", "it belongs to another", "state")
        with pytest.raises(NodeError, match="belongs to another"):
            asyncio.run(nodes.reach(plan, node_of(plan, "receiver"), HOLDER))
        assert len(started.calls) == 1
        assert (nodes._renewals, nodes.local, reached.closed) == ({}, {}, 1)

    def test_one_that_is_not_kept_yet_can_be_let_go(self, tmp_path: Path, reached: Reached) -> None:
        plan = plan_of(tmp_path, receiver=URL)
        asyncio.run(reached.nodes.let_go(node_of(plan, "receiver"), reached.client))
        assert (reached.client.orders, reached.closed) == (["Reset"], 1)


class TestLeases:
    """Leases with a clock that stays at 100 s, and sleeps that take no time."""

    def renewed(
        self, monkeypatch: pytest.MonkeyPatch, heard: float, clients: int = 1, part: float = 0.0, fails: bool = False
    ) -> tuple[list[float], int]:
        """Return the sleeps of a renewal up to the fourth one, and the number of requests to the node."""
        slept: list[float] = []
        asked: list[bool] = []

        async def sleep(seconds: float) -> None:  # wait: it takes no time
            slept.append(seconds)
            if len(slept) == 4:
                raise asyncio.CancelledError

        monkeypatch.setattr(run_nodes_module, "time", SimpleNamespace(monotonic=lambda: 100.0))
        monkeypatch.setattr(run_nodes_module, "asyncio", SimpleNamespace(sleep=sleep))
        nodes = RunNodes(LocalLauncher(), "", {})
        client = ScriptedClient("receiver", "receiver")

        async def status() -> telegram.Status:
            asked.append(True)
            if fails:
                raise silent("receiver")
            return client.status_now

        monkeypatch.setattr(client, "status", status)
        nodes.clients.update({f"node {number}": client for number in range(clients)})
        nodes._heard = {"receiver": heard}
        with pytest.raises(asyncio.CancelledError):
            asyncio.run(nodes._renew("receiver", client, part))
        return slept, len(asked)

    def test_a_node_that_nobody_has_asked_for_a_second_is_asked(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.renewed(monkeypatch, heard=98.9) == ([0.0, 1.0, 1.0, 1.0], 2)
        assert self.renewed(monkeypatch, heard=99.0)[1] == 0, "its status was asked for by the run"

    def test_nodes_are_not_asked_all_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.renewed(monkeypatch, heard=0.0, part=0.25)[0] == [0.25, 1.0, 1.0, 1.0]

    @pytest.mark.parametrize(("clients", "every"), [(50, 1.0), (100, 2.0), (150, 3.0), (1000, 3.0)])
    def test_many_nodes_are_asked_less_often_and_often_enough_for_their_leases(
        self, monkeypatch: pytest.MonkeyPatch, clients: int, every: float
    ) -> None:
        assert self.renewed(monkeypatch, heard=0.0, clients=clients)[0] == [0.0, every, every, every]

    def test_a_silent_node_is_asked_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.renewed(monkeypatch, heard=0.0, fails=True)[1] == 2

    def test_leases_are_kept_for_the_time_of_the_context(self, monkeypatch: pytest.MonkeyPatch) -> None:
        parts: dict[str, float] = {}
        began = asyncio.Event()

        async def renew(name: str, client: NodeClient, part: float) -> None:
            parts[name] = part
            if len(parts) == 4:
                began.set()
            if name == "node 3":
                raise ValueError("a bug")
            await asyncio.Event().wait()

        nodes = RunNodes(LocalLauncher(), "", {})
        nodes.clients.update({f"node {number}": ScriptedClient(f"node {number}", "receiver") for number in range(4)})
        monkeypatch.setattr(nodes, "_renew", renew)
        heard = {"node 0": 1.0}

        async def check() -> None:
            async with nodes.renewed(heard):
                await asyncio.wait_for(began.wait(), GUARD_S)
                assert nodes._heard is heard
                tasks = list(nodes._renewals.values())
            assert [task.cancelled() for task in tasks] == [True, True, True, False]

        asyncio.run(check())
        assert parts == {"node 0": 0.0, "node 1": 0.25, "node 2": 0.5, "node 3": 0.75}


class TestEnds:
    def nodes(self, **processes: Process) -> RunNodes:
        nodes = RunNodes(LocalLauncher(), "", {})
        nodes.local.update(processes)  # type: ignore[arg-type]
        return nodes

    def test_all_processes_are_killed_or_closed(self) -> None:
        one, other = Process(), Process()
        nodes = self.nodes(one=one, other=other)
        nodes.kill()
        asyncio.run(nodes.close())
        assert one.did == other.did == ["kill", "close"]

    def test_a_connection_that_does_not_close_delays_the_others_for_a_bounded_time(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(run_nodes_module, "_CLOSE_S", 0.05)
        closed: list[str] = []

        def closing(name: str) -> Callable[[], Any]:
            async def close() -> None:
                if name == "one":
                    await asyncio.Event().wait()
                closed.append(name)

            return close

        nodes = self.nodes(one=(process := Process()))
        for name in ("one", "other"):
            nodes.clients[name] = ScriptedClient(name, "receiver")
            monkeypatch.setattr(nodes.clients[name], "close", closing(name))
        asyncio.run(nodes.close())
        assert (closed, process.did) == (["other"], ["close"])

    @pytest.mark.parametrize(
        ("name", "lost", "ends", "says"),
        [
            ("own", True, "own was killed", "own was killed"),
            ("own", True, "", "own does not answer"),
            ("own", False, "own was killed", "own refuses"),
            ("other", True, "own was killed", "own does not answer"),
        ],
    )
    def test_the_end_of_a_process_is_the_reason_why_it_does_not_answer(
        self, name: str, lost: bool, ends: str, says: str
    ) -> None:
        error = silent("own") if lost else NodeError("own", "own refuses", "state")
        nodes = self.nodes(own=Process("own", ends))
        assert asyncio.run(nodes.reason_of(error, name)) == says

    def test_the_first_process_that_has_ended_is_named(self) -> None:
        first, second = Process("first"), Process("second", "second was killed")
        nodes = self.nodes(first=first, second=second, third=Process("third", "third was killed"))
        assert asyncio.run(nodes.gone()) == "second was killed"
        assert first.waits == second.waits == [0.05], "a moment each"
        assert asyncio.run(self.nodes(first=first).gone()) == ""
