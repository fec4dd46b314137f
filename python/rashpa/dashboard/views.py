# SPDX-License-Identifier: Apache-2.0
"""Fetches the images that pages show. All pages together ask a node for a view at most twelve times a second, and only while a page waits for it. The
browser gets the node's answer unchanged."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field

from rashpa.control.nodes.node_client import NodeClient, NodeError
from rashpa.data.figures.view_bytes import view_of_bytes

SHORTEST_S = 1 / 12  # so that ten a second are reached where some come late
_MOST = 64


@dataclass
class _Slot:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    content: bytes = b""
    index: int | None = None
    when: float = 0.0  # the next may be asked for
    answered: float = 0.0


class Views:
    """Fetches views for all pages."""

    def __init__(self) -> None:
        self._slots: OrderedDict[tuple[str, ...], _Slot] = OrderedDict()

    async def newer(self, client: NodeClient, query: Mapping[str, str], after: int | None) -> bytes | None:
        """Return the view of an image other than `after`, None when there is none now. `query`: buffer, image and part. Raise NodeError when the node
        fails."""
        asked = time.monotonic()
        key = (client.url, *(f"{name}={query[name]}" for name in sorted(query)))
        slot = self._slots.setdefault(key, _Slot())
        self._slots.move_to_end(key)
        while len(self._slots) > _MOST:
            self._slots.popitem(last=False)
        async with slot.lock:
            wait_s = slot.when - time.monotonic()
            # an answer that came while this page waited is for it, too, however long the node took: many pages are one question
            if slot.index is not None and slot.index != after and (wait_s > 0 or slot.answered >= asked):
                return slot.content
            if wait_s > 0:
                await asyncio.sleep(wait_s)
            # a page that comes late once is not late for ever: the rate counts pages, not pauses
            slot.when = max(slot.when, time.monotonic() - SHORTEST_S / 2) + SHORTEST_S
            content = await client.view({**query, **({} if after is None else {"after": str(after)})})
            if content is None:
                return None
            try:
                slot.index = int(view_of_bytes(content)[0]["index"])
            except (ValueError, KeyError, TypeError) as error:
                raise NodeError(client.name, f"{client.name} answers with bytes that are no view: {error}") from None
            slot.content, slot.answered = content, time.monotonic()
            return content
