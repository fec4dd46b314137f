# SPDX-License-Identifier: Apache-2.0
"""Checks every request to the page, HTTP or WebSocket: the host name, the page of origin, and the right to look."""

import re
import urllib.parse
from dataclasses import dataclass
from typing import Any

from tornado.httputil import HTTPServerRequest
from tornado.web import RequestHandler

from rashpa.dashboard.keys import LIFETIME_S, Keys, Session
from rashpa.dashboard.markup import html_of
from rashpa.node.door.access import AccessError, Names
from rashpa.node.logs.serve_error import ServeError

LOGIN = "/token"
_PREFIX = re.compile(r"(/[\w.~-]+)*/?")
SESSION = "session_of_browser"
"""The name by which a request carries its session to its handler."""
_NEEDED = "this page needs its token: it is in the address that `rashpa dashboard` printed"
_NO_RIGHT = 401
_TOKEN = "token"  # noqa: S105  a name


@dataclass(frozen=True)
class Public:
    """Holds the address of the page at a reverse proxy. `origin`: scheme and host; `prefix`: the path before the page's own, empty or `/…`."""

    origin: str
    prefix: str

    @property
    def host(self) -> str:
        return urllib.parse.urlsplit(self.origin).hostname or ""


def public_of(url: str) -> Public:
    """Return the parts of a proxy's address. Raise ServeError when it is invalid."""
    try:
        parts = urllib.parse.urlsplit(url)
        good = (
            parts.scheme in ("http", "https")
            and parts.hostname
            and not (parts.query or parts.fragment or parts.username)
        )
        good = good and _PREFIX.fullmatch(parts.path) and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise ServeError(f"--public {url}: is no address of a page; give one such as https://beamline.example/rashpa")
    return Public(f"{parts.scheme}://{parts.netloc}".lower(), parts.path.rstrip("/"))


class Gate:
    """Guards one page. `keys`: the accepted secrets; `secure`: True when the page is served by TLS; `public`: its address at a proxy."""

    def __init__(self, keys: Keys, names: Names, port: int, *, secure: bool, public: Public | None = None) -> None:
        self._keys = keys
        self._names = names
        self._secure = secure or (public is not None and public.origin.startswith("https:"))
        self._scheme = "https" if secure else "http"
        self._public = public
        self.prefix = public.prefix if public is not None else ""
        self._cookie = f"rashpa_page_{port}"  # browsers send the cookies of all ports of a machine to each

    def _check_place(self, request: HTTPServerRequest) -> None:
        """Raise AccessError when the Host header is not the page's, or when another page sent the request."""
        host = request.headers.get("Host", "")
        self._names.check(host, "page")
        origins = request.headers.get_list("Origin")
        own = {f"{self._scheme}://{host}".lower(), *([self._public.origin] if self._public is not None else [])}
        if any(origin.lower() not in own for origin in origins):
            raise AccessError(403, "another page asks; only this page's own may")

    def answer_to(self, request: HTTPServerRequest) -> dict[str, Any] | None:
        """Return the arguments of an `Answer` that is sent in place of the requested page; None allows the request."""
        try:
            self._check_place(request)
        except AccessError as error:
            return {"gate": self, "problem": str(error), "status": error.status}
        if request.path == self.prefix + LOGIN and request.method == "POST":
            return {"gate": self, "login": True}
        if request.path == f"{self.prefix}/" and _TOKEN in request.query_arguments:
            return {"gate": self, "token": request.query_arguments[_TOKEN][0].decode(errors="replace")}
        return None if self.session_of(request) is not None else {"gate": self, "problem": _NEEDED}

    def let_in(self, answer: RequestHandler, token: str, *, typed: bool) -> str:
        """Open a session for a token, and return the reason for a refusal, empty when it is open. The browser gets a cookie and is redirected to the
        page's address without token. `typed`: True for a token that a person typed; a token in an address gives only the right to look."""
        role, problem = self._keys.role_of(token)
        if role is None:
            return problem
        session = self._keys.open_session(role if typed else "viewer")
        answer.set_cookie(
            self._cookie,
            session.secret,
            httponly=True,
            samesite="Lax",
            secure=self._secure,
            max_age=LIFETIME_S,
            path=f"{self.prefix}/",
        )
        answer.set_header("Cache-Control", "no-store")
        answer.redirect(f"{self.prefix}/", status=303)
        return ""

    def session_of(self, request: HTTPServerRequest) -> Session | None:
        """Return the session of a request, the one with the most rights; None when it has none, or when its time is over."""
        # Other ports of the machine set cookies as they like, also in this one's name: none of them closes the page.
        pairs = (pair.partition("=") for given in request.headers.get_list("Cookie") for pair in given.split(";"))
        found = [self._keys.session(value.strip()) for name, _, value in pairs if name.strip() == self._cookie]
        return max((one for one in found if one is not None), key=lambda one: one.may_order, default=None)


class Answer(RequestHandler):
    """Sends an answer in place of a page, for the gate."""

    def initialize(
        self, gate: Gate, problem: str = "", status: int = 401, token: str | None = None, login: bool = False
    ) -> None:
        self._gate, self._problem, self._status, self._token, self._login = gate, problem, status, token, login

    def prepare(self) -> None:
        """Send the answer, whatever the method of the request."""
        token = self.get_body_argument(_TOKEN, "") if self._login else self._token
        if token is not None:
            self._problem = self._gate.let_in(self, token, typed=self._login)
            if not self._problem:
                return
        self.set_status(self._status)
        self.set_header("Cache-Control", "no-store")
        self.set_header("Referrer-Policy", "same-origin")  # no-referrer would make the form's origin null
        self.set_header(
            "Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
        )
        asks = self._status == _NO_RIGHT
        self.finish(
            html_of("login", self._problem, self._gate.prefix + LOGIN) if asks else html_of("plain", self._problem)
        )


def token_address(url: str, token: str) -> str:
    """Return the page's address with the token for the right to look."""
    return f"{url}?{urllib.parse.urlencode({_TOKEN: token})}"
