# SPDX-License-Identifier: Apache-2.0
"""Decides the steps of a node that continues its run without a manager. Each wait is bounded."""

from typing import Literal

from rashpa.control.run.stall import STORING_S, decided_by, sent_of, storing
from rashpa.control.telegrams.run_state import RunState
from rashpa.control.telegrams.telegram import Orphaned, Status

Step = Literal["wait", "resume", "stop", "abort", "free"]


class Orphan:
    """Decides the next step at each call. It adds up the seconds that callers pass, so that a time in which the node did not run does not count as
    waiting."""

    def __init__(self, order: Orphaned) -> None:
        self._order = order
        self._news: object = None
        self._quiet_s = 0.0
        self._kept_s = 0.0
        self._stopped = False

    def next_step(self, status: Status, seconds: float) -> Step:
        """Return the step to take now. `seconds`: the time since the last call."""
        if status.state in (RunState.finished, RunState.fault):
            self._kept_s += seconds
            return "free" if self._kept_s >= self._order.keep_s else "wait"
        if status.state == RunState.paused:
            return "resume"
        news = (sent_of(status), decided_by(status))
        self._quiet_s = self._quiet_s + seconds if news == self._news else 0.0
        self._news = news
        if self._quiet_s < (STORING_S if storing(status) else self._order.quiet_s):
            return "wait"
        self._quiet_s = 0.0  # as long again for the new order
        if self._stopped:
            return "abort"
        self._stopped = True
        return "stop"
