# SPDX-License-Identifier: Apache-2.0
"""Connects the manager to one node: sends requests over the control link."""

import asyncio
import contextlib
import dataclasses
import functools
import hashlib
import importlib
import importlib.util
import ssl
import sys
import time
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from rashpa.control.nodes.finishing_client import FinishingClient
from rashpa.control.nodes.lean_httpx import httpx
from rashpa.control.nodes.node_load import Load
from rashpa.control.nodes.node_url import tls_trouble
from rashpa.control.nodes.running_time import within
from rashpa.control.telegrams import telegram, telegram_xml
from rashpa.control.telegrams.run_state import TRANSITIONS, RunState
from rashpa.control.telegrams.telegram import Capabilities, Configure, Configured, Fault, Join, Status, Telegram
from rashpa.control.telegrams.telegram_xml import CONTENT_TYPE, TelegramError
from rashpa.data.base.rashpa_error import RashpaError
from rashpa.data.files.regular_file import json_of

_GOOD, _NOTHING_NEW, _DENIED, _ABSENT, _TOO_MANY = 200, 204, 401, 404, 429  # of HTTP
_QUESTION_S = 5.0
_SILENCE_S = 8.0  # of a node that is asked how it is: one that stands still for some seconds is not lost
_BOOKS_S = 30.0  # of tables with a byte an image
_GRACE_S = 2.0  # over the node's own deadline, so that its answer can come
_IDLE_S = 20.0  # how long an unused connection is kept; less than the node keeps it, so that it is never closed under a request
_MOST_ADDRESSES = 64
_ATTEMPTS = 4  # of a repeatable question: a node that strangers crowd may drop a connection before it knows whose it is
if importlib.util.find_spec("sniffio") is None:
    # httpcore imports it at every request, if it can; a module that is marked as absent is not looked for on the disk again
    sys.modules.setdefault("sniffio", None)  # type: ignore[arg-type]  # this is how the import system is told
_LOAD = TypeAdapter(Load)
_T = TypeVar("_T", bound=Telegram)


class NodeError(RashpaError, RuntimeError):
    """Reports a node that does not answer, or that refuses. `lost`: True when it did not answer at all."""

    def __init__(self, node: str, text: str, code: str = "internal", lost: bool = False) -> None:
        super().__init__(text)
        self.node = node
        self.code = code
        self.lost = lost


def run_id_of(owner: str) -> str:
    """Return the identifier that all files of a run share. It is derived from the secret by which the run owns its nodes; a manager that takes over
    the run has this secret, too."""
    return hashlib.sha256(owner.encode()).hexdigest()[:32] if owner else ""


