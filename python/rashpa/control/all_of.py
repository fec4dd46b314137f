# SPDX-License-Identifier: Apache-2.0
"""Several calls at the same time."""

import asyncio
from collections.abc import Awaitable, Iterable
from typing import TypeVar

_T = TypeVar("_T")


async def all_of(calls: Iterable[Awaitable[_T]]) -> list[_T]:
    """Waits for all, so that no order is left half done; then the first error, if there was one."""
    results = await asyncio.gather(*calls, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [result for result in results if not isinstance(result, BaseException)]
