# SPDX-License-Identifier: Apache-2.0
"""The page's view of nodes, with fake engines in this process."""

import asyncio
from pathlib import Path

import httpx
import pytest

from rashpa.control.handover.journal import journal_of
from rashpa.control.nodes.node_client import NodeClient, NodeError
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.run.manager import Manager
from rashpa.control.telegrams.telegram import DestinationStatus, Status
from rashpa.dashboard.nodes import Going, Nodes
from rashpa.dashboard.views import SHORTEST_S, Views
from rashpa.dashboard.watch import Watch, _with_last_words
from rashpa.data.figures.view_bytes import bytes_of_view, view_of_bytes
from rashpa.node.state.node import Node
from rashpa.testing.fake_engine import FakeFactory
from rashpa.testing.in_process import transports_of
from rashpa.testing.waiting import eventually_in_loop

pytestmark = pytest.mark.whole

EXAMPLE = Path("examples/01_first_light.toml")


class InProcess(Nodes):
    """Holds the journal's nodes, which have no URL here."""

    def __init__(self, plan: Plan, transports: dict[str, httpx.AsyncBaseTransport]) -> None:
        super().__init__(plan, (), "", "")
        self._transports = transports

    def clients(self, going: Going | None) -> dict[str, NodeClient]:
        names = [known.name for known in going.record.nodes] if going is not None else []
        return {name: NodeClient(name, "http://node", transport=self._transports[name]) for name in names}


def _plan(folder: Path, frames: int = 400) -> Plan:
    text = (
        EXAMPLE.read_text()
        .replace('output = "out/demo"', f'output = "{folder}"')
        .replace("frames = 2400", f"frames = {frames}")
    )
    path = folder / "run.toml"
    path.write_text(text)
    return load_plan(path)


def test_a_run_is_seen_from_its_journal_while_it_lasts_and_its_last_words_stay(tmp_path: Path) -> None:
    plan = _plan(tmp_path)
    nodes = {
        "receiver": Node("r", "receiver", FakeFactory("receiver")),
        "emulator": Node("e", "emulator", FakeFactory("emulator")),
    }
    transports = transports_of(nodes)
    watch = Watch(InProcess(plan, transports))
    states: list[str] = []
    names: set[str] = set()

    async def work() -> None:
        await watch.look()
        assert watch.scene.state == "no run"
        manager = Manager(plan, transports=transports, journal=journal_of(plan))
        run = asyncio.create_task(manager.run())
        while not run.done():
            await watch.look()
            states.append(watch.scene.state)
            names.update(node.name for node in watch.scene.nodes)
            await asyncio.sleep(0.02)  # wait: between two looks, until the run has ended
        outcome = await run
        assert outcome.good
        await watch.look()
        await watch.close()

    asyncio.run(work())
    assert "running" in states
    assert names == {"receiver", "emulator"}
    assert watch.scene.state == "ended"
    assert not watch.scene.going
    assert {buffer.status.name for buffer in watch.scene.buffers} == {"full", "centre"}
    assert watch.course.curves


def test_nobody_is_asked_while_nobody_looks(tmp_path: Path) -> None:
    asked = 0

    class Counting(InProcess):
        def going(self) -> Going | None:
            nonlocal asked
            asked += 1
            return None

    async def work() -> None:
        watch = Watch(Counting(_plan(tmp_path), {}))
        await asyncio.sleep(0)  # wait: one turn
        assert asked == 0
        watch.join()
        await eventually_in_loop(lambda: asked)
        watch.leave()
        assert watch._task is not None
        await watch._task  # it ends by itself
        await watch.close()

    asyncio.run(work())


