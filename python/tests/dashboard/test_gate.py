# SPDX-License-Identifier: Apache-2.0
"""The requests that the page's gate allows: by host name, by page of origin, by token and cookie, over HTTP and WebSockets alike."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from rashpa.testing.served_page import TOKEN, Served, dashboard

WEB_SOCKET = {
    "connection": "upgrade",
    "upgrade": "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
}
PATHS = ["", "ws", "metadata", "autoload.js", "page.js", "image.js", "static/js/bokeh.min.js", "favicon.ico", "views/x", "reports/x/1/report.html", "nothing"]  # fmt: skip


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with dashboard(tmp_path_factory.mktemp("served")) as found:
        assert TOKEN not in found.way  # what is printed may be kept by who keeps logs
        yield found


@pytest.fixture(scope="module")
def cookie(served: Served) -> dict[str, str]:
    return served.cookie()


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("kind", [{}, WEB_SOCKET], ids=["http", "websocket"])
def test_every_request_under_a_foreign_name_or_from_a_foreign_page_is_refused(
    served: Served, cookie: dict[str, str], path: str, kind: dict[str, str]
) -> None:
    evil = "evil.example:4790"
    own = f"http://{served.place}"
    for headers in (
        {"host": evil},
        {"host": evil, "origin": f"http://{evil}"},  # its name points here now
        {"host": "127.0.0.1.evil.example"},
        {"host": "10.0.0.1"},
        {"origin": f"http://{evil}"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"origin": own.replace("http", "https")},
    ):
        answer = httpx.get(served.base + path, headers={**cookie, **kind, **headers})
        assert answer.status_code == 403, headers
        assert "Bokeh" not in answer.text


@pytest.mark.parametrize("path", PATHS)
def test_nobody_sees_anything_without_the_token(served: Served, path: str) -> None:
    for headers in ({}, {"cookie": f"rashpa_page_{served.place.partition(':')[2]}=guessed"}, WEB_SOCKET):
        answer = httpx.get(served.base + path, headers=headers)
        assert answer.status_code == 401, headers
        assert "this page needs its token" in answer.text
        assert "cdn" not in answer.text


def test_who_has_the_cookie_sees_the_page_by_each_of_its_names(served: Served, cookie: dict[str, str]) -> None:
    port = served.place.partition(":")[2]
    for host in (
        served.place,
        f"localhost:{port}",
        f"beamline:{port}",
        f"BEAMLINE:{port}",
        "localhost:9",
        "[::1]:4790",
    ):
        for origin in ({}, {"origin": f"http://{host}"}):
            answer = httpx.get(served.base, headers={**cookie, "host": host, **origin}, timeout=60)
            assert answer.status_code == 200, host
            assert "Bokeh" in answer.text
            script = httpx.get(f"{served.base}page.js", headers={**cookie, "host": host, **origin}, timeout=60)
            assert script.status_code == 200, host
            opened = httpx.get(f"{served.base}ws", headers={**cookie, **WEB_SOCKET, "host": host, **origin}, timeout=60)
            assert opened.status_code == 101, host


def test_the_token_is_typed_where_the_address_has_none(served: Served) -> None:
    assert "<form" in httpx.get(served.base).text
    wrong = httpx.post(f"{served.base}token", data={"token": "wrong"})
    assert (wrong.status_code, "set-cookie" in wrong.headers) == (401, False)
    assert "this is not the token" in wrong.text
    right = httpx.post(f"{served.base}token", data={"token": TOKEN}, headers={"origin": f"http://{served.place}"})
    assert (right.status_code, right.headers["location"]) == (303, "/")
    foreign = httpx.post(f"{served.base}token", data={"token": TOKEN}, headers={"origin": "http://evil.example"})
    assert (foreign.status_code, "set-cookie" in foreign.headers) == (403, False)
    served.cookie(f"{served.base}?token={TOKEN}")


def test_whoever_guesses_is_slowed_down_and_who_has_the_cookie_is_not(served: Served, cookie: dict[str, str]) -> None:
    said = [httpx.get(f"{served.base}?token=guess{n}").text for n in range(15)]
    assert "too many wrong tokens" in said[-1]
    assert httpx.get(served.base, headers=cookie).status_code == 200


def test_one_browser_has_two_pages_of_a_machine_open(tmp_path: Path) -> None:
    folders = (tmp_path / "one", tmp_path / "other")
    for folder in folders:
        folder.mkdir()
    with dashboard(folders[0]) as one, dashboard(folders[1]) as other, httpx.Client(timeout=30) as browser:
        for page in (one, other, one):  # as browsers do, it sends all cookies of a host to each of its ports
            assert browser.get(page.way).status_code == 303
        assert (browser.get(one.base).status_code, browser.get(other.base).status_code) == (200, 200)
        assert len(browser.cookies) == 2


STRANGE = [
    'a={"x": 1}',
    "a b=1",
    "=",
    ";;",
    "x=é",
    "y=%00",
    "no_value",
    'z="',
    "rashpa_page_1=K",
    "{own}=of somebody else",
    "{own}=",
    "{own}",
]


@pytest.mark.parametrize("strange", STRANGE)
def test_no_cookie_of_another_port_closes_the_page(served: Served, cookie: dict[str, str], strange: str) -> None:
    own = cookie["cookie"]
    text = strange.format(own=own.partition("=")[0]) if "{own}" in strange else strange
    for given in (f"{text}; {own}", f"{own}; {text}", f"{text};{own};{text}"):
        assert httpx.get(f"{served.base}page.js", headers=[(b"cookie", given.encode())]).status_code == 200, given
    assert httpx.get(f"{served.base}page.js", headers=[(b"cookie", text.encode())]).status_code == 401
    assert (
        httpx.get(f"{served.base}page.js", headers=[(b"cookie", text.encode()), (b"cookie", own.encode())]).status_code
        == 200
    )
