# SPDX-License-Identifier: Apache-2.0
"""The secrets that give rights on the page."""

import hmac
import secrets

from rashpa.node.door.request_limits import Rate, RequestLimits

_GUESSES = Rate(0.5, 10.0)  # a second in the long run, and at once; of all clients together


class Keys:
    """Holds the secrets of a page. `token` gives the right to order and to look. `to_look` gives the right to look alone, as part of the printed address. A
    browser that showed one of them gets `cookie`. `way`: a part of addresses that only pages know."""

    def __init__(self, token: str, limits: RequestLimits | None = None) -> None:
        self._token = token
        self.to_look = secrets.token_urlsafe(16)
        self.cookie = secrets.token_urlsafe(16)
        self.way = secrets.token_urlsafe(16)
        self._limits = limits or RequestLimits(_GUESSES, _GUESSES)

    def problem_with_order(self, given: str) -> str:
        """Return why that is not the token for orders, empty when it is."""
        return self._problem_with(given, self._token)

    def problem_with(self, given: str) -> str:
        """Return why that gives no right to look, empty when it does."""
        return self._problem_with(given, self.to_look, self._token)

    def is_way(self, given: str) -> bool:
        """Return True when `given` is the part of addresses that only pages know."""
        return _same(given, self.way)

    def is_cookie(self, given: str) -> bool:
        """Return True when `given` is the cookie of a browser that has shown a token."""
        return _same(given, self.cookie)

    def _problem_with(self, given: str, *tokens: str) -> str:
        if wait_s := self._limits.wait_s("", trusted=False):
            return f"too many wrong tokens; wait {wait_s:.0f} s"
        if any(_same(given, token) for token in tokens):
            return ""
        return "this is not the token; it is in RASHPA_TOKEN where `rashpa dashboard` was started, or what that has printed"


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())
