# SPDX-License-Identifier: Apache-2.0
"""Serves a node over HTTP: POST /telegram, and GET /capabilities, /status, /load, /metrics, /healthz, /preview, /view, /books, /log, /audit. GET
/openapi.json describes them all."""

import asyncio
import dataclasses
import functools
import threading
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from rashpa.control.telegrams import telegram_xml
from rashpa.control.telegrams.telegram import Fault, Telegram
from rashpa.control.telegrams.telegram_xml import MAX_BYTES, TelegramError
from rashpa.data.figures.view_bytes import MEDIA_TYPE
from rashpa.node.door.access import Access, AccessError
from rashpa.node.door.audit import Audit
from rashpa.node.door.guard import Guard, answer_of, peer_of, trust
from rashpa.node.door.http_interface import HTTP_OF_FAULT, Health, interface
from rashpa.node.door.query import BUFFER, DTP, LAST, TABLE
from rashpa.node.door.request_limits import RequestLimits
from rashpa.node.door.viewing import Viewing, asked_of
from rashpa.node.engine.preview import png_of, viewed
from rashpa.node.host.load import load
from rashpa.node.state.node import Node

if TYPE_CHECKING:
    from rashpa.node.door.metrics import NodeMetrics

Endpoint = Callable[[Request], Awaitable[Response]]
_SHORT_BYTES = 16 << 10
_DISCARDED_BYTES = (
    16 * MAX_BYTES
)  # bytes of a body that is too long: they are read and dropped, so that its sender sees the answer
_ONE_AT_A_TIME = threading.Lock()  # long telegrams share one processor, however many come
_TOO_LARGE, _BAD_REQUEST, _NOTHING_NEW = 413, 400, 204


class _TooLargeError(Exception):
    """Refuses a body that is longer than a telegram may be."""


