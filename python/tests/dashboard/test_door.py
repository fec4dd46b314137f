# SPDX-License-Identifier: Apache-2.0
"""Strangers who hold connections to the page or send endless requests: a browser with the cookie gets in, and memory, files and log messages stay
bounded."""

import contextlib
import resource
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from rashpa.dashboard.door import MOST, STRANGER_S
from rashpa.testing.served_page import Served, dashboard
from rashpa.testing.waiting import eventually


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with dashboard(tmp_path_factory.mktemp("door")) as found:
        yield found


@contextlib.contextmanager
def connections(served: Served, count: int, said: bytes = b"") -> Iterator[list[socket.socket]]:
    host, _, port = served.place.rpartition(":")
    with contextlib.ExitStack() as stack:
        opened = []
        for _ in range(count):
            one = stack.enter_context(socket.create_connection((host, int(port)), 10.0))
            with contextlib.suppress(OSError):
                one.sendall(said)
            opened.append(one)
        yield opened


def is_closed(connection: socket.socket) -> bool:
    connection.settimeout(0.01)
    try:
        return connection.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


SAID = [b"", b"G", b"GET / HTTP/1.1\r\nX-A: b\r\n", b"POST /token HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\ntoken"]  # fmt: skip


def test_who_does_not_finish_a_request_is_sent_away(served: Served) -> None:
    with contextlib.ExitStack() as stack:
        began = time.monotonic()
        unfinished = [stack.enter_context(connections(served, 1, said))[0] for said in SAID]
        assert not any(is_closed(one) for one in unfinished), "they have some time"
        eventually(lambda: all(is_closed(one) for one in unfinished), within_s=STRANGER_S + 20)
        assert time.monotonic() - began > STRANGER_S / 2


def test_connections_of_strangers_keep_nobody_out_who_has_the_cookie(served: Served) -> None:
    cookie = served.cookie()
    with contextlib.ExitStack() as stack:
        for said in SAID:
            stack.enter_context(connections(served, MOST // 2, said))
        assert httpx.get(f"{served.base}page.js", headers=cookie, timeout=20).status_code == 200
        assert len(list(Path(f"/proc/{served.pid}/fd").iterdir())) < MOST + 64


def test_a_page_that_is_open_stays_open_while_strangers_come(served: Served) -> None:
    with httpx.Client(headers=served.cookie(), timeout=20) as browser:
        browser.get(f"{served.base}page.js")
        with connections(served, 2 * MOST):
            began = browser.get(f"{served.base}page.js")
        assert began.status_code == 200
        assert began.extensions["network_stream"].get_extra_info("socket") is not None


@contextlib.contextmanager
def few_files(count: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_few_files_are_enough(tmp_path: Path) -> None:
    with contextlib.ExitStack() as stack:
        with few_files(128):
            few = stack.enter_context(dashboard(tmp_path))
        stack.enter_context(connections(few, 200))
        assert httpx.get(f"{few.base}page.js", headers=few.cookie(), timeout=20).status_code == 200


def test_what_is_said_of_refused_requests_is_bounded(tmp_path: Path) -> None:
    with dashboard(tmp_path) as asked, httpx.Client(timeout=20) as stranger:
        for number in range(600):
            assert stranger.get(f"{asked.base}nothing?{number}%1b[2J").status_code == 401
        said = (tmp_path / "errors").read_text()
    assert 10 <= said.count("401 GET") < 100
    assert "\x1b" not in said
    assert len(said) < 20_000
