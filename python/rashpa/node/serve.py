# SPDX-License-Identifier: Apache-2.0
"""Runs a node as a process: it listens, announces its address, and ends on request."""

import asyncio
import contextlib
import json
import logging
import os
import resource
import signal
import socket
import ssl
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import uvicorn

from rashpa.control.orders.grant import Grant
from rashpa.node.door.access import Access, is_loopback, names_of
from rashpa.node.door.audit import Audit
from rashpa.node.door.gate import HEADER_BYTES, KEEP_S, MOST, Gate
from rashpa.node.door.server import NodeApp
from rashpa.node.door.tls import tls_context
from rashpa.node.engine.engine import EngineFactory
from rashpa.node.host.printed import Printed, PrintedStream
from rashpa.node.host.printed_drain import OWN
from rashpa.node.logs.log import NodeLog
from rashpa.node.logs.serve_error import ServeError
from rashpa.node.state.node import Node

_CLOSE_S = 12.0  # Abort and Reset have 10 s
_ANSWER_S = 1.0  # the time for answers in flight when the node ends
_LEAVE_S = 0.1  # … and so long to find that nobody listens any more
_DATE_S = 1.0  # how often answers get another date
_HEAR_S = 0.25  # native code has room for 512 messages
_BACKLOG = 128
_FEWEST_FILES = 128
_SHARE = 4  # connections get a quarter of the files that may be open, the data path and the output the rest


@dataclass(frozen=True)
class Listen:
    """Describes where a node listens. Addresses other than loopback need a token and TLS. `port`: 0 for any free one; `aliases`: other names of the
    node."""

    host: str = "127.0.0.1"
    port: int = 0
    token: str = ""
    certificate: Path | None = None
    key: Path | None = None
    with_parent: bool = False  # ends when stdin is closed, that is, when the process that started it ends
    lease_s: float = 10.0  # how long it serves a manager that is silent; not with a parent, whose end is seen
    aliases: tuple[str, ...] = ()

    def check(self) -> None:
        """Raise ServeError when listening this way is unsafe or impossible."""
        if (self.certificate is None) != (self.key is None):
            raise ServeError("TLS needs both --certificate and --key; give the missing one")
        for path in (self.certificate, self.key):
            if path is not None and not path.is_file():
                raise ServeError(f"{path}: no such file; TLS needs a certificate and its key in PEM")
        if not is_loopback(self.host) and not (self.token and self.certificate):
            raise ServeError(
                f"{self.host} is not a loopback address, and other machines could give orders; set a token (RASHPA_TOKEN) and TLS "
                "(--certificate, --key), or listen on 127.0.0.1"
            )

    def access(self) -> Access:
        """Return the object that checks requests to the node."""
        return Access(self.token, names_of(self.host, self.aliases))


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


def read_grant() -> Grant:
    """Read the grant, which `rashpa run` writes to the standard input of a node that it starts. Raise ServeError when there is none."""
    try:
        # not sys.stdin, which would read on: the end of the parent is awaited there
        line = b""
        while not line.endswith(b"\n") and (byte := os.read(0, 1)):
            line += byte
        return Grant.of_line(line)
    except (OSError, ValueError):
        raise ServeError(
            "--of-run is for `rashpa run` alone, which grants rights on standard input; leave it out"
        ) from None