class NodeApp:
    """Serves the endpoints of one node. Every request needs a valid token, except requests for /healthz."""

    def __init__(
        self,
        node: Node,
        version: str,
        access: Access | None = None,
        audit: Audit | None = None,
        limits: RequestLimits | None = None,
    ) -> None:
        self._node = node
        self._guard = Guard(node, access or Access(), audit or Audit(), limits or RequestLimits())
        self._viewing = Viewing()
        self._version = version

    def starlette(self) -> Starlette:
        """Return the ASGI application."""
        guarded = self._guarded
        return Starlette(
            routes=[
                Route("/telegram", guarded(self._take_telegram), methods=["POST"]),
                Route("/capabilities", guarded(self._capabilities)),
                Route("/status", guarded(self._status)),
                Route("/load", guarded(self._load)),
                Route("/metrics", guarded(self._scrape)),
                Route("/preview", guarded(self._preview)),
                Route("/view", guarded(self._view)),
                Route("/books", guarded(self._books)),
                Route("/log", guarded(self._log)),
                Route("/audit", guarded(self._audit)),
                Route("/openapi.json", guarded(self._openapi)),
                Route("/healthz", self._health),
            ]
        )

    def _guarded(self, endpoint: Endpoint) -> Endpoint:
        async def checked(request: Request) -> Response:
            try:
                return self._guard.refusal(request) or await endpoint(request)
            except (
                ClientDisconnect
            ):  # the client has gone before its request was whole, as a manager whose run has ended
                return Response(status_code=_BAD_REQUEST)

        return checked

    async def _take_telegram(self, request: Request) -> Response:
        began = time.monotonic()
        try:
            self._guard.access.check_telegram(request.headers)
            body = await _body_of(request)
            # a long one must not keep the others waiting
            order = telegram_xml.decode(body) if len(body) < _SHORT_BYTES else await asyncio.to_thread(_decode, body)
        except AccessError as error:
            return self._guard.refused(request, "denied", str(error), error.status)
        except _TooLargeError as error:
            return self._guard.refused(request, "telegram", str(error), _TOO_LARGE)
        except TelegramError as error:
            return self._guard.refused(request, error.code, str(error), HTTP_OF_FAULT[error.code])
        holder, is_owner = self._node.holder, self._node.is_owner(order)
        answer = await self._node.obey(order)
        if self._node.is_owner(order):
            is_owner = True
            trust(request)
        status = HTTP_OF_FAULT[answer.code] if isinstance(answer, Fault) else 200
        self._guard.counts.answered(order, answer, time.monotonic() - began)
        whose = holder or self._node.holder
        self._guard.audit.answered(peer_of(request), order, body, answer, status, whose, is_owner)
        return answer_of(answer, status)

    async def _capabilities(self, _: Request) -> Response:
        return JSONResponse(dataclasses.asdict(self._node.capabilities()))

    async def _status(self, _: Request) -> Response:
        return JSONResponse(dataclasses.asdict(self._node.status()))

    async def _load(self, _: Request) -> Response:
        return JSONResponse(dataclasses.asdict(load()))

    async def _openapi(self, _: Request) -> Response:
        return JSONResponse(interface())

    async def _scrape(self, _: Request) -> Response:
        return PlainTextResponse(self._metrics.text(), media_type="text/plain; version=0.0.4")

    @functools.cached_property
    def _metrics(self) -> "NodeMetrics":
        """Return the metrics, made for the first scrape."""
        from rashpa.node.door.metrics import NodeMetrics  # with the library of Prometheus, which few runs need

        node = self._node
        return NodeMetrics(node.status, self._version, self._guard.counts, lambda: node.run, node.log.levels)

    async def _log(self, request: Request) -> Response:
        """Answer with the newest entries of the log: /log?last=100."""
        self._node.hear_native()
        return _newest(request, self._node.log.newest)

    async def _audit(self, request: Request) -> Response:
        """Answer with the newest records of the audit: /audit?last=100."""
        return _newest(request, self._guard.audit.newest)

    async def _health(self, request: Request) -> Response:
        if (refusal := self._guard.overrun(request, trusted=False)) is not None:
            return refusal
        state = self._node.state
        return JSONResponse(dataclasses.asdict(Health(self._node.name, state.value)), 503 if state == "fault" else 200)

    async def _preview(self, request: Request) -> Response:
        try:
            found = self._node.preview(BUFFER.read(request.query_params))
        except KeyError as error:
            return PlainTextResponse(str(error.args[0]), 404)
        if found is None:
            return PlainTextResponse("no accepted image yet", 404)
        return Response(await self._viewing.do(png_of, found.pixels), media_type="image/png")

    async def _view(self, request: Request) -> Response:
        """Answer with a part of an image, as numbers: /view?buffer=full&step=2&after=17, /view?buffer=full&of=vetoed."""
        try:
            asked = asked_of(request.query_params)
            found = await self._viewing.newer(lambda: self._node.preview(asked.buffer, asked.of), asked.after)
            if found is None:
                return Response(status_code=_NOTHING_NEW)
            return Response(await self._viewing.do(viewed, found, asked.view), media_type=MEDIA_TYPE)
        except KeyError as error:
            return PlainTextResponse(str(error.args[0]), 404)
        except ValueError as error:
            return PlainTextResponse(str(error), _BAD_REQUEST)

    async def _books(self, request: Request) -> Response:
        """Answer with one byte per image: /books?table=completeness&buffer=full, /books?table=fates&dtp=0."""
        query = request.query_params
        try:
            table, key = TABLE.read(query), BUFFER.read(query) or DTP.read(query)
        except ValueError as error:
            return PlainTextResponse(str(error), _BAD_REQUEST)
        try:
            return Response(self._node.table(table, key).tobytes(), media_type="application/octet-stream")
        except KeyError as error:
            return PlainTextResponse(str(error.args[0]), 404)
        except Exception as error:  # noqa: BLE001  whatever the engine threw, the client is told
            return PlainTextResponse(f"the engine cannot give it: {error}", 404)


def _newest(request: Request, known: Callable[[int], list[dict[str, object]]]) -> Response:
    try:
        return JSONResponse(known(LAST.read(request.query_params) or 0))
    except ValueError as error:
        return PlainTextResponse(str(error), _BAD_REQUEST)


def _decode(body: bytes) -> Telegram:
    with _ONE_AT_A_TIME:
        return telegram_xml.decode(body)


async def _body_of(request: Request) -> bytes:
    """Return the body. Raise an error as soon as it is longer than a telegram may be, without reading the rest."""
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size <= MAX_BYTES:
            parts.append(part)
        elif size > _DISCARDED_BYTES:
            break
    if size > MAX_BYTES:
        raise _TooLargeError(f"a telegram has at most {MAX_BYTES} bytes")
    return b"".join(parts)
