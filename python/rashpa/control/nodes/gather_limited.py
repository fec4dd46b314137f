# SPDX-License-Identifier: Apache-2.0
"""Several nodes told or asked at the same time: all at once, or some at once where they are many.

Every call that was begun is waited for, also when another fails: no order is left half done, and no question goes on behind the back of who has given up.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

_AT_ONCE = 16  # so that nobody waits behind the others for longer than an answer may take
_T = TypeVar("_T")
_A = TypeVar("_A")


async def gather_outcomes(calls: Iterable[Awaitable[_T]]) -> list[_T | BaseException]:
    """Of all calls, in order: what each returned or raised."""
    return await asyncio.gather(*calls, return_exceptions=True)


async def gather_all(calls: Iterable[Awaitable[_T]]) -> list[_T]:
    """What the calls returned, in order; the first error, if there was one."""
    results = await gather_outcomes(calls)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [result for result in results if not isinstance(result, BaseException)]


async def gather_limited(ask: Callable[[_A], Awaitable[_T]], whom: Iterable[_A]) -> list[_T]:
    """The answers, in order. After an error nobody else is asked; then the first, if there was one."""
    room = asyncio.Semaphore(_AT_ONCE)
    errors: list[Exception] = []

    async def one(whom: _A) -> _T:
        async with room:
            if errors:
                raise errors[0]
            try:
                return await ask(whom)
            except Exception as error:
                errors.append(error)
                raise

    return await gather_all(one(each) for each in whom)
