"""What a node has done, for people: the newest entries in memory, read by `rashpa node log`. No token and no owner's secret is ever in a text."""

import logging
import threading
from collections import deque
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

MOST = 1000
"""Entries that are kept; the oldest go."""
_LONGEST = 500  # characters of an entry
_CONTROL = dict.fromkeys(range(32)) | {127: None}  # a stranger's text moves no cursor


@dataclass
class Entry:
    """One thing that happened. `times`: how often in a row."""

    time: str  # of the first, UTC
    level: str  # info | warning | error
    text: str
    times: int = 1


class NodeLog(logging.Handler):
    """From any thread. As a handler it takes what the node's own modules log besides."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self._guard = threading.Lock()
        self._entries: deque[Entry] = deque(maxlen=MOST)

    def info(self, text: str) -> None:
        self._add("info", text)

    def warning(self, text: str) -> None:
        self._add("warning", text)

    def error(self, text: str) -> None:
        self._add("error", text)

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        text = record.getMessage() + (f": {type(error).__name__}: {error}" if error else "")
        self._add("error" if record.levelno >= logging.ERROR else record.levelname.lower(), text)

    def newest(self, count: int) -> list[dict[str, object]]:
        """At most `count` entries, the oldest first."""
        with self._guard:
            entries = list(self._entries)
        return [asdict(entry) for entry in entries[max(0, len(entries) - count) :]]

    def _add(self, level: str, text: str) -> None:
        text = text.translate(_CONTROL)[:_LONGEST]
        with self._guard:
            last = self._entries[-1] if self._entries else None
            if last is not None and (last.level, last.text) == (level, text):
                last.times += 1
                return
            now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            self._entries.append(Entry(now, level, text))
