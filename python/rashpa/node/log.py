# SPDX-License-Identifier: Apache-2.0
"""What a node has done, for people: the newest entries in memory, read by `rashpa node log`. No token and no owner's secret is ever in a text."""

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Protocol

MOST = 1000
"""Entries that are kept; the oldest go."""
_LONGEST = 500  # characters of an entry
_CONTROL = dict.fromkeys(range(32)) | {127: None}  # a stranger's text moves no cursor


class NativeMessage(Protocol):
    """As rashpa._native.LogMessage."""

    @property
    def time(self) -> float: ...  # since 1970, UTC
    @property
    def level(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def run(self) -> int | None: ...
    @property
    def buffer(self) -> str: ...
    @property
    def dtp(self) -> int | None: ...
    @property
    def frame(self) -> int | None: ...


LEVELS = ("debug", "info", "warning", "error")


@dataclass(frozen=True)
class About:
    """What an entry is about; None, or empty: that does not apply."""

    run: int | None = None
    buffer: str = ""
    dtp: int | None = None
    frame: int | None = None

    def __str__(self) -> str:
        parts = {"run": self.run, "buffer": self.buffer or None, "DTP": self.dtp, "frame": self.frame}
        return ", ".join(f"{name} {value}" for name, value in parts.items() if value is not None)


_NOTHING = About()


@dataclass
class Entry:
    """One thing that happened. `times`: how often in a row. The last four as in About."""

    time: str  # of the first, UTC
    level: str  # one of LEVELS
    text: str
    times: int = 1
    run: int | None = None
    buffer: str = ""
    dtp: int | None = None
    frame: int | None = None


class NodeLog(logging.Handler):
    """From any thread. As a handler it takes what the node's own modules log besides. `level`: what is less is not kept. `copy`: is given level and
    text of what the node's own modules say, for a file."""

    def __init__(self, level: str = "info", copy: Callable[[str, str], None] | None = None) -> None:
        super().__init__(logging.INFO)
        self._least = LEVELS.index(level)
        self._copy = copy
        self._guard = threading.Lock()
        self._entries: deque[Entry] = deque(maxlen=MOST)

    def info(self, text: str) -> None:
        self._say("info", text)

    def warning(self, text: str) -> None:
        self._say("warning", text)

    def error(self, text: str) -> None:
        self._say("error", text)

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        text = record.getMessage() + (f": {type(error).__name__}: {error}" if error else "")
        self._say("error" if record.levelno >= logging.ERROR else record.levelname.lower(), text)

    def hear(self, messages: Iterable[NativeMessage]) -> None:
        """What native code has said."""
        for one in messages:
            self.add(one.level, one.text, About(one.run, one.buffer, one.dtp, one.frame), one.time)

    def newest(self, count: int) -> list[dict[str, object]]:
        """At most `count` entries, the oldest first."""
        with self._guard:
            entries = list(self._entries)
        return [asdict(entry) for entry in entries[max(0, len(entries) - count) :]]

    def add(self, level: str, text: str, about: About = _NOTHING, time_s: float | None = None) -> None:
        """`time_s`: since 1970, UTC; now when not given."""
        if LEVELS.index(level) < self._least:
            return
        text = text.translate(_CONTROL)[:_LONGEST]
        with self._guard:
            last = self._entries[-1] if self._entries else None
            said = None if last is None else (last.level, last.text, last.run, last.buffer, last.dtp, last.frame)
            if last is not None and said == (level, text, about.run, about.buffer, about.dtp, about.frame):
                last.times += 1
                return
            when = datetime.now(UTC) if time_s is None else datetime.fromtimestamp(time_s, UTC)
            shown = when.isoformat(timespec="milliseconds").replace("+00:00", "Z")
            self._entries.append(Entry(shown, level, text, 1, about.run, about.buffer, about.dtp, about.frame))

    def _say(self, level: str, text: str) -> None:
        self.add(level, text)
        if self._copy is not None and LEVELS.index(level) >= self._least:
            self._copy(level, text.translate(_CONTROL)[:_LONGEST])
