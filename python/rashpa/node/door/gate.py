# SPDX-License-Identifier: Apache-2.0
"""Accepts a limited number of connections, each with a time-out until its first whole request. Users with the right to order always get a connection.

Connections of strangers use the same limit of open files as the data path and the output files. So the gate accepts connections itself, in place of
the event loop's server, and counts a connection from then on, before any TLS handshake.
"""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

REQUEST_S = 5.0  # for TLS, and for each request from its first byte to its last
KEEP_S = 30.0  # how long an unused connection is kept
MOST = 64  # connections
HEADER_BYTES = 16 << 10
_PARTS = 5  # of that time: a process that stands still loses one of them, however long it stands
_PAUSE_S = 0.05  # after the kernel had no file left for a connection


class Visitor:
    """Holds one connection, from its acceptance to its end."""

    def __init__(self, accepted: socket.socket) -> None:
        self.trusted = False
        self._socket = accepted
        self._protocol: Http | None = None
        self.opening: asyncio.Task[None] | None = None

    def trust(self) -> None:
        self.trusted = True

    def met(self, protocol: "Http") -> None:
        """Note that the connection now speaks HTTP, after any TLS handshake."""
        self._protocol = protocol

    @property
    def is_met(self) -> bool:
        return self._protocol is not None

    @property
    def busy(self) -> bool:
        """Return True while a request is not completely answered."""
        cycle = self._protocol.cycle if self._protocol is not None else None
        return cycle is not None and not cycle.response_complete

    def send_away(self) -> None:
        """Close the connection at once."""
        if self._protocol is not None:
            self._protocol.transport.abort()
        elif self.opening is not None:
            self.opening.cancel()
        with contextlib.suppress(OSError):  # a handshake would otherwise be waited for
            self._socket.shutdown(socket.SHUT_RDWR)


class Gate:
    """Accepts connections for the server of `config`, at most `most` of them."""

    def __init__(self, config: Config, state: ServerState, secure: ssl.SSLContext | None, most: int = MOST) -> None:
        self._config = config
        self._state = state
        self._secure = secure
        self._most = most
        self._visitors: dict[Visitor, None] = {}  # in the order in which they came, or were last heard
        self._leaving: set[Visitor] = set()
        self._gone = asyncio.Event()

    async def serve(self, listening: socket.socket) -> None:
        """Accept connections until cancelled."""
        try:
            while True:
                await self._accept(listening)
        finally:
            for visitor in list(self._visitors):  # those that the server does not know yet
                if not visitor.is_met:
                    self.send_away(visitor)

    def send_all_away(self) -> None:
        """Close all open connections at once."""
        for visitor in list(self._visitors):
            self.send_away(visitor)

    async def _accept(self, listening: socket.socket) -> None:
        try:
            accepted, _ = await asyncio.get_running_loop().sock_accept(listening)
        except OSError:
            self._make_room()
            await asyncio.sleep(_PAUSE_S)
            return
        while len(self._visitors) >= self._most and self._make_room():
            pass
        if len(self._visitors) >= self._most:  # all of them wait for answers that they have a right to
            accepted.close()
        else:
            visitor = Visitor(accepted)
            self._visitors[visitor] = None
            visitor.opening = asyncio.create_task(self._open(visitor, accepted))
        # a refused connection goes before the next is accepted: a socket is closed a turn of the loop later
        await asyncio.sleep(0)
        while len(self._leaving) >= self._most:  # noqa: ASYNC110  they leave one by one, in this loop
            await asyncio.sleep(_PAUSE_S)

    def left(self, visitor: Visitor) -> None:
        """Remove a closed connection from the count."""
        self._visitors.pop(visitor, None)
        self._leaving.discard(visitor)
        self._gone.set()

    async def emptied(self) -> None:
        """Wait until every connection is closed. Call it after `serve` has stopped."""
        while self._visitors or self._leaving:
            self._gone.clear()
            await self._gone.wait()

    def heard(self, visitor: Visitor) -> None:
        """Move the connection to the end of the order in which connections are closed, because it has sent a request."""
        if visitor in self._visitors:
            del self._visitors[visitor]
            self._visitors[visitor] = None

    def send_away(self, visitor: Visitor) -> None:
        if self._visitors.pop(visitor, 0) is None:
            self._leaving.add(visitor)
        visitor.send_away()

    def _make_room(self) -> bool:
        """Close the connection of the stranger that has been silent for longest; without strangers, close an idle connection. Return False when there
        is none to close."""
        strangers = (visitor for visitor in self._visitors if not visitor.trusted)
        idle = (visitor for visitor in self._visitors if not visitor.busy)
        victim = next(strangers, None) or next(idle, None)
        if victim is not None:
            self.send_away(victim)
        return victim is not None

    async def _open(self, visitor: Visitor, accepted: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        accepted.setblocking(False)
        limits = {} if self._secure is None else {"ssl_handshake_timeout": REQUEST_S, "ssl_shutdown_timeout": 1.0}
        try:
            await loop.connect_accepted_socket(self._protocol_of(visitor), accepted, ssl=self._secure, **limits)
        except (OSError, asyncio.CancelledError):  # a handshake that failed, took too long, or was cut off
            accepted.close()
            self.left(visitor)

    def _protocol_of(self, visitor: Visitor) -> Callable[[], "Http"]:
        return lambda: Http(self._config, self._state, self, visitor)


class Http(H11Protocol):
    """Speaks HTTP on a connection, with a time-out for the arrival of a request."""

    def __init__(self, config: Config, state: ServerState, gate: Gate, visitor: Visitor) -> None:
        super().__init__(config, state, {})
        self._gate = gate
        self._visitor = visitor
        self._late: asyncio.TimerHandle | None = None
        self._parts = 0
        application = self.app

        async def known(scope, receive, send) -> None:  # type: ignore[no-untyped-def]
            scope["visitor"] = visitor
            await application(scope, receive, send)

        self.app = known

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._visitor.met(self)
        self._limit()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        unfinished = self.conn.their_state is h11.SEND_BODY or (
            self.conn.their_state is h11.IDLE and bool(self.conn.trailing_data[0])
        )
        if not unfinished:
            self._gate.heard(self._visitor)
            self._end_limit()
        elif self._late is None:
            self._limit()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_limit()
        self._gate.left(self._visitor)
        super().connection_lost(exc)

    def _limit(self) -> None:
        self._parts = _PARTS
        self._go_on()

    def _go_on(self) -> None:
        if self._parts == 0:
            self._gate.send_away(self._visitor)
            return
        self._parts -= 1
        self._late = self.loop.call_later(REQUEST_S / _PARTS, self._go_on)

    def _end_limit(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None
