# SPDX-License-Identifier: Apache-2.0
"""Waiting for conditions: a true condition's value is returned, and a false one is a failure that names it."""

import asyncio
import subprocess
import sys
from itertools import count
from types import SimpleNamespace

import pytest

from rashpa.testing.waiting import eventually, eventually_in_loop, slowed


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


@pytest.mark.parametrize(("of_ten", "seconds"), [(10, 2.0), (2, 10.0), (40, 2.0)])
def test_seconds_are_longer_where_others_have_the_processor(
    monkeypatch: pytest.MonkeyPatch, of_ten: int, seconds: float
) -> None:
    """Check a process that gets `of_ten` of ten milliseconds; threads may get more."""
    clock = count()
    now = [0]

    def monotonic() -> float:
        return now[0] / 1000

    def process_time() -> float:
        now[0] = next(clock)
        return now[0] * of_ten / 10_000

    monkeypatch.setattr("rashpa.testing.waiting.time", SimpleNamespace(monotonic=monotonic, process_time=process_time))
    assert slowed(2.0) == pytest.approx(seconds)
