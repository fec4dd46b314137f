# SPDX-License-Identifier: Apache-2.0
import asyncio
import dataclasses
import threading

import numpy as np
import pytest

from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.run_state import TRANSITIONS, RunState
from rashpa.control.telegrams.telegram import Configure, GetStatus, Status
from rashpa.node.engine.engine import EngineError
from rashpa.node.state.node import Node
from rashpa.testing.fake_engine import FakeDestination, FakeFactory
from rashpa.testing.fake_source import FakeSource
from rashpa.testing.telegram_samples import telegram_samples
from rashpa.testing.waiting import eventually_in_loop


def _order(name: str) -> telegram.Configure:
    order = telegram_samples()[name]
    assert isinstance(order, telegram.Configure)
    return order


CONFIGURE_RECEIVER = _order("configure_destination")
CONFIGURE_EMULATOR = _order("configure_source")


def answers_of(node: Node, *orders: telegram.Telegram) -> list[telegram.Telegram]:
    async def give() -> list[telegram.Telegram]:
        answers = [await node.obey(order) for order in orders]
        await node.close()
        return answers

    return asyncio.run(give())


def receiver() -> Node:
    return Node("r", "receiver", FakeFactory("receiver"))


def arm() -> telegram.Arm:
    return telegram.Arm(endpoints=(telegram.Endpoint(address="127.0.0.1", port=1, qpn=2, rkey=3, credit_offset=4),))


def test_a_receiver_goes_through_its_states() -> None:
    answers = answers_of(
        receiver(),
        telegram.GetStatus(),
        CONFIGURE_RECEIVER,
        arm(),
        telegram.Start(),
        telegram.Abort(),
        telegram.Reset(),
    )
    assert isinstance(answers[1], telegram.Configured)
    assert len(answers[1].endpoints) == len(answers[1].placements) == 1
    states = [answer.state for answer in answers if isinstance(answer, telegram.Status)]
    assert states == ["idle", "armed", "running", "finished", "idle"]
    aborted = answers[4]
    assert isinstance(aborted, telegram.Status)
    assert aborted.destination is not None
    assert aborted.destination.buffers[0].books.missing == 2400


@pytest.mark.parametrize(
    ("orders", "code", "says"),
    [
        ([telegram.Start()], "state", "r is idle; Start is obeyed when armed"),
        ([CONFIGURE_RECEIVER, CONFIGURE_RECEIVER], "state", "r is configured; Configure is obeyed when idle"),
        ([CONFIGURE_EMULATOR], "config", "r is receiver; it cannot be configured as emulator"),
        ([CONFIGURE_RECEIVER, telegram.Arm()], "config", "0 sources for 1 DTPs"),
        ([CONFIGURE_RECEIVER, arm(), telegram.Start(), telegram.Pause()], "state", "send Pause to the emulator"),
        ([telegram.Configured(node="x")], "telegram", "Configured is an answer; r takes orders"),
        ([telegram.Fault(node="x", state="idle", code="state", text="")], "telegram", "Fault is an answer"),
    ],
)
def test_what_is_not_obeyed_is_answered_with_a_fault(orders: list[telegram.Telegram], code: str, says: str) -> None:
    fault = answers_of(receiver(), *orders)[-1]
    assert isinstance(fault, telegram.Fault)
    assert fault.node == "r"
    assert fault.code == code
    assert says in fault.text


def test_after_a_refused_configuration_the_node_is_idle_and_takes_the_next() -> None:
    class Picky(FakeFactory):
        def make(self, order: telegram.Configure):  # type: ignore[no-untyped-def]
            if order.run == 13:
                raise EngineError("resource", "no huge pages today")
            return super().make(order)

    node = Node("r", "receiver", Picky("receiver"))
    refused, taken = answers_of(node, dataclasses.replace(CONFIGURE_RECEIVER, run=13), CONFIGURE_RECEIVER)
    assert refused == telegram.Fault(node="r", state="idle", code="resource", text="no huge pages today")
    assert isinstance(taken, telegram.Configured)


