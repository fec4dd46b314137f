# SPDX-License-Identifier: Apache-2.0
"""Questions to many nodes, so many at once that nobody waits behind the others for longer than an answer may take."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

_AT_ONCE = 16
_T = TypeVar("_T")
_A = TypeVar("_A")


async def some_at_once(ask: Callable[[_A], Awaitable[_T]], whom: Iterable[_A]) -> list[_T]:
    """The answers, in order. The first error, when the others that were asked by then have answered or are given up."""
    room = asyncio.Semaphore(_AT_ONCE)

    async def one(name: _A) -> _T:
        async with room:
            return await ask(name)

    return await asyncio.gather(*(one(name) for name in whom))
