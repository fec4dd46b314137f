# SPDX-License-Identifier: Apache-2.0
"""A page behind a reverse proxy with a path: the requests that the proxy forwards, and the answers to the browser."""

from collections.abc import Iterator

import httpx
import pytest

from rashpa.dashboard.gate import Public, public_of
from rashpa.node.logs.serve_error import ServeError
from rashpa.testing.free_ports import free_ports
from rashpa.testing.served_page import TOKEN, Served, dashboard

PUBLIC = "https://beam.example/hutch/rashpa"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, str]]:
    """Run the page; yield it with its own address. The printed address is that of the proxy."""
    port = free_ports(1)
    with dashboard(tmp_path_factory.mktemp("served"), "--public", PUBLIC, "--port", str(port)) as found:
        yield found, f"http://127.0.0.1:{port}"


@pytest.mark.parametrize("host", ["beam.example", "127.0.0.1"], ids=["kept", "the server's"])
def test_a_proxy_with_a_path_has_the_page(served: tuple[Served, str], host: str) -> None:
    page, own = served
    assert page.way.startswith(f"{PUBLIC}/?token=")
    sent = {"host": host, "x-forwarded-for": "10.1.2.3", "x-forwarded-proto": "https"}
    query = page.way.partition("?")[2]
    opened = httpx.get(f"{own}/hutch/rashpa/?{query}", headers=sent)
    assert (opened.status_code, opened.headers["location"]) == (303, "/hutch/rashpa/")
    given = opened.headers["set-cookie"]
    assert "Path=/hutch/rashpa/" in given
    assert "Secure" in given
    sent["cookie"] = given.partition(";")[0]
    shown = httpx.get(f"{own}/hutch/rashpa/", headers=sent)
    assert shown.status_code == 200
    assert "/hutch/rashpa/static/js/bokeh.min.js" in shown.text
    assert httpx.get(f"{own}/hutch/rashpa/page.js", headers=sent).status_code == 200
    web_socket = {"connection": "upgrade", "upgrade": "websocket", "sec-websocket-version": "13", "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ=="}  # fmt: skip
    for origin, status in (("https://beam.example", 101), ("https://evil.example", 403), ("http://evil.example", 403)):
        answer = httpx.get(f"{own}/hutch/rashpa/ws", headers={**sent, **web_socket, "origin": origin})
        assert answer.status_code == status
    typed = httpx.post(
        f"{own}/hutch/rashpa/token", data={"token": TOKEN}, headers={**sent, "origin": "https://beam.example"}
    )
    assert (typed.status_code, typed.headers["location"]) == (303, "/hutch/rashpa/")
    assert 'action="/hutch/rashpa/token"' in httpx.get(f"{own}/hutch/rashpa/", headers={"host": host}).text


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://Beam.example", Public("https://beam.example", "")),
        ("https://beam.example/", Public("https://beam.example", "")),
        ("http://beam:81/a/b/", Public("http://beam:81", "/a/b")),
    ],
)
def test_an_address_of_a_proxy_is_read(url: str, found: Public) -> None:
    assert public_of(url) == found


@pytest.mark.parametrize("url", ["", "beam.example", "ftp://b/", "https:///x", "https://b/?x", "https://b/#x", "https://b//x", "https://u@b/", "https://b:99999/", "https://b/<x>"])  # fmt: skip
def test_what_is_no_address_of_a_page_is_refused(url: str) -> None:
    with pytest.raises(ServeError, match="--public"):
        public_of(url)
