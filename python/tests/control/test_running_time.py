# SPDX-License-Identifier: Apache-2.0
"""Time in which this process did not run makes no other process late."""

import asyncio
import socket
import time

import pytest

from rashpa.control.nodes.running_time import RunningClock, within

_GAP_S = 0.8


def test_no_step_counts_for_more_than_the_longest() -> None:
    now = [100.0]
    clock = RunningClock(2.0, lambda: now[0])
    before = clock.look()
    now[0] += 1.5
    assert clock.look() - before == pytest.approx(1.5)
    now[0] += 3600.0
    assert clock.look() - before == pytest.approx(3.5)


def test_who_does_not_come_is_given_up() -> None:
    async def wait() -> None:
        began = time.monotonic()
        with pytest.raises(TimeoutError):
            async with within(0.3):
                await asyncio.Event().wait()
        assert time.monotonic() - began >= 0.3

    asyncio.run(wait())


def test_what_comes_in_time_is_kept() -> None:
    async def wait() -> None:
        async with within(30.0):
            await asyncio.sleep(0)  # wait: a turn of the loop

    asyncio.run(wait())


def test_what_has_come_while_the_process_stood_still_is_taken_before_anything_is_late() -> None:
    async def wait() -> None:
        here, there = socket.socketpair()
        with here, there:
            here.setblocking(False)
            async with within(0.3):
                asking = asyncio.ensure_future(asyncio.get_running_loop().sock_recv(here, 1))
                await asyncio.sleep(0)  # wait: a turn of the loop
                there.send(b"x")
                time.sleep(_GAP_S)  # noqa: ASYNC251  # wait: the loop stands still, as a stopped process does
                assert await asking == b"x"

    asyncio.run(wait())


def test_a_gap_counts_for_no_more_than_one_step() -> None:
    async def wait() -> None:
        came = asyncio.Event()
        async with within(0.6):
            await asyncio.sleep(0)  # wait: a turn of the loop
            time.sleep(_GAP_S)  # noqa: ASYNC251  # wait: the loop stands still, as a stopped process does
            asyncio.get_running_loop().call_later(0.1, came.set)  # somebody who could not answer before
            await came.wait()

    asyncio.run(wait())
