# SPDX-License-Identifier: Apache-2.0
"""Serves the files that browsers fetch besides the page: views of images, reports of past runs, the page's own scripts."""

import asyncio
import contextlib
from pathlib import Path
from typing import Any

from tornado.iostream import StreamClosedError
from tornado.web import HTTPError, RequestHandler

from rashpa.control.nodes.node_client import NodeError
from rashpa.dashboard.keys import Keys
from rashpa.dashboard.past.past_runs import PastRuns
from rashpa.dashboard.views import Views
from rashpa.dashboard.watch import Watch
from rashpa.data.figures.view_bytes import MEDIA_TYPE

_THUMBNAIL = "thumbnail.png"
_TYPES = {
    "report.html": "text/html; charset=utf-8",
    "report.json": "application/json; charset=utf-8",
    "nodes.log": "text/plain; charset=utf-8",
    _THUMBNAIL: "image/png",
}
BROWSER = Path(__file__).parent / "browser"
_SCRIPTS = tuple(sorted(path.name for path in BROWSER.iterdir() if path.suffix in (".js", ".css")))
_NOTHING = 204
_PLACE = ("x", "y", "width", "height", "step")
_MOST_DIGITS = 18
_MOST_DECISIONS = 16 << 20


class _File(RequestHandler):
    """Serves a file; a part of its address is known to pages only."""

    def initialize(self, keys: Keys, **known: Any) -> None:
        self._keys, self._known = keys, known

    def set_default_headers(self) -> None:
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Referrer-Policy", "no-referrer")

    def _check(self, key: str) -> None:
        if not self._keys.is_way(key):
            raise HTTPError(404)


class _Report(_File):
    """Serves a file of a past run's report."""

    async def get(self, key: str, number: str, name: str) -> None:
        self._check(key)
        past: PastRuns = self._known["past"]
        if name not in _TYPES:
            raise HTTPError(404)
        try:
            if name == _THUMBNAIL:
                content = await asyncio.to_thread(past.thumbnail, int(number))
            else:
                content = await asyncio.to_thread(past.content, int(number), name)
        except OSError:
            raise HTTPError(404) from None
        self.set_header("Content-Type", _TYPES[name])
        # a report is never part of the page: scripts of it may draw, and nothing else
        self.set_header(
            "Content-Security-Policy",
            "sandbox allow-scripts allow-downloads; default-src 'unsafe-inline' 'unsafe-eval' data: blob:",
        )
        with contextlib.suppress(StreamClosedError):
            await self.finish(content)


class _View(_File):
    """Serves a part of an image as its node answers it, or nothing when there is none now. The page's table of nodes shows the reason."""

    async def get(self, key: str) -> None:
        self._check(key)
        watch: Watch = self._known["watch"]
        views: Views = self._known["views"]
        client = watch.clients.get(self.get_query_argument("node", ""))
        query = {name: str(self._number(name)) for name in _PLACE}
        query |= {name: self.get_query_argument(name, "") for name in ("buffer", "of")}
        after = self._number("after") if self.get_query_argument("after", None) is not None else None
        content = None
        if client is not None:
            try:
                content = await views.newer(client, query, after)
            except NodeError:
                content = None
        self.set_header("Cache-Control", "no-store")
        if content is None:
            self.set_status(_NOTHING)
            return
        self.set_header("Content-Type", MEDIA_TYPE)
        with contextlib.suppress(StreamClosedError):  # the page was closed meanwhile
            await self.finish(content)

    def _number(self, name: str) -> int:
        text = self.get_query_argument(name, "0")
        if not (text.isascii() and text.isdecimal()) or len(text) > _MOST_DIGITS:
            raise HTTPError(400)
        return int(text)


class _Decisions(_File):
    """Serves the decisions of a buffer from its node, one byte for each image. It serves nothing when the node does not answer, or has too many."""

    async def get(self, key: str) -> None:
        self._check(key)
        watch: Watch = self._known["watch"]
        client = watch.clients.get(self.get_query_argument("node", ""))
        content = b""
        if client is not None:
            with contextlib.suppress(NodeError):
                content = await client.table("decisions", buffer=self.get_query_argument("buffer", ""))
        self.set_header("Cache-Control", "no-store")
        self.set_header("Content-Type", "application/octet-stream")
        if not 0 < len(content) <= _MOST_DECISIONS:
            self.set_status(_NOTHING)
            return
        with contextlib.suppress(StreamClosedError):
            await self.finish(content)


class _Script(_File):
    """Serves one of the page's own scripts and style sheets."""

    def get(self, name: str) -> None:
        kind = "css" if name.endswith(".css") else "javascript"
        self.set_header("Content-Type", f"text/{kind}; charset=utf-8")
        self.set_header("Cache-Control", "no-cache")
        self.finish((BROWSER / name).read_bytes())


def patterns(keys: Keys, past: PastRuns, watch: Watch, views: Views) -> list[tuple[str, type[RequestHandler], Any]]:
    """Return the address patterns and their handlers for Tornado."""
    return [
        (r"/reports/([\w-]+)/(\d{1,9})/([\w.]+)", _Report, {"keys": keys, "past": past}),
        (r"/views/([\w-]+)", _View, {"keys": keys, "watch": watch, "views": views}),
        (r"/decisions/([\w-]+)", _Decisions, {"keys": keys, "watch": watch}),
        (f"/({'|'.join(_SCRIPTS).replace('.', '[.]')})", _Script, {"keys": keys}),
    ]
