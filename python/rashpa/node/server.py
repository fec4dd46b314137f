# SPDX-License-Identifier: Apache-2.0
"""The HTTP face of a node: POST /telegram, GET /capabilities, /status, /metrics, /healthz, /preview, /books, /log."""

import asyncio
import dataclasses
import threading
from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from rashpa.control import telegram_xml
from rashpa.control.telegram import Fault, Telegram
from rashpa.control.telegram_xml import CONTENT_TYPE, MAX_BYTES, TelegramError
from rashpa.node.access import Access, AccessError
from rashpa.node.metrics import NodeMetrics
from rashpa.node.node import Node
from rashpa.node.preview import png_of

_HTTP_OF_FAULT = {
    "telegram": 400,
    "denied": 401,
    "state": 409,
    "config": 422,
    "resource": 422,
    "file": 422,
    "deadline": 504,
    "internal": 500,
}
Endpoint = Callable[[Request], Awaitable[Response]]
_SHORT_BYTES = 16 << 10
_MAX_TEXT = 2000
_ONE_AT_A_TIME = threading.Lock()  # long telegrams share one processor, however many come
_TABLES = ("fates", "completeness", "decisions")


class _TooLargeError(Exception):
    """The body is longer than a telegram may be."""


class NodeApp:
    """The endpoints of one node. Every request but that for /healthz must have the right to be answered."""

    def __init__(self, node: Node, version: str, access: Access | None = None) -> None:
        self._node = node
        self._access = access or Access()
        self._metrics = NodeMetrics(node.status, version)

    def starlette(self) -> Starlette:
        """The ASGI application."""
        guarded = self._guarded
        return Starlette(
            routes=[
                Route("/telegram", guarded(self._take_telegram), methods=["POST"]),
                Route("/capabilities", guarded(self._capabilities)),
                Route("/status", guarded(self._status)),
                Route("/metrics", guarded(self._scrape)),
                Route("/preview", guarded(self._preview)),
                Route("/books", guarded(self._books)),
                Route("/log", guarded(self._log)),
                Route("/healthz", self._health),
            ]
        )

    def _guarded(self, endpoint: Endpoint) -> Endpoint:
        async def checked(request: Request) -> Response:
            try:
                self._access.check(request.headers)
            except AccessError as error:
                return self._denied(error)
            if self._access.token:
                _trust(request)
            return await endpoint(request)

        return checked

    async def _take_telegram(self, request: Request) -> Response:
        try:
            self._access.check_telegram(request.headers)
            body = await _body_of(request)
            # a long one must not keep the others waiting
            order = telegram_xml.decode(body) if len(body) < _SHORT_BYTES else await asyncio.to_thread(_decode, body)
        except AccessError as error:
            return self._denied(error)
        except (TelegramError, _TooLargeError) as error:
            code = error.code if isinstance(error, TelegramError) else "telegram"
            return _answer(self._node.fault(code, f"{self._node.name}: {error}"[:_MAX_TEXT]))
        answer = await self._node.obey(order)
        if self._node.is_owner(order):
            _trust(request)
        return _answer(answer)

    def _denied(self, error: AccessError) -> Response:
        self._node.log.warning(f"a request is refused: HTTP {error.status}")  # whatever a stranger sends: one entry
        return _answer(self._node.fault("denied", f"{self._node.name}: {error}"), error.status)

    async def _capabilities(self, _: Request) -> Response:
        return JSONResponse(dataclasses.asdict(self._node.capabilities()))

    async def _status(self, _: Request) -> Response:
        return JSONResponse(dataclasses.asdict(self._node.status()))

    async def _scrape(self, _: Request) -> Response:
        return PlainTextResponse(self._metrics.text(), media_type="text/plain; version=0.0.4")

    async def _log(self, request: Request) -> Response:
        """The newest entries: /log?last=100."""
        last = request.query_params.get("last", "100")
        if not last.isdecimal() or len(last) > 6:
            return PlainTextResponse("last is a number of entries", 400)
        self._node.hear_native()
        return JSONResponse(self._node.log.newest(int(last)))

    async def _health(self, _: Request) -> Response:
        state = self._node.state
        return JSONResponse({"node": self._node.name, "state": state.value}, 503 if state == "fault" else 200)

    async def _preview(self, request: Request) -> Response:
        try:
            image = self._node.latest(request.query_params.get("buffer", ""))
        except KeyError as error:
            return PlainTextResponse(str(error.args[0]), 404)
        if image is None:
            return PlainTextResponse("no accepted image yet", 404)
        return Response(await asyncio.to_thread(png_of, image), media_type="image/png")

    async def _books(self, request: Request) -> Response:
        """One byte per image: /books?table=completeness&buffer=full, /books?table=fates&dtp=0."""
        table = request.query_params.get("table", "")
        key = request.query_params.get("buffer") or request.query_params.get("dtp", "")
        if table not in _TABLES:
            return PlainTextResponse(f"table is one of {', '.join(_TABLES)}", 400)
        try:
            return Response(self._node.table(table, key).tobytes(), media_type="application/octet-stream")
        except KeyError as error:
            return PlainTextResponse(str(error.args[0]), 404)


def _answer(message: Telegram, status: int = 200) -> Response:
    if isinstance(message, Fault) and status == 200:
        status = _HTTP_OF_FAULT[message.code]
    return Response(telegram_xml.encode(message), status, media_type=CONTENT_TYPE)


def _trust(request: Request) -> None:
    """The connection is of somebody who may give orders: it is not given up for strangers."""
    visitor = request.scope.get("visitor")
    if visitor is not None:
        visitor.trust()


def _decode(body: bytes) -> Telegram:
    with _ONE_AT_A_TIME:
        return telegram_xml.decode(body)


async def _body_of(request: Request) -> bytes:
    """The body, without ever holding more than a telegram may have."""
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > MAX_BYTES:
            raise _TooLargeError(f"a telegram has at most {MAX_BYTES} bytes")
        parts.append(part)
    return b"".join(parts)
