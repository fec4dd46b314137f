# SPDX-License-Identifier: Apache-2.0
import asyncio

import httpx
import pytest

from rashpa.control.nodes.node_client import NodeClient, NodeError
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram_xml import decode
from rashpa.node.door.access import Access
from rashpa.node.door.request_limits import Rate, RequestLimits
from rashpa.node.door.server import NodeApp
from rashpa.node.state.node import Node
from rashpa.testing.fake_engine import FakeFactory

pytestmark = pytest.mark.whole


def test_a_burst_is_answered_and_then_so_many_a_second() -> None:
    now = [0.0]
    limits = RequestLimits(Rate(10.0, 5.0), Rate(100.0, 50.0), lambda: now[0])
    assert [limits.wait_s("a", False) for _ in range(5)] == [0.0] * 5
    assert limits.wait_s("a", False) == pytest.approx(0.1)
    assert limits.wait_s("b", False) == 0.0, "another address"
    assert limits.wait_s("a", True) == 0.0, "who may give orders"
    answered = 0
    for _ in range(1000):
        now[0] += 0.01
        answered += limits.wait_s("a", False) == 0.0
    assert answered == pytest.approx(100, abs=1)


def test_any_number_of_addresses_takes_bounded_memory() -> None:
    limits = RequestLimits(clock=lambda: 0.0)
    for number in range(5000):
        limits.wait_s(str(number), False)
    assert len(limits._left) <= 1024


def transport(limits: RequestLimits) -> httpx.ASGITransport:
    node = Node("r", "receiver", FakeFactory("receiver"))
    return httpx.ASGITransport(NodeApp(node, "test", Access("secret"), limits=limits).starlette())


def test_a_stranger_who_asks_too_often_is_told_so_and_takes_nothing_from_the_manager() -> None:
    async def play() -> None:
        limits = RequestLimits(Rate(0.5, 3.0), Rate(100.0, 50.0), lambda: 0.0)
        async with httpx.AsyncClient(transport=transport(limits), base_url="http://node") as client:
            codes = [(await client.get("/status")).status_code for _ in range(5)]
            assert codes == [401, 401, 401, 429, 429]
            told = await client.get("/healthz")
            assert (told.status_code, told.headers["retry-after"]) == (429, "2")
            fault = decode(told.content)
            assert isinstance(fault, telegram.Fault)
            assert fault.text == "r: 127.0.0.1 asks more often than this node answers; wait 2.00 s"
            good = await client.get("/status", headers={"authorization": "Bearer secret"})
            assert good.status_code == 200
            metrics = (await client.get("/metrics", headers={"authorization": "Bearer secret"})).text
            assert 'rashpa_requests_refused_total{status="429"} 3.0' in metrics

    asyncio.run(play())


def test_a_manager_waits_as_it_is_told_and_gives_up_in_time() -> None:
    async def play() -> None:
        now = [0.0]

        def clock() -> float:
            now[0] += 0.3
            return now[0]

        client = NodeClient(
            "the node", "http://node", "secret", transport=transport(RequestLimits(Rate(1, 1), Rate(1.0, 1.0), clock))
        )
        assert (await client.status()).state == "idle"
        assert (await client.status()).state == "idle", "the second time it was told to wait"
        await client.close()
        stands = NodeClient(
            "the node",
            "http://node",
            "secret",
            transport=transport(RequestLimits(Rate(1, 1), Rate(0.001, 0.5), lambda: 0.0)),
        )
        with pytest.raises(NodeError, match="asks more often than this node answers; wait 500"):
            await stands.status()
        await stands.close()

    asyncio.run(play())
