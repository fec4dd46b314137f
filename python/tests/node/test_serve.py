# SPDX-License-Identifier: Apache-2.0
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from rashpa.control.orders.grant import Grant
from rashpa.node.logs.serve_error import ServeError
from rashpa.node.serve import Listen, serve_node
from rashpa.testing.fake_engine import FakeFactory
from rashpa.testing.waiting import GUARD_S

COMMAND = [sys.executable, "-m", "rashpa.testing.fake_node", "receiver"]


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.3.2.1"])
def test_loopback_needs_neither_token_nor_tls(host: str) -> None:
    Listen(host).check()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org"])
def test_any_other_address_needs_both(host: str, tmp_path: Path) -> None:
    certificate, key = tmp_path / "c.pem", tmp_path / "k.pem"
    for path in (certificate, key):
        path.write_text("")
    for listen in (Listen(host), Listen(host, token="t"), Listen(host, certificate=certificate, key=key)):
        with pytest.raises(ServeError, match="is not a loopback address"):
            listen.check()
    Listen(host, token="t", certificate=certificate, key=key).check()


def test_tls_files_must_be_there_and_belong_together(tmp_path: Path) -> None:
    with pytest.raises(ServeError, match="needs both"):
        Listen(certificate=tmp_path / "c.pem").check()
    with pytest.raises(ServeError, match=r"c\.pem: no such file"):
        Listen(certificate=tmp_path / "c.pem", key=tmp_path / "k.pem").check()


def test_a_control_port_in_use_is_refused() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ServeError, match=f"127.0.0.1 port {port}: Address already in use; take another --port"):
            serve_node("receiver", "r", FakeFactory("receiver"), Listen(port=port), "test")


@pytest.fixture
def node() -> Iterator[tuple["subprocess.Popen[bytes]", str]]:
    """Run a node that can take telegrams during the context; yield its process and its URL."""
    with subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdin is not None
        process.stdin.write(Grant("secret").line())
        process.stdin.flush()
        line = process.stdout.readline()
        try:
            assert line, process.stderr.read().decode()
            said = json.loads(line)
            assert said["role"] == "receiver"
            yield process, said["url"]
        finally:
            process.kill()


def test_a_node_ends_when_its_parents_pipe_is_closed(node: tuple["subprocess.Popen[bytes]", str]) -> None:
    process, url = node
    assert httpx.get(f"{url}/healthz").json()["state"] == "idle"
    process.communicate(timeout=GUARD_S)  # closes stdin
    assert process.returncode == 0


def test_a_node_ends_in_order_on_sigterm(node: tuple["subprocess.Popen[bytes]", str]) -> None:
    process, _ = node
    process.terminate()
    assert process.wait(timeout=GUARD_S) == 0


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"GET /healthz HTT",
        b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"POST /telegram HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer secret\r\nContent-Type: application/xml\r\n"
        b"Content-Length: 1000\r\n\r\n<Start",
    ],
    ids=["nothing", "half a line", "all, and it may ask again", "half a body"],
)
def test_a_node_ends_whoever_is_connected(said: bytes, node: tuple["subprocess.Popen[bytes]", str]) -> None:
    process, url = node
    at = httpx.URL(url)
    with socket.create_connection((at.host, at.port or 0)) as stranger:
        stranger.sendall(said)
        httpx.get(f"{url}/healthz")  # who came before is known by now
        process.terminate()
        assert process.wait(timeout=GUARD_S) == 0
        stranger.settimeout(10.0)
        while stranger.recv(4096):
            pass
    assert process.stderr is not None
    assert process.stderr.read() == b""
