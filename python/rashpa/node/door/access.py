# SPDX-License-Identifier: Apache-2.0
"""Checks the right to send requests to a node or a page, before any other part of a request is read."""

import hmac
import ipaddress
import socket
import urllib.parse
from collections.abc import Iterable, Mapping

from rashpa.control.telegrams.telegram_xml import CONTENT_TYPE
from rashpa.data.base.rashpa_error import RashpaError


class AccessError(RashpaError):
    """Refuses a request; `status` is the HTTP status code."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def is_loopback(host: str) -> bool:
    """Return True when `host`, a name or address, is loopback."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Names:
    """Holds the names by which requests may address a server; names of loopback are always allowed. `loopback`: True when the server listens only
    there; otherwise any address is allowed."""

    def __init__(self, names: Iterable[str], loopback: bool) -> None:
        self._names = frozenset(name.lower() for name in names)
        self._loopback = loopback

    def check(self, host: str, what: str) -> None:
        """Raise AccessError when the Host header has a name that is not the server's. A foreign page can make its own name resolve to this server;
        its requests then have that name. The port is not checked, because it may be that of a tunnel. `what`: the server, for the error text."""
        try:
            name = urllib.parse.urlsplit(f"//{host}").hostname or ""
        except ValueError:
            name = ""
        if name in self._names or is_loopback(name) or (not self._loopback and _is_address(name)):
            return
        raise AccessError(
            403,
            f"{host[:100] or 'no host'} is not a name of this {what}; use its address, or start it with --alias {name[:100]}",
        )


def names_of(host: str, aliases: Iterable[str]) -> Names:
    """Return the names of a server that listens at `host` on this machine."""
    return Names({host, socket.gethostname(), *aliases}, is_loopback(host))


class Access:
    """Checks requests to a node. An empty `token` allows requests without a token. `names`: the node's names, None for a node without an address, in
    the process of its manager."""

    def __init__(self, token: str = "", names: Names | None = None) -> None:
        self.token = token
        self._names = names

    def check(self, headers: Mapping[str, str]) -> None:
        """Raise AccessError for a request that another web page made a browser send, and for a request without the right token."""
        if "origin" in headers:
            raise AccessError(403, "a request with an Origin comes from a page in a browser; nodes take none")
        if self._names is not None:
            self._names.check(headers.get("host", ""), "node")
        given = headers.get("authorization", "").encode()
        if self.token and not hmac.compare_digest(given, f"Bearer {self.token}".encode()):
            other = ", and another one was given" if given else ""
            raise AccessError(401, f"this node needs its bearer token{other}; give it with nodes.token or RASHPA_TOKEN")

    def check_telegram(self, headers: Mapping[str, str]) -> None:
        """Raise AccessError for a body that is not a telegram's type: any page can send a form without the browser asking first."""
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != CONTENT_TYPE:
            raise AccessError(415, f"a telegram has Content-Type: {CONTENT_TYPE}, not {kind[:100] or 'none'}")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
