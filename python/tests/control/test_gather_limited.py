# SPDX-License-Identifier: Apache-2.0
"""Concurrent calls: which calls are awaited, and which error is raised."""

import asyncio

import pytest

from rashpa.control.nodes.gather_limited import gather_all, gather_limited, gather_outcomes


class Calls:
    """Calls that end when the test releases them, by number; those of `bad` end with an error."""

    def __init__(self, *bad: int) -> None:
        self.bad = bad
        self.begun: list[int] = []
        self.ended: list[int] = []
        self.may_end: dict[int, asyncio.Event] = {}

    async def __call__(self, number: int) -> int:
        self.begun.append(number)
        await self.may_end.setdefault(number, asyncio.Event()).wait()
        self.ended.append(number)
        if number in self.bad:
            raise ValueError(str(number))
        return 10 * number

    async def let(self, *numbers: int) -> None:
        """Release calls, and wait for the effects."""
        for number in numbers:
            self.may_end.setdefault(number, asyncio.Event()).set()
        for _ in range(20):
            await asyncio.sleep(0)  # wait: more turns than follow


def test_all_are_waited_for_and_the_first_error_comes_out_then() -> None:
    async def course() -> None:
        calls = Calls(1, 2)
        waiting = asyncio.ensure_future(gather_all(calls(number) for number in range(4)))
        await calls.let(2, 1)
        assert calls.begun == [0, 1, 2, 3]
        assert not waiting.done(), "two are not through"
        await calls.let(0, 3)
        with pytest.raises(ValueError, match="1"):
            await waiting
        assert sorted(calls.ended) == [0, 1, 2, 3]

    asyncio.run(course())


def test_results_are_in_the_order_of_the_calls() -> None:
    async def course() -> None:
        calls = Calls(2)
        waiting = asyncio.ensure_future(gather_outcomes(calls(number) for number in range(3)))
        await calls.let(1, 2, 0)
        first, second, third = await waiting
        assert (first, second, str(third)) == (0, 10, "2")
        good = Calls()
        asked = asyncio.ensure_future(gather_limited(good, range(40)))
        await good.let(*reversed(range(40)))
        assert await asked == [10 * number for number in range(40)]
        assert await gather_all(()) == []
        assert await gather_limited(good, ()) == []

    asyncio.run(course())


def test_sixteen_are_asked_at_once_and_the_next_when_one_has_answered() -> None:
    async def course() -> None:
        calls = Calls()
        waiting = asyncio.ensure_future(gather_limited(calls, range(40)))
        await calls.let(5, 9)
        assert calls.begun == list(range(18))
        await calls.let(*range(40))
        assert len(await waiting) == 40

    asyncio.run(course())


def test_after_an_error_nobody_else_is_asked_and_who_was_asked_is_waited_for() -> None:
    async def course() -> None:
        calls = Calls(3)
        waiting = asyncio.ensure_future(gather_limited(calls, range(40)))
        await calls.let()
        await calls.let(3, 4)
        assert calls.begun == list(range(16))
        assert not waiting.done()
        await calls.let(*range(40))
        with pytest.raises(ValueError, match="3"):
            await waiting
        assert sorted(calls.ended) == list(range(16))

    asyncio.run(course())


def test_who_gives_up_gives_up_all() -> None:
    async def course() -> None:
        calls = Calls()
        waiting = asyncio.ensure_future(gather_limited(calls, range(40)))
        await calls.let()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(course())
