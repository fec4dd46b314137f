# SPDX-License-Identifier: Apache-2.0
"""Holds the condition of a node: its state, a message, and notifications of events since it was configured."""

import logging

from rashpa.control.telegrams.run_state import RunState
from rashpa.control.telegrams.telegram import Notify
from rashpa.node.logs.log import About

_MAX_NOTIFICATIONS = 64
_MAX_TEXT = 1000  # of a notification


class Condition:
    """Holds one node's state, message and notifications. `message`: for people; `run`: the number of the run for which the node is configured."""

    def __init__(self, name: str, events: logging.Logger) -> None:
        self.state = RunState.idle
        self.message = ""
        self.run: int | None = None
        self._name = name
        self._events = events
        self._notifications: list[Notify] = []

    @property
    def notifications(self) -> tuple[Notify, ...]:
        return tuple(self._notifications)

    @property
    def about(self) -> About:
        """Return the subject of log entries: the run."""
        return About(run=self.run)

    def clear(self) -> None:
        """Remove the message and notifications of an earlier run."""
        self.message = ""
        self._notifications.clear()

    def enter_fault(self, text: str, error: Exception | None = None) -> None:
        """Enter the state fault with `text` as message. The traceback of `error` goes to standard error."""
        self.state = RunState.fault
        self.message = text
        self._events.error(text, exc_info=error, extra=self.about.extra)
        self.notify("fault", text)

    def notify(self, what: str, text: str) -> None:
        """Store a notification of an event; only the first ones are kept."""
        if what != "fault":
            self._events.info(f"{what}: {text}", extra=self.about.extra)
        if len(self._notifications) < _MAX_NOTIFICATIONS:
            self._notifications.append(Notify(node=self._name, what=what, text=text[:_MAX_TEXT]))
