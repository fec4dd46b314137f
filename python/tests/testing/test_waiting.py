# SPDX-License-Identifier: Apache-2.0
"""Waiting for conditions: what is true comes back, what is not is a failure that names it."""

import asyncio
import subprocess
import sys

import pytest

from rashpa.testing.waiting import eventually, eventually_in_loop


def test_what_comes_true_is_handed_back() -> None:
    looks = iter([0, 0, 7])
    assert eventually(lambda: next(looks)) == 7


def test_what_does_not_come_true_is_named_by_its_source() -> None:
    with pytest.raises(AssertionError, match=r"1 > 2.*: not within 0.01 s"):
        eventually(lambda: 1 > 2, 0.01)
    with pytest.raises(AssertionError, match=r"^pigs fly: not within 0.01 s"):
        eventually(lambda: False, 0.01, "pigs fly")


def test_a_process_that_has_ended_is_not_waited_for() -> None:
    process = subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])
    with pytest.raises(AssertionError, match="pigs fly: the process has ended with 3"):
        eventually(lambda: False, what="pigs fly", process=process)


def test_other_tasks_of_the_loop_make_it_true() -> None:
    async def course() -> None:
        done = asyncio.Event()
        task = asyncio.get_running_loop().create_task(asyncio.to_thread(done.set))
        assert await eventually_in_loop(done.is_set) is True
        await task
        with pytest.raises(AssertionError, match=r"^pigs fly: not within 0.01 s"):
            await eventually_in_loop(lambda: False, 0.01, "pigs fly")

    asyncio.run(course())
