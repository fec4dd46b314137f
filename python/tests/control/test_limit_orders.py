# SPDX-License-Identifier: Apache-2.0
"""Limits of vetoes that change in a run of fake nodes: the manager's answer, and the orders to a receiver that has joined."""

import asyncio
from pathlib import Path

import pytest

from rashpa.control.handover.limits_request import Limits
from rashpa.control.nodes.fleet import Fleet
from rashpa.control.nodes.node_client import NodeClient
from rashpa.control.orders.limit_values import LimitsError
from rashpa.control.orders.plan_telegrams import destination_telegram
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.run.limit_orders import LimitOrders, orders_like
from rashpa.control.telegrams import telegram
from rashpa.node.engine.engine import EngineError
from rashpa.node.engine.limits.limit_books import LimitBooks
from rashpa.node.state.node import Node
from rashpa.testing.fake_engine import FakeFactory
from rashpa.testing.in_process import transports_of
from rashpa.testing.run_file import run_file


def run_text(folder: Path) -> str:
    return run_file(
        run={"name": "limited", "frames": 10, "output": folder / "out"},
        detector={"width": 64, "height": 32},
        receiver=[{"name": one, "port": 0} for one in ("a", "b", "c")],
        group=[{"name": "farm", "receivers": ["a", "b", "c"]}],
        buffer={
            "group": "farm",
            "kernel": [
                {"name": "bragg_count", "threshold": 10, "min_pixels": 20},
            ],
        },
    )


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    file = tmp_path / "run.toml"
    file.write_text(run_text(tmp_path))
    return load_plan(file)


async def _fleet(plan: Plan) -> Fleet:
    nodes = {name: Node(name, "receiver", FakeFactory("receiver")) for name in ("a", "b", "c")}
    transports = transports_of(nodes)
    clients = {name: NodeClient(name, f"http://{name}", transport=transports[name], owner="o") for name in nodes}
    for receiver in plan.receivers:
        configured = await clients[receiver.name].configure(destination_telegram(plan, receiver))
        await clients[receiver.name].order(telegram.Arm(endpoints=configured.endpoints))
    return Fleet(plan, clients)


def test_each_receiver_of_a_group_gets_the_limits_and_one_that_has_joined_too(plan: Plan) -> None:
    async def change() -> tuple[str, list[telegram.SetLimits]]:
        fleet = await _fleet(plan)
        last = plan.buffers_of("c")[0]
        fleet.lost["c"] = None  # type: ignore[assignment]  # as one that takes no part yet
        orders = LimitOrders(fleet, None)
        said = await orders.set(Limits("bragg_count", {"min_pixels": "30"}, by="somebody"))
        said += "\n" + await orders.set(Limits("bragg_count", {"min_pixels": "40", "max_pixels": "99"}, by="another"))
        with pytest.raises(LimitsError, match="has this limit already"):
            await orders.set(Limits("bragg_count", {"max_pixels": "99"}))
        joining = list(orders_like(fleet, last))
        for client in fleet.clients.values():
            await client.order(telegram.Reset())
            await client.close()
        return said, joining

    said, joining = asyncio.run(change())
    assert [line.partition(",")[0] for line in said.splitlines()] == [
        "full_a: bragg_count: min_pixels is 30 in place of 20",
        "full_b: bragg_count: min_pixels is 30 in place of 20",
        "full_a: bragg_count: min_pixels is 40 in place of 30",
        "full_a: bragg_count: max_pixels is 99 in place of 4294967295",
        "full_b: bragg_count: min_pixels is 40 in place of 30",
        "full_b: bragg_count: max_pixels is 99 in place of 4294967295",
    ]
    (order,) = joining
    assert (order.buffer, order.number, order.by) == ("full_c", 0, "another")
    assert order.kernel.model_dump() == {
        **plan.buffers[0].section.kernel[0].model_dump(),
        "min_pixels": 40,
        "max_pixels": 99,
    }


def test_a_node_takes_nothing_but_limits_that_may_change(plan: Plan) -> None:
    kernels = plan.buffers[0].section.kernel
    books = LimitBooks(kernels)

    def order(number: int = 0, **values: int) -> telegram.SetLimits:
        return telegram.SetLimits(buffer="full", number=number, kernel=kernels[0].model_copy(update=values))

    for wrong, text in (
        (order(threshold=11), "threshold: kernel bragg_count keeps it"),
        (order(number=1, min_pixels=3), "the buffer has 1 kernels"),
        (order(), "has these limits already"),
    ):
        with pytest.raises(EngineError, match=text):
            books.change(wrong, lambda _: 0)
    assert not books.changes
    books.change(order(min_pixels=7), lambda _: 12)
    (change,) = books.changes
    assert (change.key, change.old, change.new, change.first_image) == ("min_pixels", "20", "7", 12)
    with pytest.raises(EngineError, match="has these limits already"):
        books.change(order(min_pixels=7), lambda _: 0)
