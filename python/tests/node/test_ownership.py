# SPDX-License-Identifier: Apache-2.0
import asyncio
import threading

import pytest

from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.run_state import StateError
from rashpa.node.state.node import Node
from rashpa.node.state.ownership import Ownership
from rashpa.testing.fake_engine import FakeDestination, FakeFactory
from rashpa.testing.telegram_samples import telegram_samples
from rashpa.testing.waiting import eventually_in_loop

pytestmark = pytest.mark.whole

MINE, ITS = "a" * 32, "b" * 32
HOLDER = "run alpha of alice@there (process 7)"


def configure(owner: str) -> telegram.Configure:
    order = telegram_samples()["configure_destination"]
    assert isinstance(order, telegram.Configure)
    return telegram.Configure(run=7, name=order.name, destination=order.destination, owner=owner)


def arm(owner: str) -> telegram.Arm:
    return telegram.Arm(
        endpoints=(telegram.Endpoint(address="127.0.0.1", port=1, qpn=2, rkey=3, credit_offset=4),), owner=owner
    )


def receiver(lease_s: float = 0.0) -> Node:
    return Node("r", "receiver", FakeFactory("receiver"), lease_s)


def answers_of(node: Node, *orders: telegram.Telegram) -> list[telegram.Telegram]:
    async def give() -> list[telegram.Telegram]:
        answers = [await node.obey(order) for order in orders]
        await node.close()
        return answers

    return asyncio.run(give())


@pytest.mark.parametrize(
    "order",
    [
        telegram.Claim(holder="run beta", owner=ITS),
        configure(ITS),
        configure(""),
        arm(ITS),
        telegram.Start(owner=ITS),
        telegram.Pause(),
        telegram.Resume(),
        telegram.Stop(owner=ITS),
        telegram.Abort(),
        telegram.Abort(owner=ITS),
        telegram.Reset(),
        telegram.Reset(owner=ITS),
    ],
    ids=lambda order: f"{type(order).__name__} of {'another' if order.owner else 'nobody'}",
)
def test_a_node_that_is_owned_refuses_the_orders_of_others_and_says_whose_it_is(order: telegram.Telegram) -> None:
    begin = (telegram.Claim(holder=HOLDER, owner=MINE), configure(MINE), arm(MINE), telegram.Start(owner=MINE))
    answers = answers_of(receiver(), *begin, order, telegram.GetStatus())
    fault, status = answers[-2:]
    assert isinstance(fault, telegram.Fault)
    assert fault.code == "state"
    assert f"r belongs to {HOLDER}" in fault.text
    assert "rashpa free URL" in fault.text
    assert MINE not in str(answers)
    assert isinstance(status, telegram.Status)
    assert status.state == "running"
    assert status.holder == HOLDER


def test_a_person_frees_a_node_by_force() -> None:
    begin = (telegram.Claim(holder=HOLDER, owner=MINE), configure(MINE), arm(MINE), telegram.Start(owner=MINE))
    answers = answers_of(receiver(), *begin, telegram.Abort(force=True), telegram.Reset(force=True), configure(ITS))
    states = [answer.state for answer in answers if isinstance(answer, telegram.Status)]
    assert states == ["idle", "armed", "running", "finished", "idle"]
    assert isinstance(answers[-1], telegram.Configured)


def test_orders_without_an_owner_are_obeyed_by_a_node_that_is_nobodys() -> None:
    answers = answers_of(receiver(), configure(""), arm(""), telegram.Start(), telegram.Abort(), telegram.Reset())
    assert not any(isinstance(answer, telegram.Fault) for answer in answers)


def test_configure_claims_a_node_that_is_nobodys_and_a_refused_one_does_not() -> None:
    answers = answers_of(
        receiver(), configure(MINE), telegram.Reset(), telegram.Reset(owner=MINE), telegram.GetStatus()
    )
    assert isinstance(answers[1], telegram.Fault)
    assert isinstance(answers[3], telegram.Status)
    assert answers[3].holder == ""
    source = telegram_samples()["configure_source"]  # which a receiver refuses
    answers = answers_of(receiver(), source, telegram.Claim(holder=HOLDER, owner=ITS))
    assert isinstance(answers[0], telegram.Fault)
    assert isinstance(answers[1], telegram.Status)


def test_what_runs_for_nobody_in_particular_cannot_be_claimed() -> None:
    answers = answers_of(receiver(), configure(""), telegram.Claim(holder=HOLDER, owner=MINE))
    assert isinstance(answers[1], telegram.Fault)
    assert "Claim is obeyed when idle, finished, fault" in answers[1].text


def test_a_claim_gives_back_what_an_earlier_run_left() -> None:
    answers = answers_of(receiver(), configure(""), telegram.Abort(), telegram.Claim(holder=HOLDER, owner=MINE))
    assert isinstance(answers[-1], telegram.Status)
    assert answers[-1].state == "idle"
    assert answers[-1].destination is None


def test_an_owner_that_is_silent_for_the_lease_has_abandoned_its_node() -> None:
    ownership = Ownership("r", 10.0)
    ownership.pass_time(100.0)
    assert not ownership.abandoned  # nobody's
    ownership.take(MINE, HOLDER)
    ownership.pass_time(9.0)
    ownership.check(telegram.Stop(owner=MINE))
    ownership.pass_time(9.0)
    assert not ownership.abandoned
    with pytest.raises(StateError):
        ownership.check(telegram.Stop(owner=ITS))  # which renews nothing
    ownership.pass_time(1.0)
    assert ownership.abandoned


def test_a_silent_owners_run_is_aborted_in_order_and_the_node_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    aborted = threading.Event()
    abort = FakeDestination.abort

    def noticed(engine: FakeDestination) -> None:
        abort(engine)
        aborted.set()

    monkeypatch.setattr(FakeDestination, "abort", noticed)

    async def abandon() -> telegram.Status:
        node = receiver(lease_s=0.2)
        for order in (
            telegram.Claim(holder=HOLDER, owner=MINE),
            configure(MINE),
            arm(MINE),
            telegram.Start(owner=MINE),
        ):
            assert not isinstance(await node.obey(order), telegram.Fault)
        await eventually_in_loop(lambda: node.status().message)
        status = node.status()
        assert not isinstance(await node.obey(telegram.Claim(holder="run beta", owner=ITS)), telegram.Fault)
        await node.close()
        return status

    status = asyncio.run(abandon())
    assert aborted.is_set()
    assert status.state == "idle"
    assert status.message == f"{HOLDER} was not heard for 0.2 s: its run is aborted, the node is free"


def test_the_status_of_its_owner_renews_the_lease_and_that_of_others_does_not() -> None:
    async def ask(owner: str) -> str:
        node = receiver(lease_s=1.0)
        await node.obey(telegram.Claim(holder=HOLDER, owner=MINE))
        async with asyncio.timeout(3.0) as enough:  # three leases
            while not (said := node.status().message):
                await node.obey(telegram.GetStatus(owner=owner))
                await asyncio.sleep(0.01)  # wait: an owner asks now and then
            enough.reschedule(None)
        await node.close()
        return said

    with pytest.raises(TimeoutError):
        asyncio.run(ask(MINE))
    assert "was not heard" in asyncio.run(ask(ITS))
