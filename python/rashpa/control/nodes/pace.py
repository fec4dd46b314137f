# SPDX-License-Identifier: Apache-2.0
"""Measures the rate of a node over its last seconds, and the time left at that rate. Times are those of the node's own clock, whenever its status
arrives."""

from collections import deque

_WINDOW_S = 4.0
_MINUTE, _HOUR = 60, 3600


class Pace:
    """Measures the rate of one receiver or buffer by the node's own clock."""

    def __init__(self) -> None:
        self._looks: deque[tuple[float, int, int]] = deque()

    def look(self, elapsed_s: float, images: int, payload: int) -> None:
        """Add a status: the numbers of decided images and of received bytes at the time `elapsed_s` of the node's clock. A time before the last one
        means another run."""
        if self._looks and elapsed_s <= self._looks[-1][0]:
            if elapsed_s == self._looks[-1][0]:
                return
            self._looks.clear()
        self._looks.append((elapsed_s, images, payload))
        while len(self._looks) > 2 and elapsed_s - self._looks[1][0] >= _WINDOW_S:
            self._looks.popleft()

    def _rate(self, which: int) -> float:
        if len(self._looks) < 2:
            return 0.0
        first, last = self._looks[0], self._looks[-1]
        return max(0.0, (last[which] - first[which]) / (last[0] - first[0]))

    @property
    def span_s(self) -> float:
        """Return the time in seconds over which the rate is measured, by the node's clock."""
        return self._looks[-1][0] - self._looks[0][0] if self._looks else 0.0

    @property
    def images_per_s(self) -> float:
        return self._rate(1)

    @property
    def bytes_per_s(self) -> float:
        return self._rate(2)

    def left_s(self, images: int) -> float | None:
        """Return the seconds until `images` are decided, None while the rate is unknown."""
        rate = self.images_per_s
        return (images - self._looks[-1][1]) / rate if rate > 0 else None


def clock_of(seconds: float) -> str:
    """Return seconds as [hours:]minutes:seconds."""
    whole = int(seconds + 0.5)
    minutes = f"{whole % _HOUR // _MINUTE}:{whole % _MINUTE:02}"
    return minutes if whole < _HOUR else f"{whole // _HOUR}:{minutes:0>5}"
