# SPDX-License-Identifier: Apache-2.0
"""Sends HTTP requests to one node; closing the client waits for requests in flight."""

import asyncio
from typing import Any

from rashpa.control.nodes.lean_httpx import httpx

_CLOSE_S = 1.0  # the time for answers to requests in flight


class FinishingClient(httpx.AsyncClient):
    """Waits for its requests before it closes their connections. httpx itself, when closed, forgets a connection that is being made, and leaves its
    socket open. `to`: the node's name for messages."""

    def __init__(self, to: str, **options: Any) -> None:
        super().__init__(**options)
        self._to = to
        self._asked: set[asyncio.Timeout] = set()
        self._answered = asyncio.Event()
        self._closing = False

    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """Send a request. Raise httpx.HTTPError, or RuntimeError when the client is closed."""
        if self._closing:
            raise RuntimeError(f"the way to {self._to} is closed")
        try:
            async with asyncio.timeout(None) as limit:
                self._asked.add(limit)
                try:
                    return await super().send(request, **options)
                finally:
                    self._asked.remove(limit)
                    self._answered.set()
        except TimeoutError:
            raise httpx.ReadError("the way to it was closed before it answered", request=request) from None

    async def aclose(self) -> None:
        if not self._closing:
            self._closing = True
            for limit in self._asked:
                limit.reschedule(asyncio.get_running_loop().time() + _CLOSE_S)
        while self._asked:
            self._answered.clear()
            await self._answered.wait()
        await super().aclose()
