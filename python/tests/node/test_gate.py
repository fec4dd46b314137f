# SPDX-License-Identifier: Apache-2.0
import asyncio
import contextlib
import json
import os
import resource
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
import uvicorn
from uvicorn.server import ServerState

from rashpa.control.nodes.node_client import NodeClient
from rashpa.node.door import gate as gate_module
from rashpa.node.door.access import Access, Names
from rashpa.node.door.gate import HEADER_BYTES, Gate
from rashpa.node.door.server import NodeApp
from rashpa.node.state.node import Node
from rashpa.testing.fake_engine import FakeFactory
from rashpa.testing.waiting import eventually_in_loop

GET = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
ASK = b"GET /status HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer secret\r\n\r\n"


@contextlib.asynccontextmanager
async def gate_of(most: int, secure: ssl.SSLContext | None = None) -> AsyncIterator[tuple[str, int]]:
    """Run a gate in this process, before a node with the token `secret`; yield its address."""
    app = NodeApp(Node("r", "receiver", FakeFactory("receiver")), "test", Access("secret", Names([], loopback=True)))
    config = uvicorn.Config(app.starlette(), lifespan="off", ws="none", h11_max_incomplete_event_size=HEADER_BYTES)
    config.load()
    state = ServerState()
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(100)
        listening.setblocking(False)
        serving = asyncio.create_task(Gate(config, state, secure, most).serve(listening))
        try:
            yield listening.getsockname()
        finally:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)
            for connection in list(state.connections):
                connection.transport.abort()
            await eventually_in_loop(lambda: not state.connections)


