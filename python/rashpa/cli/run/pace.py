# SPDX-License-Identifier: Apache-2.0
"""Measures the rate of a group of receivers."""

from collections.abc import Mapping

from rashpa.control.nodes.pace import Pace
from rashpa.control.plan.groups import PlannedGroup
from rashpa.control.plan.model import Plan
from rashpa.control.telegrams.telegram import Status

SAY_EVERY_S = 5.0
"""The interval of lines, in seconds, where no bar can move."""


class GroupPace:
    """Measures the rate of a group. Its members share its images, and the share of each is unknown before the end."""

    def __init__(self, plan: Plan, group: PlannedGroup) -> None:
        self.members = set(group.members)
        self._name = group.name
        self._images = next(buffer.images for buffer in plan.buffers if buffer.section.name == group.buffers[0])
        self._decided = 0
        self._pace = Pace()

    def look(self, receivers: Mapping[str, Status]) -> None:
        """Add the counts of all members of the group, timed by the clock of the member that began first."""
        destinations = [status.destination for name, status in receivers.items() if name in self.members]
        books = [buffer.books for destination in destinations if destination for buffer in destination.buffers]
        self._decided = sum(one.decided for one in books)
        elapsed_s = max((destination.elapsed_s for destination in destinations if destination), default=0.0)
        self._pace.look(elapsed_s, self._decided, 0)

    @property
    def left_s(self) -> float | None:
        """Return the seconds until all images of the group are decided, None while the rate is unknown."""
        return self._pace.left_s(self._images)

    @property
    def said(self) -> str:
        """Return the progress of the group as text."""
        return f"group {self._name}, {self._decided:,} of {self._images:,} ({self._decided / self._images:.0%})"
