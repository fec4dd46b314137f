# SPDX-License-Identifier: Apache-2.0
"""Repeats work while a program waits for something else."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

from rashpa.control.nodes.node_client import NodeError


@contextlib.asynccontextmanager
async def poll_while(look: Callable[[], Awaitable[None]], every_s: float) -> AsyncIterator[None]:
    """Call `look` every `every_s` seconds during the context. A node that cannot be asked is ignored, because the awaited call reports the fault."""

    async def again() -> None:
        while True:
            await asyncio.sleep(every_s)
            with contextlib.suppress(NodeError):
                await look()

    looking = asyncio.create_task(again())
    try:
        yield
    finally:
        looking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await looking