def test_a_node_that_is_gone_is_lost_with_its_last_words(tmp_path: Path) -> None:
    gone = False
    node = Node("r", "receiver", FakeFactory("receiver"))
    inner = transports_of({"receiver": node})["receiver"]

    class Killed(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            if gone:
                raise httpx.ConnectError("refused")
            return await inner.handle_async_request(request)

    class One(InProcess):
        def clients(self, going: Going | None) -> dict[str, NodeClient]:
            return {"receiver": NodeClient("receiver", "http://node", transport=Killed())}

    async def work() -> None:
        nonlocal gone
        watch = Watch(One(_plan(tmp_path), {}))
        await watch.look()
        assert [one.state for one in watch.scene.nodes] == ["idle"]
        gone = True
        await watch.look()
        (lost,) = watch.scene.nodes
        assert lost.state == "lost"
        assert lost.status is not None
        assert "cannot be reached" in lost.problem
        gone = False
        await watch.look()
        assert [one.state for one in watch.scene.nodes] == ["idle"]
        await watch.close()

    asyncio.run(work())


class _Client:
    """Returns a newer image each time, and every second time none."""

    url = "http://node"
    name = "r"

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def view(self, query: dict[str, str]) -> bytes | None:
        self.asked.append(query.get("after", ""))
        await asyncio.sleep(0)  # wait: one turn
        return bytes_of_view({"index": len(self.asked)}, {}) if len(self.asked) % 2 else None


QUERY = {"buffer": "full", "of": "accepted", "x": "0", "step": "1"}


def test_a_view_is_asked_for_so_often_and_no_more() -> None:
    async def work() -> list[str]:
        views, client = Views(), _Client()
        began = asyncio.get_running_loop().time()
        assert await views.newer(client, QUERY, None) is not None  # type: ignore[arg-type]
        assert await views.newer(client, QUERY, 1) is None  # type: ignore[arg-type]
        assert await views.newer(client, QUERY, 1) is not None  # type: ignore[arg-type]
        assert asyncio.get_running_loop().time() - began >= 1.5 * SHORTEST_S - 0.01
        return client.asked

    assert asyncio.run(work()) == ["", "1", "1"]


def test_pages_that_look_at_the_same_share_what_a_node_is_asked() -> None:
    async def work() -> list[str]:
        views, client = Views(), _Client()
        first, second = await asyncio.gather(*(views.newer(client, QUERY, None) for _ in range(2)))  # type: ignore[arg-type]
        assert first is second is not None
        await views.newer(client, {**QUERY, "x": "8"}, None)  # type: ignore[arg-type]
        return client.asked

    assert asyncio.run(work()) == ["", ""]


@pytest.mark.parametrize("encodes_s", [0.005, 1.5 * SHORTEST_S], ids=["quick", "slower than pages may ask"])
def test_fifty_viewers_cost_the_node_what_one_costs(encodes_s: float) -> None:
    class Encodes(_Client):
        async def view(self, query: dict[str, str]) -> bytes | None:
            self.asked.append(query.get("after", ""))
            await asyncio.sleep(encodes_s)  # wait: for a node that encodes
            return bytes_of_view({"index": len(self.asked)}, {})

    async def viewer(views: Views, client: _Client, images: int) -> list[bytes]:
        shown: list[bytes] = []
        index = None
        while len(shown) < images:
            content = await views.newer(client, QUERY, index)  # type: ignore[arg-type]
            assert content is not None
            index = int(view_of_bytes(content)[0]["index"])
            shown.append(content)
        return shown

    async def work() -> tuple[list[str], list[list[bytes]]]:
        views, client = Views(), Encodes()
        return client.asked, await asyncio.gather(*(viewer(views, client, 4) for _ in range(50)))

    asked, shown = asyncio.run(work())
    assert len(asked) <= 6, "each image is encoded once, not fifty times"
    assert all(images == shown[0] for images in shown)


def test_what_is_no_view_is_not_handed_on() -> None:
    class Liar(_Client):
        async def view(self, query: dict[str, str]) -> bytes | None:
            return b"<script>"

    with pytest.raises(NodeError, match="no view"):
        asyncio.run(Views().newer(Liar(), QUERY, None))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["/etc/passwd", "report.json"])
def test_a_journal_that_is_none_is_no_run(tmp_path: Path, name: str) -> None:
    plan = _plan(tmp_path)
    nodes = Nodes(plan, (), "", "")
    assert nodes.journal is not None
    assert nodes.going() is None
    nodes.journal.symlink_to(tmp_path / name)
    assert nodes.going() is None
    nodes.journal.unlink()
    nodes.journal.write_text('{"version": 1}')
    assert nodes.going() is None


@pytest.mark.parametrize("state", ["idle", "finished"])
def test_counters_stay_when_a_node_has_none_any_more_whatever_its_state_is(state: str) -> None:
    said = Status(
        node="r",
        role="receiver",
        state="running",
        destination=DestinationStatus(
            receiver="r", elapsed_s=1.0, memory="", first_incomplete="", counts=(), buffers=()
        ),
    )
    reset = Status(node="r", role="receiver", state=state)  # its engine is gone before it is idle
    assert _with_last_words(reset, said).destination == said.destination
    assert _with_last_words(reset, said).state == state
    assert _with_last_words(reset, None) == reset
    newer = Status(
        node="r",
        role="receiver",
        state="running",
        destination=DestinationStatus(
            receiver="r", elapsed_s=2.0, memory="", first_incomplete="", counts=(), buffers=()
        ),
    )
    assert _with_last_words(newer, said) == newer
