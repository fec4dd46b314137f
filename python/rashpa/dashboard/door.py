# SPDX-License-Identifier: Apache-2.0
"""Accepts a limited number of connections to the page, each with a time-out until the first request with the right to look."""

import resource
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPServerRequest
from tornado.ioloop import IOLoop
from tornado.iostream import IOStream

MOST = 256  # connections; a browser has some six for a page
STRANGER_S = 5.0  # for TLS, and for a request from its first byte to its last
_OWN_FILES = 64  # of the process besides: images, reports, nodes


class Door(HTTPServer):
    """Accepts connections for Bokeh's server. `most`: the limit of connections; at the limit, connections of strangers are closed first, the oldest
    first."""

    def initialize(self, *args: Any, most: int = MOST, **options: Any) -> None:
        super().initialize(*args, **options)
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._most = most if files < 0 else max(1, min(most, files - _OWN_FILES))
        self._strangers: dict[
            IOStream, object
        ] = {}  # the timer that ends each, in the order in which they came, or were last heard
        self._friends: set[IOStream] = set()

    def handle_stream(self, stream: IOStream, address: tuple[Any, ...]) -> None:
        """Check a connection before TLS. The server calls this for each connection."""
        if not self._has_room():
            stream.close()
            return
        self._limit(stream)
        super().handle_stream(stream, address)

    def heard(self, request: HTTPServerRequest, *, may_look: bool) -> None:
        """Note a whole request: with `may_look` its connection stays open; a stranger's connection gets a new deadline."""
        stream = getattr(request.connection, "stream", None)
        if stream is None or stream in self._friends or stream.closed():
            return
        self._forget(stream)
        if may_look:
            self._friends.add(stream)
        else:
            self._limit(stream)

    def _limit(self, stream: IOStream) -> None:
        self._strangers[stream] = IOLoop.current().call_later(STRANGER_S, self._send_away, stream)

    def _forget(self, stream: IOStream) -> None:
        if (timer := self._strangers.pop(stream, None)) is not None:
            IOLoop.current().remove_timeout(timer)

    def _send_away(self, stream: IOStream) -> None:
        self._forget(stream)
        stream.close()

    def _has_room(self) -> bool:
        # Closed connections are forgotten here: HTTP's own callback hears of that. Their buffers would stay for as long.
        for stream in [stream for stream in self._strangers if stream.closed()]:
            self._forget(stream)
        self._friends = {stream for stream in self._friends if not stream.closed()}
        if len(self._strangers) + len(self._friends) < self._most:
            return True
        oldest = next(iter(self._strangers), None)
        if oldest is not None:
            self._send_away(oldest)
        return oldest is not None
