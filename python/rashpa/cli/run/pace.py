# SPDX-License-Identifier: Apache-2.0
"""The rate of a run over its last seconds, and the time left at that rate."""

from collections import deque
from collections.abc import Mapping

from rashpa.control.plan.groups import PlannedGroup
from rashpa.control.plan.run_plan import Plan
from rashpa.control.telegrams.telegram import Status

SAY_EVERY_S = 5.0
"""The interval of lines, in seconds, where no bar can move."""
_WINDOW_S = 4.0
_SHORTEST_S = 1e-3
_MINUTE, _HOUR = 60, 3600


class Pace:
    """Measures the rate of one receiver."""

    def __init__(self) -> None:
        self._looks: deque[tuple[float, int, int]] = deque()

    def look(self, now: float, images: int, payload: int) -> None:
        """Add the images that are decided and the bytes that have come by `now`, in seconds."""
        self._looks.append((now, images, payload))
        while len(self._looks) > 2 and now - self._looks[1][0] >= _WINDOW_S:
            self._looks.popleft()

    def _rate(self, which: int) -> float:
        if len(self._looks) < 2:
            return 0.0
        first, last = self._looks[0], self._looks[-1]
        return max(0.0, (last[which] - first[which]) / max(last[0] - first[0], _SHORTEST_S))

    @property
    def images_per_s(self) -> float:
        return self._rate(1)

    @property
    def bytes_per_s(self) -> float:
        return self._rate(2)

    def left_s(self, images: int) -> float | None:
        """Return the seconds until `images` are decided, None while that is unknown."""
        rate = self.images_per_s
        return (images - self._looks[-1][1]) / rate if rate > 0 else None


class GroupPace:
    """Measures the rate of a group. Its members share its images, and the share of each is unknown before the end."""

    def __init__(self, plan: Plan, group: PlannedGroup) -> None:
        self.members = set(group.members)
        self._name = group.name
        self._images = next(buffer.images for buffer in plan.buffers if buffer.section.name == group.buffers[0])
        self._decided = 0
        self._pace = Pace()

    def look(self, now: float, receivers: Mapping[str, Status]) -> None:
        """Add the counts of its members at `now`, in seconds."""
        destinations = [status.destination for name, status in receivers.items() if name in self.members]
        books = [buffer.books for destination in destinations if destination for buffer in destination.buffers]
        self._decided = sum(one.decided for one in books)
        self._pace.look(now, self._decided, 0)

    @property
    def left_s(self) -> float | None:
        """Return the seconds until all its images are decided, None while that is unknown."""
        return self._pace.left_s(self._images)

    @property
    def said(self) -> str:
        """Return the progress of the group in words."""
        return f"group {self._name}, {self._decided:,} of {self._images:,} ({self._decided / self._images:.0%})"


def clock_of(seconds: float) -> str:
    """Return seconds as a clock shows them."""
    whole = int(seconds + 0.5)
    minutes = f"{whole % _HOUR // _MINUTE}:{whole % _MINUTE:02}"
    return minutes if whole < _HOUR else f"{whole // _HOUR}:{minutes:0>5}"
