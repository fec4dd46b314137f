"""Runs a node as a process: listens, says where, ends when told."""

import asyncio
import contextlib
import ipaddress
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from rashpa.node.engine import EngineFactory
from rashpa.node.node import Node
from rashpa.node.server import NodeApp

_CLOSE_S = 12.0  # Abort and Reset have 10 s


class ServeError(RuntimeError):
    """The node cannot be started this way; the text says what to change."""


@dataclass(frozen=True)
class Listen:
    """Where a node listens. Addresses other than loopback need a token and TLS. Port 0: any free one."""

    host: str = "127.0.0.1"
    port: int = 0
    token: str = ""
    certificate: Path | None = None
    key: Path | None = None
    with_parent: bool = False  # ends when stdin is closed, that is, when the process that started it ends

    def check(self) -> None:
        """Raises ServeError when it is not safe or not possible."""
        if (self.certificate is None) != (self.key is None):
            raise ServeError("TLS needs both --certificate and --key")
        for path in (self.certificate, self.key):
            if path is not None and not path.is_file():
                raise ServeError(f"{path}: no such file; TLS needs a certificate and its key in PEM")
        if not _is_loopback(self.host) and not (self.token and self.certificate):
            raise ServeError(
                f"{self.host} is not a loopback address: other machines could give orders. Set a token (RASHPA_TOKEN) and TLS "
                "(--certificate, --key), or listen on 127.0.0.1"
            )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _socket_of(listen: Listen) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(listen.host, listen.port, type=socket.SOCK_STREAM)[0]
        taken = socket.socket(family, kind, protocol)
    except OSError as error:
        raise ServeError(f"{listen.host}: {error.strerror}; give an address of this machine") from None
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind(address)
    except OSError as error:
        taken.close()
        raise ServeError(
            f"{listen.host} port {listen.port}: {error.strerror}; take another --port, or 0 for any free one"
        ) from None
    return taken


def serve_node(role: str, name: str, factory: EngineFactory, listen: Listen, version: str) -> None:
    """Serves until SIGTERM, SIGINT or, `with_parent`, the end of the parent. Prints one line of JSON {"node", "role", "url"} when it can take
    telegrams. ServeError before that."""
    listen.check()
    taken = _socket_of(listen)
    try:
        asyncio.run(_serve(role, name, factory, listen, version, taken))
    finally:
        taken.close()


async def _serve(
    role: str, name: str, factory: EngineFactory, listen: Listen, version: str, taken: socket.socket
) -> None:
    node = Node(name, role, factory)
    config = uvicorn.Config(
        NodeApp(node, version, listen.token).starlette(),
        log_level="warning",
        access_log=False,
        lifespan="off",
        ssl_certfile=listen.certificate,
        ssl_keyfile=listen.key,
        timeout_graceful_shutdown=1,
    )
    host, port = taken.getsockname()[:2]
    url = f"{'https' if listen.certificate else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"
    server = _NodeServer(config, json.dumps({"node": name, "role": role, "url": url}))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, server.end)
    if listen.with_parent:
        threading.Thread(target=_watch_parent, args=(loop, server.end), daemon=True, name="parent").start()
    await server.serve([taken])
    _exit_later(_CLOSE_S)
    await node.close()


class _NodeServer(uvicorn.Server):
    """Says when it is ready, and leaves the signals to the node."""

    def __init__(self, config: uvicorn.Config, announcement: str) -> None:
        super().__init__(config)
        self._announcement = announcement

    def end(self) -> None:
        """Ends serve(); from the loop's thread."""
        self.should_exit = True

    def capture_signals(self) -> contextlib.AbstractContextManager[None]:  # type: ignore[override]
        return contextlib.nullcontext()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            sys.stdout.write(f"{self._announcement}\n")
            sys.stdout.flush()


def _watch_parent(loop: asyncio.AbstractEventLoop, end: Callable[[], None]) -> None:
    """The parent holds the other end of stdin; it is closed however the parent ends."""
    with contextlib.suppress(OSError):
        while os.read(sys.stdin.fileno(), 4096):
            pass
    with contextlib.suppress(RuntimeError):  # the loop has ended already
        loop.call_soon_threadsafe(end)


def _exit_later(seconds: float) -> None:
    """An engine that does not stop must not keep the process, and its ports, alive."""
    timer = threading.Timer(seconds, os._exit, args=(70,))
    timer.daemon = True
    timer.start()