def test_an_engine_that_throws_anything_is_answered_with_a_fault() -> None:
    class Broken(FakeFactory):
        def make(self, order: telegram.Configure):  # type: ignore[no-untyped-def]
            raise ZeroDivisionError("in the engine")

    (fault,) = answers_of(Node("r", "receiver", Broken("receiver")), CONFIGURE_RECEIVER)
    assert isinstance(fault, telegram.Fault)
    assert fault.code == "internal"
    assert "ZeroDivisionError: in the engine" in fault.text


def test_a_transition_beyond_its_deadline_is_a_fault_that_reset_leads_out_of(monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Event()

    class Slow(FakeFactory):
        def make(self, order: telegram.Configure):  # type: ignore[no-untyped-def]
            go_on.wait(10.0)
            raise EngineError("internal", "too late")

    monkeypatch.setitem(TRANSITIONS, "Configure", dataclasses.replace(TRANSITIONS["Configure"], deadline_s=0.05))
    node = Node("r", "receiver", Slow("receiver"))

    async def give() -> None:
        fault = await node.obey(CONFIGURE_RECEIVER)
        assert isinstance(fault, telegram.Fault)
        assert fault.code == "deadline"
        assert "r: Configure did not end within 0.05 s" in fault.text
        assert RunState(node.state) is RunState.fault
        assert node.status().notifications[-1].what == "fault"
        go_on.set()
        await node.obey(telegram.Reset())
        assert node.state is RunState.idle

    asyncio.run(give())


def test_an_engine_that_fails_while_running_puts_the_node_in_fault() -> None:
    class Failing(FakeFactory):
        def make(self, order: telegram.Configure):  # type: ignore[no-untyped-def]
            engine = super().make(order)

            def fail(timeout_s: float) -> bool:
                raise EngineError("internal", "the link's thread is gone")

            engine.wait = fail  # type: ignore[method-assign]
            return engine

    node = Node("r", "receiver", Failing("receiver"))

    async def give() -> None:
        for order in (CONFIGURE_RECEIVER, arm(), telegram.Start()):
            await node.obey(order)
        await eventually_in_loop(lambda: node.state is RunState.fault)
        assert "the link's thread is gone" in node.status().message
        await node.close()

    asyncio.run(give())


def test_books_and_previews_are_there_once_configured() -> None:
    node = receiver()
    with pytest.raises(KeyError, match="no books yet"):
        node.table("completeness", "full")

    async def give() -> None:
        await node.obey(CONFIGURE_RECEIVER)
        assert node.table("completeness", "full").tolist() == [0] * 2400
        found = node.preview("full")
        assert found is not None
        assert found.pixels.dtype == np.int16
        await node.close()

    asyncio.run(give())
    with pytest.raises(KeyError, match="no images yet"):
        node.preview("full")


class SlowFactory(FakeFactory):
    """Makes an engine when it is told to; until then half of its dataset is in memory."""

    def __init__(self) -> None:
        super().__init__("receiver")
        self.go_on = threading.Event()

    def make(self, order: Configure) -> FakeSource | FakeDestination:
        self.go_on.wait(20.0)
        return super().make(order)

    def prepared(self) -> float:
        return 0.5


def test_a_node_says_how_far_it_is_while_it_is_configured() -> None:
    factory = SlowFactory()
    node = Node("receiver", "receiver", factory)

    async def give() -> None:
        assert node.status().prepared == 0.0
        configuring = asyncio.create_task(node.obey(CONFIGURE_RECEIVER))
        await eventually_in_loop(lambda: node.status().prepared > 0.0)
        answer = await node.obey(GetStatus())
        assert isinstance(answer, Status)
        assert answer.prepared == 0.5
        factory.go_on.set()
        await configuring
        assert node.status().prepared == 0.0
        await node.close()

    asyncio.run(give())
