# SPDX-License-Identifier: Apache-2.0
"""Awaits calls to several nodes, all at the same time or, for many nodes, a limited number at a time.

Every call that has begun is awaited, also when another call fails. So no order is left half done, and no request continues after its caller has given
up.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

_AT_ONCE = 16  # so that nobody waits behind the others for longer than an answer may take
_T = TypeVar("_T")
_A = TypeVar("_A")


async def gather_outcomes(calls: Iterable[Awaitable[_T]]) -> list[_T | BaseException]:
    """Return the result or exception of each call, in order."""
    return await asyncio.gather(*calls, return_exceptions=True)


async def gather_all(calls: Iterable[Awaitable[_T]]) -> list[_T]:
    """Return the results of the calls, in order. Raise the first error, after all have ended."""
    results = await gather_outcomes(calls)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [result for result in results if not isinstance(result, BaseException)]


async def gather_limited(ask: Callable[[_A], Awaitable[_T]], whom: Iterable[_A]) -> list[_T]:
    """Return the answers in order, with a limited number of calls at a time. After an error, begin no further call, and raise the first error."""
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