class NodeClient:
    """Sends telegrams to one node and returns the answers. Every call ends within the deadline of its order."""

    def __init__(
        self,
        name: str,
        url: str,
        token: str = "",
        authority: str = "",
        transport: httpx.AsyncBaseTransport | None = None,
        owner: str = "",
        trusted: ssl.SSLContext | None = None,
    ) -> None:
        self.name = name
        self.url = url
        self._addresses: dict[str, httpx.URL] = {}
        self._owner = owner
        self.run_id = run_id_of(owner)
        headers = {"authorization": f"Bearer {token}"} if token else {}
        self._has_token, self._authority = bool(token), authority
        verify = trusted or (_no_authority() if url.startswith("http:") else _known_authorities())
        if authority:
            try:
                verify = ssl.create_default_context(cafile=authority)
            except (OSError, ssl.SSLError) as error:
                raise NodeError(
                    name, f"nodes.authority {authority}: {error}; give a certificate file in PEM", "config"
                ) from None
        # no proxy of the environment: nodes are reached directly
        self._http = FinishingClient(
            name,
            base_url=url,
            headers=headers,
            verify=verify,
            transport=transport,
            trust_env=False,
            limits=httpx.Limits(keepalive_expiry=_IDLE_S),
        )

    async def close(self) -> None:
        """Close the client after at most a second for requests in flight."""
        await self._http.aclose()

    async def capabilities(self, units: Sequence[str] = ()) -> Capabilities:
        """Return the capabilities of the node. It examines only `units`; without them, or when one of them cannot be used, it examines all of its
        units."""
        can = await self._ask(telegram.GetCapabilities(units=tuple(units)), Capabilities)
        if can.role == "receiver" and {unit.name for unit in can.units if unit.usable} < set(units):
            can = await self._ask(telegram.GetCapabilities(), Capabilities)
        return can

    async def configure(self, order: Configure) -> Configured:
        return await self._ask(order, Configured)

    async def join(self, order: Join) -> Configured:
        return await self._ask(order, Configured)

    async def order(self, order: Telegram) -> Status:
        """Send an order: Claim, Arm, Start, Pause, Resume, Stop, Abort, Reset, GetStatus. Return the status of the node. Raise NodeError."""
        return await self._ask(order, Status)

    async def order_unless_finished(self, order: Telegram) -> Status:
        """Send an order as `order` does, and return the status. A node that has finished needs no order; return its status."""
        try:
            return await self.order(order)
        except NodeError as error:
            if error.code != "state":
                raise
            status = await self.status()
            if status.state != RunState.finished:
                raise
            return status

    async def status(self) -> Status:
        return await self.order(telegram.GetStatus())

    async def table(self, name: str, *, buffer: str = "", dtp: int | None = None) -> bytes:
        """Return a table with one byte for each image: completeness or decisions of a buffer, or fates of a DTP."""
        query = {"table": name, **({"buffer": buffer} if buffer else {"dtp": str(dtp)})}
        try:
            answer = await self._get("/books", query, _BOOKS_S)
        except httpx.HTTPError as error:
            raise self._lost(error, f"{name} table") from None
        if answer.status_code != 200:
            raise NodeError(self.name, f"{self.name} has no {name} table: {answer.text[:200]}")
        return answer.content

    async def view(self, query: Mapping[str, str]) -> bytes | None:
        """Return a part of an image as numbers (`rashpa.data.figures.view_bytes`); None when there is no image, or none besides the known one."""
        try:
            answer = await self._get("/view", query)
        except httpx.HTTPError as error:
            raise self._lost(error, "view") from None
        if answer.status_code in (_NOTHING_NEW, _ABSENT):
            return None
        if answer.status_code != _GOOD:
            raise self._has_no("view", answer.status_code)
        return answer.content

    async def preview(self, buffer: str) -> bytes | None:
        """Return the newest accepted image of a buffer as PNG, None when there is none yet."""
        try:
            answer = await self._get("/preview", {"buffer": buffer})
        except httpx.HTTPError as error:
            raise self._lost(error, "preview") from None
        return answer.content if answer.status_code == _GOOD else None

    async def log(self, last: int) -> list[dict[str, Any]]:
        """Return the newest entries of the node's log, the oldest first: time, level, text, times."""
        return await self._list_of("log", last)

    async def audit(self, last: int) -> list[dict[str, Any]]:
        """Return the newest orders to the node, and the requests that it refused, the oldest first."""
        return await self._list_of("audit", last)

    async def load(self) -> Load:
        """Return the load of the node's process on its machine."""
        try:
            return _LOAD.validate_python(await self._json("load", {}))
        except ValidationError:
            raise self._has_no("load", _GOOD) from None

    async def _list_of(self, what: str, last: int) -> list[dict[str, Any]]:
        entries = await self._json(what, {"last": str(last)})
        if not isinstance(entries, list):
            raise self._has_no(what, _GOOD)
        return entries

    async def _json(self, what: str, query: dict[str, str]) -> Any:
        try:
            answer = await self._get(f"/{what}", query)
        except httpx.HTTPError as error:
            raise self._lost(error, what) from None
        if answer.status_code == _DENIED:
            given = ", and another one was given" if self._has_token else ""
            raise NodeError(self.name, f"{self.name} needs its bearer token{given}; set RASHPA_TOKEN", "denied")
        if answer.status_code == _GOOD:
            with contextlib.suppress(ValueError):
                return json_of(answer.content)
        raise self._has_no(what, answer.status_code)

    def _has_no(self, what: str, status: int) -> NodeError:
        text = f"{self.name} at {self.url} has no {what}: HTTP {status}; give the URL of a rashpa node of this version"
        return NodeError(self.name, text)

    async def _ask(self, message: Telegram, expected: type[_T]) -> _T:
        name = type(message).__name__
        deadline_s = TRANSITIONS[name].deadline_s + _GRACE_S if name in TRANSITIONS else _SILENCE_S
        if isinstance(message, telegram.Order) and self._owner:
            message = dataclasses.replace(message, owner=self._owner)
        repeatable = isinstance(message, telegram.GetCapabilities | telegram.GetStatus | telegram.Claim)
        try:
            answer = await self._post(telegram_xml.encode(message), deadline_s, _ATTEMPTS if repeatable else 1)
        except TelegramError as error:
            raise NodeError(self.name, str(error), "telegram") from None
        except httpx.HTTPError as error:
            raise self._lost(error, name) from None
        try:
            reply = telegram_xml.decode(answer.content)
        except TelegramError as error:
            text = (
                f"{self.name} at {self.url} answers {name} with HTTP {answer.status_code} and no telegram ({error}); give the URL of a rashpa node"
                f"{self._port_hint()}"
            )
            raise NodeError(self.name, text, "telegram") from None
        if isinstance(reply, Fault):
            raise NodeError(self.name, reply.text, reply.code)
        if not isinstance(reply, expected):
            raise NodeError(
                self.name,
                f"{self.name} answers {name} with {type(reply).__name__}, not {expected.__name__}",
                "telegram",
            )
        return reply

    async def raw(self, body: bytes) -> bytes:
        """Send bytes, which need not be a telegram, and return the bytes of the answer. Raise NodeError when none comes."""
        try:
            return (await self._post(body, _SILENCE_S, 1)).content
        except httpx.HTTPError as error:
            raise self._lost(error, "telegram") from None

    async def _post(self, body: bytes, deadline_s: float, attempts: int) -> httpx.Response:
        """Send the body. All attempts together take at most twice the deadline, since an answer of a few bytes now and then would never end."""
        try:
            async with within(2.0 * deadline_s):
                return await self._attempt(body, deadline_s, attempts)
        except TimeoutError:
            raise httpx.ReadTimeout(f"no whole answer within {2.0 * deadline_s:g} s") from None

    async def _get(self, path: str, query: Mapping[str, str], patience_s: float = _QUESTION_S) -> httpx.Response:
        """Send a GET request. Running time limits it, not httpx, whose clock continues while this process is stopped."""
        try:
            async with within(patience_s):
                return await self._http.get(self._url(path, query), timeout=None)
        except TimeoutError:
            raise httpx.ReadTimeout(f"no whole answer within {patience_s:g} s") from None

    def _url(self, path: str, query: Mapping[str, str]) -> httpx.URL:
        """Return the absolute URL. Known URLs are cached, since httpx takes as long to build one as for the request itself."""
        text = f"{self.url.rstrip('/')}{path}" + (f"?{urllib.parse.urlencode(query)}" if query else "")
        found = self._addresses.get(text)
        if found is None:
            if len(self._addresses) >= _MOST_ADDRESSES:
                self._addresses.clear()
            found = self._addresses[text] = httpx.URL(text)
        return found

    async def _attempt(self, body: bytes, deadline_s: float, attempts: int) -> httpx.Response:
        ends = time.monotonic() + deadline_s
        while True:
            attempts -= 1
            try:
                async with within(deadline_s):
                    answer = await self._http.post(
                        self._url("/telegram", {}), content=body, headers={"content-type": CONTENT_TYPE}, timeout=None
                    )
                wait_s = _wait_of(answer)
                if wait_s is None or time.monotonic() + wait_s > ends:
                    return answer
                attempts += 1
                await asyncio.sleep(wait_s)
            except (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError):
                if not attempts:
                    raise

    def _port_hint(self) -> str:
        """Return a hint for a URL without a port."""
        url = urllib.parse.urlsplit(self.url)
        if url.port is not None:
            return ""
        port = 443 if url.scheme == "https" else 80
        return (
            f". The URL has no port, so that port {port} is asked; a node prints its URL with its port when it starts"
        )

    def _lost(self, error: httpx.HTTPError, name: str) -> NodeError:
        trouble = tls_trouble(self.url, str(error), self._authority) if isinstance(error, httpx.ConnectError) else ""
        if trouble:
            return NodeError(self.name, f"{self.name} at {self.url} {trouble}", "lost", lost=True)
        if isinstance(error, httpx.TimeoutException):
            what = "did not answer in time"
        elif isinstance(error, httpx.ConnectError):
            what = f"cannot be reached ({error})"
        else:
            secure = "" if self.url.startswith("https:") else "; if it has a certificate, write https://"
            what = f"broke the connection ({type(error).__name__}{secure})"
        hint = self._port_hint() or (
            '. Start the node there (`rashpa emulator` or `rashpa receiver` prints its URL), or let the run start its own: node = "local"'
            if isinstance(error, httpx.ConnectError)
            else ""
        )
        return NodeError(self.name, f"{self.name} at {self.url} {what} ({name}){hint}", "lost", lost=True)


@functools.cache
def _known_authorities() -> ssl.SSLContext:
    """Return the context of authorities that httpx trusts. It is loaded once: loading takes longer than a request, and a run has many nodes."""
    return httpx.create_ssl_context()


def get_ready() -> None:
    """Import the modules that a first client needs, in advance."""
    httpx.AsyncHTTPTransport(verify=_no_authority())
    with contextlib.suppress(ImportError):
        importlib.import_module("anyio._backends._asyncio")  # by the name by which anyio itself finds it


def _no_authority() -> ssl.SSLContext:
    """Return a context that trusts no authority, for a client without TLS."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _wait_of(answer: httpx.Response) -> float | None:
    """Return the seconds after which a busy node wants the next request; None when it has answered."""
    told = answer.headers.get("retry-after", "")
    return float(told) if answer.status_code == _TOO_MANY and told.isdecimal() and len(told) < 6 else None
