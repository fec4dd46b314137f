# SPDX-License-Identifier: Apache-2.0
import asyncio
import dataclasses

from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram import (
    Books,
    BufferStatus,
    DestinationStatus,
    Orphaned,
    SourceDtpStatus,
    SourceStatus,
    Status,
)
from rashpa.node.state.node import Node
from rashpa.node.state.orphan import Orphan
from rashpa.testing.fake_engine import FakeFactory
from rashpa.testing.telegram_samples import telegram_samples
from rashpa.testing.waiting import eventually_in_loop

ORDER = Orphaned(quiet_s=10.0, keep_s=60.0)
MINE, ITS = "1" * 32, "2" * 32
ARM = telegram.Arm(
    endpoints=(telegram.Endpoint(address="127.0.0.1", port=1, qpn=2, rkey=3, credit_offset=4),), owner=MINE
)
HOLDER = "run alpha of ann@here (process 1)"


def source(sent: int, state: str = "running") -> Status:
    dtp = SourceDtpStatus(
        id=0,
        images_sent=sent,
        images_skipped=0,
        payload_bytes=0,
        packets=0,
        waits=0,
        window_timeouts=0,
        late_ns=0,
        cnps_received=0,
    )
    return Status(node="e", role="emulator", state=state, source=SourceStatus(elapsed_s=1.0, dtps=(dtp,)))


def destination(decided: int, state: str = "running", to_write: int = 0) -> Status:
    books = Books(
        expected=100, complete=decided, partial=0, missing=0, accepted=decided, vetoed=0, errored=0, written=decided
    )
    buffer = BufferStatus(
        name="full",
        sink_error="",
        unit="",
        unit_error="",
        bytes_written=0,
        bytes_stored=0,
        books=books,
        to_write=to_write,
    )
    return Status(
        node="r",
        role="receiver",
        state=state,
        destination=DestinationStatus(
            receiver="receiver", elapsed_s=1.0, memory="", first_incomplete="", buffers=(buffer,)
        ),
    )


def test_a_run_that_goes_on_is_left_alone() -> None:
    orphan = Orphan(ORDER)
    assert {orphan.next_step(source(sent), 9.0) for sent in range(50)} == {"wait"}


def test_a_receiver_without_news_is_told_that_nothing_more_comes_and_then_ended() -> None:
    orphan = Orphan(ORDER)
    steps = [orphan.next_step(destination(7), 5.0) for _ in range(6)]
    assert steps == ["wait", "wait", "stop", "wait", "abort", "wait"]


def test_images_that_wait_for_a_slow_disk_are_waited_for() -> None:
    orphan = Orphan(ORDER)
    assert {orphan.next_step(destination(7, to_write=3), 5.0) for _ in range(50)} == {"wait"}


def test_a_paused_emulator_goes_on_because_nobody_else_can_tell_it_to() -> None:
    assert Orphan(ORDER).next_step(source(3, "paused"), 1.0) == "resume"


def test_books_are_kept_for_their_time_and_no_longer() -> None:
    orphan = Orphan(ORDER)
    steps = [orphan.next_step(destination(100, "finished"), 20.0) for _ in range(3)]
    assert steps == ["wait", "wait", "free"]


def configure(order: Orphaned | None) -> telegram.Configure:
    sample = telegram_samples()["configure_destination"]
    assert isinstance(sample, telegram.Configure)
    return dataclasses.replace(sample, orphaned=order, owner=MINE)


async def until(node: Node, state: str) -> None:
    await eventually_in_loop(lambda: node.state == state, what=f"node {state}")


async def running(order: Orphaned | None, lease_s: float = 0.2) -> Node:
    node = Node("r", "receiver", FakeFactory("receiver"), lease_s)
    orders = (telegram.Claim(holder=HOLDER, owner=MINE), configure(order), ARM, telegram.Start(owner=MINE))
    for each in orders:
        answer = await node.obey(each)
        assert not isinstance(answer, telegram.Fault), answer
    return node


def test_a_run_that_may_go_on_has_its_end_and_its_books_without_its_owner() -> None:
    async def run() -> None:
        node = await running(Orphaned(quiet_s=0.3, keep_s=60.0))
        await until(node, "finished")
        status = node.status()
        assert status.holder == HOLDER
        assert status.message.startswith(
            f"{HOLDER} was not heard for 0.2 s: the run goes on to its end, and its books are kept 60 s"
        )
        assert isinstance(await node.obey(telegram.Claim(holder="run beta", owner=ITS)), telegram.Fault)
        taken = await node.obey(telegram.Claim(holder="run alpha of bob@here (process 2)", owner=MINE))
        assert isinstance(taken, Status)
        assert (taken.state, taken.holder, taken.message) == ("finished", "run alpha of bob@here (process 2)", "")
        assert taken.destination is not None
        assert taken.destination.buffers[0].books.balanced
        assert node.table("completeness", "full").size
        await node.close()

    asyncio.run(run())


def test_a_run_whose_books_nobody_wants_does_not_stay() -> None:
    async def run() -> None:
        node = await running(Orphaned(quiet_s=0.2, keep_s=0.2))
        await until(node, "idle")
        assert node.status().holder == ""
        assert "nobody has asked for the books of its run: the node is free" in node.status().message
        await node.close()

    asyncio.run(run())


def test_a_node_whose_parent_is_gone_outlives_it_until_the_books_are_taken() -> None:
    async def run() -> None:
        node = await running(Orphaned(quiet_s=0.3, keep_s=60.0), lease_s=0.0)
        outliving = asyncio.create_task(node.outlive_owner(0.5))
        await until(node, "finished")
        assert node.status().message.startswith(f"{HOLDER} is gone: the run goes on")
        assert not outliving.done()
        await node.obey(telegram.Reset(owner=MINE))
        async with asyncio.timeout(10.0):
            await outliving
        await node.close()

    asyncio.run(run())


def test_a_node_whose_run_ends_with_its_owner_does_not_outlive_him() -> None:
    async def run() -> None:
        node = await running(None, lease_s=0.0)
        async with asyncio.timeout(10.0):
            await node.outlive_owner(0.5)
        assert node.state == "running"  # who serves it ends it
        await node.close()

    asyncio.run(run())
