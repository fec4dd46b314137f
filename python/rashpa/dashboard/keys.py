# SPDX-License-Identifier: Apache-2.0
"""Who may do what on the page."""

import hmac
import secrets

from rashpa.node.request_limits import Rate, RequestLimits

_GUESSES = Rate(0.5, 10.0)  # a second in the long run, and at once; of all who try together


class Keys:
    """`token`: gives the right to order; `to_watch`: also to see anything. `way`: a part of addresses that only pages know."""

    def __init__(self, token: str, *, to_watch: bool, limits: RequestLimits | None = None) -> None:
        self._token = token
        self.to_watch = to_watch
        self.way = secrets.token_urlsafe(16)
        self._limits = limits or RequestLimits(_GUESSES, _GUESSES)

    def problem_with(self, given: str) -> str:
        """Why that is not the token; empty: it is."""
        if wait_s := self._limits.wait_s("", trusted=False):
            return f"too many wrong tokens; wait {wait_s:.0f} s"
        right = hmac.compare_digest(given.encode(), self._token.encode())
        return (
            ""
            if right
            else "this is not the token; it is in RASHPA_TOKEN where `rashpa dashboard` was started, or what that has printed"
        )

    def is_way(self, given: str) -> bool:
        """Whether only a page can have said that."""
        return hmac.compare_digest(given.encode(), self.way.encode())
