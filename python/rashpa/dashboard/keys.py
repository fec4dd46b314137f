# SPDX-License-Identifier: Apache-2.0
"""Holds the secrets that give rights on the page, and the sessions of browsers that have sent one."""

import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

from rashpa.node.door.request_limits import Rate, RequestLimits

Role = Literal["viewer", "operator"]
LIFETIME_S = 12 * 3600  # of a session: a shift, and the way home
_MOST_SESSIONS = 1024
_GUESSES = Rate(0.5, 10.0)  # a second in the long run, and at once; of all clients together


@dataclass(frozen=True)
class Session:
    """Holds the rights of one browser until the time `ends` of `clock`. `secret`: the value of its cookie."""

    role: Role
    secret: str
    ends: float
    clock: Callable[[], float] = time.monotonic

    @property
    def lasts(self) -> bool:
        return self.clock() < self.ends

    @property
    def may_order(self) -> bool:
        """Return True when the session is valid and has the right to give orders."""
        return self.role == "operator" and self.lasts


class Keys:
    """Holds the secrets of a page. `token` gives the right to look and to give orders. `to_look`, a part of the printed address, gives only the right
    to look. `way`: the secret part of addresses that only pages know."""

    def __init__(
        self, token: str, limits: RequestLimits | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._token = token
        self.to_look = secrets.token_urlsafe(16)
        self.way = secrets.token_urlsafe(16)
        self._limits = limits or RequestLimits(_GUESSES, _GUESSES)
        self._clock = clock
        self._sessions: OrderedDict[bytes, Session] = OrderedDict()  # by the hash of their secrets, the oldest first

    def role_of(self, given: str) -> tuple[Role | None, str]:
        """Return the role that a token gives; for a wrong token, None and the reason."""
        if wait_s := self._limits.wait_s("", trusted=False):
            return None, f"too many wrong tokens; wait {wait_s:.0f} s"
        if _same(given, self._token):
            return "operator", ""
        if _same(given, self.to_look):
            return "viewer", ""
        return (
            None,
            "this is not the token; it is in RASHPA_TOKEN where `rashpa dashboard` was started, or what that has printed",
        )

    def open_session(self, role: Role) -> Session:
        """Open a session. When there are too many, the oldest one ends."""
        session = Session(role, secrets.token_urlsafe(24), self._clock() + LIFETIME_S, self._clock)
        self._sessions[_hash(session.secret)] = session
        while len(self._sessions) > _MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return session

    def session(self, given: str) -> Session | None:
        """Return the session of a cookie, None when there is none, or when its time is over."""
        session = self._sessions.get(_hash(given))
        return session if session is not None and session.lasts else None

    def is_way(self, given: str) -> bool:
        """Return True when `given` is the secret part of addresses that only pages know."""
        return _same(given, self.way)


def _hash(secret: str) -> bytes:
    return sha256(secret.encode("utf-8", "replace")).digest()


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())
