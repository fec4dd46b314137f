# SPDX-License-Identifier: Apache-2.0
"""Limits the rate of requests with a token bucket for each address. Users with the right to order have a larger bucket of their own. So strangers at
the same address, behind a gateway or on the same machine, use up nothing of theirs. Only the event loop's thread uses it."""

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Rate:
    """Holds the long-term rate of requests, in requests/s, and the size of a burst."""

    per_s: float
    burst: float


STRANGERS = Rate(20.0, 100.0)
OWNERS = Rate(500.0, 4000.0)  # a manager asks for the books of each of 256 DTPs at the end of a run
_MOST_PEERS = 1024


class RequestLimits:
    """Limits the requests to one node. `clock`: a function that returns seconds."""

    def __init__(
        self, strangers: Rate = STRANGERS, owners: Rate = OWNERS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rates = {False: strangers, True: owners}
        self._clock = clock
        self._left: dict[tuple[str, bool], tuple[float, float]] = {}  # requests that are left, and when they were

    def wait_s(self, peer: str, trusted: bool) -> float:
        """Return 0 when the request may be answered, otherwise the seconds until the next request may be."""
        rate, now = self._rates[trusted], self._clock()
        left, when = self._left.pop((peer, trusted), (rate.burst, now))
        left = min(rate.burst, left + (now - when) * rate.per_s)
        wait_s = 0.0 if left >= 1.0 else (1.0 - left) / rate.per_s
        while len(self._left) >= _MOST_PEERS:  # the one that has been silent for longest
            del self._left[next(iter(self._left))]
        self._left[peer, trusted] = (left if wait_s else left - 1.0, now)
        return wait_s