def open_files() -> int:
    """Raise the limit of open files to its maximum and return it. Raise ServeError when the limit is too low for a node."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if hard < _FEWEST_FILES:
        raise ServeError(f"only {hard} files may be open at once, a node needs {_FEWEST_FILES}; raise `ulimit -n`")
    return hard


def serve_node(
    role: str,
    name: str,
    factory: EngineFactory,
    listen: Listen,
    version: str,
    log: NodeLog | None = None,
    audit: Audit | None = None,
    printed: Printed | None = None,
) -> None:
    """Serve until SIGTERM, SIGINT or, with `with_parent`, the end of the parent process; a run may outlive the parent. When the node can take
    telegrams, print one line of JSON {"node", "role", "url"}. Raise ServeError before that. `printed`: captures all output from then on."""
    listen.check()
    secure = tls_context(listen.certificate, listen.key) if listen.certificate and listen.key else None
    most = min(MOST, open_files() // _SHARE)
    taken = _socket_of(listen)
    try:
        asyncio.run(_serve(role, name, factory, listen, version, taken, secure, most, log, audit, printed))
    finally:
        taken.close()


async def _serve(
    role: str,
    name: str,
    factory: EngineFactory,
    listen: Listen,
    version: str,
    taken: socket.socket,
    secure: ssl.SSLContext | None,
    most: int,
    log: NodeLog | None,
    audit: Audit | None,
    printed: Printed | None,
) -> None:
    node = Node(name, role, factory, 0.0 if listen.with_parent else listen.lease_s, log)
    _log_into(node, sys.stderr)
    config = uvicorn.Config(
        NodeApp(node, version, listen.access(), audit).starlette(),
        log_level="error",  # a warning for each stranger's nonsense would fill the disk
        access_log=False,
        lifespan="off",
        ws="none",
        timeout_keep_alive=int(KEEP_S),
        h11_max_incomplete_event_size=HEADER_BYTES,
    )
    host, port = taken.getsockname()[:2]
    url = f"{'https' if listen.certificate else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"
    announcement = json.dumps({"node": name, "role": role, "url": url})

    def announce() -> None:
        sys.stdout.write(f"{announcement}\n")
        sys.stdout.flush()
        if printed is not None:
            printed.redirect(node.hear_printed)
            _log_into(node, PrintedStream(2, OWN))  # type: ignore[arg-type]  # a stream that text is written to

    server = _NodeServer(config, announce, secure, most)
    node.log.logger.info(f"rashpa {version}: {role} {name} listens at {url}")
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, server.end)
    if listen.with_parent:
        outliving: list[asyncio.Task[None]] = []  # tasks that nobody holds are collected

        def parent_gone() -> None:
            streams = range(1 if printed else 3)
            outliving.append(asyncio.create_task(_outlive_parent(node, listen.lease_s, server.end, streams)))

        threading.Thread(target=_watch_parent, args=(loop, parent_gone), daemon=True, name="parent").start()
    hearing = asyncio.create_task(_hear_native(node))
    await server.serve([taken])
    hearing.cancel()
    _exit_later(_CLOSE_S)
    await node.close()
    node.hear_native()
    node.log.end()


async def _hear_native(node: Node) -> None:
    """Read messages of native code regularly, so that its buffer never fills and a file gets them soon."""
    while True:
        node.hear_native()
        await asyncio.sleep(_HEAR_S)


def _log_into(node: Node, errors: TextIO) -> None:
    """Send the package's log records to the node's log, and serious ones to standard error, too. Of the node's own events, only those with a
    traceback go to standard error."""
    logger = logging.getLogger("rashpa")
    logger.setLevel(logging.INFO)
    said = logging.StreamHandler(errors)
    said.setLevel(logging.WARNING)
    logger.handlers[:] = [node.log, said]
    traced = logging.StreamHandler(errors)
    traced.addFilter(lambda record: record.exc_info is not None)
    node.log.logger.handlers[:] = [node.log, traced]


class _NodeServer(uvicorn.Server):
    """Announces when it is ready. The node handles signals, and the gate handles connections."""

    def __init__(
        self, config: uvicorn.Config, announce: Callable[[], None], secure: ssl.SSLContext | None, most: int
    ) -> None:
        super().__init__(config)
        self._announce = announce
        self._gate = Gate(config, self.server_state, secure, most)
        self._accepting: list[asyncio.Task[None]] = []
        self._ended = asyncio.Event()

    def end(self) -> None:
        """Make serve() return; call it on the loop's thread."""
        self.should_exit = True
        self._ended.set()

    def capture_signals(self) -> contextlib.AbstractContextManager[None]:  # type: ignore[override]
        return contextlib.nullcontext()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self.servers = []
        for taken in sockets or []:
            taken.listen(_BACKLOG)
            taken.setblocking(False)
            self._accepting.append(asyncio.create_task(self._gate.serve(taken)))
        self.started = True
        self._announce()

    async def main_loop(self) -> None:
        # uvicorn looks ten times a second whether it is to end
        while not await self.on_tick(0):  # which tells the date
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_DATE_S):
                    await self._ended.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # uvicorn waits for a tenth of a second, and for another where a connection is not closed by then
        for accepting in self._accepting:
            accepting.cancel()
        await asyncio.gather(*self._accepting, return_exceptions=True)
        for taken in sockets or []:
            taken.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_ANSWER_S):
                await self._gate.emptied()
        self._gate.send_all_away()
        if answers := self.server_state.tasks:
            _, late = await asyncio.wait(answers, timeout=_LEAVE_S)
            for answer in late:
                answer.cancel()


def _watch_parent(loop: asyncio.AbstractEventLoop, end: Callable[[], None]) -> None:
    """Call `end` when stdin closes. The parent holds the other end of the pipe, which closes when the parent ends in any way."""
    with contextlib.suppress(OSError):
        while os.read(sys.stdin.fileno(), 4096):
            pass
    with contextlib.suppress(RuntimeError):  # the loop has ended already
        loop.call_soon_threadsafe(end)


async def _outlive_parent(node: Node, lease_s: float, end: Callable[[], None], streams: range) -> None:
    """End the node when it is no longer needed: now or, when a run goes on without its manager, after that run. `streams`: file descriptors of this
    process that are connected to the parent."""
    if node.goes_on:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in streams:  # pipes to nobody
            os.dup2(nowhere, stream)
        os.close(nowhere)
    await node.outlive_owner(lease_s)
    end()


def _exit_later(seconds: float) -> None:
    """End the process after `seconds`, since an engine that hangs must not keep the process and its ports alive."""
    timer = threading.Timer(seconds, os._exit, args=(70,))
    timer.daemon = True
    timer.start()