class Caller:
    """A connection of the test."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def at(cls, address: tuple[str, int]) -> "Caller":
        return cls(*await asyncio.open_connection(*address))

    async def say(self, data: bytes) -> None:
        with contextlib.suppress(ConnectionError):
            self._writer.write(data)
            await self._writer.drain()

    async def status(self) -> int:
        """Return the status of the next answer, 0 when the connection was closed instead."""
        try:
            async with asyncio.timeout(30.0):
                head = await self._reader.readuntil(b"\r\n\r\n")
                lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
                await self._reader.readexactly(sum(int(line.partition(b":")[2]) for line in lengths))
        except (ConnectionError, asyncio.IncompleteReadError):
            return 0
        return int(head.split()[1])

    async def is_closed(self) -> bool:
        with contextlib.suppress(ConnectionError):
            async with asyncio.timeout(30.0):
                while await self._reader.read(4096):
                    pass
        return True

    async def close(self) -> None:
        self._writer.close()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"GET /healthz HTT",
        b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: y",
        b"POST /telegram HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer secret\r\nContent-Type: application/xml\r\n"
        b"Content-Length: 1000\r\n\r\n<Start",
        b"POST /telegram HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer secret\r\nContent-Type: application/xml\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n4\r\n<Sta\r\n",
        b"POST /telegram HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000000\r\n\r\n<Start",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
    ids=["nothing", "half a line", "half a header", "half a body", "half of the chunks", "denied", "a TLS hello"],
)
def test_who_does_not_finish_a_request_is_sent_away(said: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_module, "REQUEST_S", 0.3)

    async def ask() -> None:
        async with gate_of(8) as address:
            caller = await Caller.at(address)
            await caller.say(said)
            assert await caller.is_closed()
            await caller.close()

    asyncio.run(ask())


def test_a_node_that_stands_still_sends_nobody_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_module, "REQUEST_S", 0.5)

    async def ask() -> int:
        async with gate_of(8) as address:
            caller = await Caller.at(address)
            await caller.say(ASK[:-2])
            for _ in range(5):
                await asyncio.sleep(0)  # wait: until the node has heard it
            time.sleep(1.0)  # noqa: ASYNC251  # wait: nothing of this process goes on
            for _ in range(5):
                await asyncio.sleep(0)  # wait: until what was due in that time has been done
            await caller.say(ASK[-2:])
            status = await caller.status()
            await caller.close()
            return status

    assert asyncio.run(ask()) == 200


def test_a_request_that_comes_byte_by_byte_is_timed_from_its_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_module, "REQUEST_S", 0.5)

    async def ask() -> int:
        async with gate_of(8) as address:
            caller = await Caller.at(address)
            await caller.say(ASK)
            assert await caller.status() == 200
            answer = asyncio.create_task(caller.is_closed())
            said = 0
            while not answer.done() and said < 1000:
                await caller.say(b"G")
                said += 1
                await asyncio.sleep(0.02)  # wait: so slowly does it speak
            await caller.close()
            return said

    assert asyncio.run(ask()) < 200


def test_headers_without_end_are_refused() -> None:
    async def ask() -> int:
        async with gate_of(8) as address:
            caller = await Caller.at(address)
            await caller.say(GET[:-2] + b"X: " + b"y" * (2 * HEADER_BYTES))
            status = await caller.status()
            await caller.close()
            return status

    assert asyncio.run(ask()) in (0, 400)


def test_the_oldest_stranger_goes_and_who_has_the_token_stays() -> None:
    async def ask() -> None:
        async with gate_of(4) as address:
            manager = await Caller.at(address)
            await manager.say(ASK)
            assert await manager.status() == 200
            strangers = []
            for _ in range(12):
                stranger = await Caller.at(address)
                await stranger.say(GET)
                assert await stranger.status() == 200
                strangers.append(stranger)
            for stranger in strangers[:-3]:
                assert await stranger.is_closed()
            for caller in (*strangers[-3:], manager):
                await caller.say(GET)
                assert await caller.status() == 200
            for caller in (*strangers, manager):
                await caller.close()

    asyncio.run(ask())


NODE = (
    "import resource, sys; from pathlib import Path; resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200)); "
    "from rashpa.node.serve import Listen, serve_node; from rashpa.testing.fake_engine import FakeFactory; "
    "pem = Path(sys.argv[1]) if len(sys.argv) > 1 else None; "
    "serve_node('receiver', 'r', FakeFactory('receiver'), Listen(token='secret', certificate=pem, key=pem), 'test')"
)


@pytest.fixture(params=["http", "https"])
def node(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, int, str]]:
    """Yield URL and process of a node that may have 200 files open, and the certificate file."""
    pem = ""
    if request.param == "https":
        pem = str(tmp_path / "node.pem")
        subprocess.run(
            [
                *(
                    "openssl",
                    "req",
                    "-x509",
                    "-newkey",
                    "ec",
                    "-pkeyopt",
                    "ec_paramgen_curve:P-256",
                    "-nodes",
                    "-days",
                    "2",
                ),
                *("-subj", "/CN=node", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", pem, "-out", f"{pem}.crt"),
            ],
            check=True,
            capture_output=True,
        )
        Path(pem).write_text(Path(pem).read_text() + Path(f"{pem}.crt").read_text())
    command = [sys.executable, "-m", "rashpa.testing.prepared.program", NODE, *([pem] if pem else [])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["url"], process.pid, pem
        finally:
            process.kill()


def test_more_idle_strangers_than_files_may_be_open_keep_no_manager_out(node: tuple[str, int, str]) -> None:
    url, pid, pem = node
    address = (httpx.URL(url).host, httpx.URL(url).port or 0)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))

    async def ask(opened: contextlib.ExitStack) -> None:
        client = NodeClient("r", url, "secret", pem)
        late = None
        try:
            for number in range(600):
                stranger = opened.enter_context(socket.create_connection(address, 10.0))
                if number % 3 == 0:
                    stranger.sendall(b"GET /healthz HTTP/1.1\r\n")
                if number % 50 == 0:  # one connection that stays, and a new one each time
                    assert (await client.status()).state == "idle"
                    late = NodeClient("r", url, "secret", pem)
                    assert (await late.status()).state == "idle"
                    await late.close()
                    assert len(os.listdir(f"/proc/{pid}/fd")) < 150  # noqa: PTH208
            assert (await client.status()).state == "idle"
        finally:
            await client.close()

    try:
        with contextlib.ExitStack() as opened:
            asyncio.run(ask(opened))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_handshake_without_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_module, "REQUEST_S", 0.3)

    async def ask() -> None:
        async with gate_of(8, ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)) as address:
            caller = await Caller.at(address)
            await caller.say(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
            assert await caller.is_closed()
            await caller.close()

    asyncio.run(ask())
