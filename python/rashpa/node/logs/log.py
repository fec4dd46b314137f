# SPDX-License-Identifier: Apache-2.0
"""The log of a node, for people: the newest entries in memory, which `rashpa node log` reads. No token and no owner's secret is ever in a text."""

import heapq
import logging
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Protocol

from rashpa.data.base.plain_text import ONE_LINE

MOST = 1000
"""Entries that are kept; the oldest go."""
MOST_PRINTED = 500
"""The most printed lines of kernels, beside the entries."""
IN_NODE_LOG = {"in_node_log": True}
"""As `extra` of a log record: the node's log has an entry of its own for it."""
_LONGEST = 500  # characters of an entry


class NativeMessage(Protocol):
    """Declares the fields of rashpa._native.LogMessage."""

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
    """Names the subject of an entry; None, or empty, where a part does not apply."""

    run: int | None = None
    buffer: str = ""
    dtp: int | None = None
    frame: int | None = None


_NOTHING = About()


@dataclass
class Entry:
    """Holds one event. `times`: its count in a row. `module`: that of the DTP; the others of the last five as in About."""

    time: str  # of the first, UTC
    node: str
    level: str  # one of LEVELS
    text: str
    times: int = 1
    run: int | None = None
    buffer: str = ""
    dtp: int | None = None
    module: int | None = None
    frame: int | None = None

    def repeats(self, last: "Entry") -> bool:
        """Return True when it says the same as `last`."""
        return (self.level, self.text, self.run, self.buffer, self.dtp, self.frame) == (
            last.level, last.text, last.run, last.buffer, last.dtp, last.frame,
        )  # fmt: skip


class NodeLog(logging.Handler):
    """Keeps entries from any thread. As a handler it also takes log records of the node's own modules. `level`: the least severe level to keep. `copy` gets
    every entry, for a file. It gets a repeated entry at first, and once more with its count when another entry comes, or at the end."""

    def __init__(self, level: str = "info", copy: Callable[[Entry], object] | None = None, node: str = "") -> None:
        super().__init__(logging.INFO)
        self.node = node
        self._least = LEVELS.index(level)
        self._copy = copy
        self._guard = threading.Lock()
        self._entries: deque[Entry] = deque(maxlen=MOST)
        self._printed: deque[Entry] = deque(maxlen=MOST_PRINTED)
        self._printers = ""
        self._levels: Counter[str] = Counter()
        self._modules: Mapping[int, int] = {}

    def info(self, text: str, about: About = _NOTHING) -> None:
        self.add("info", text, about)

    def warning(self, text: str, about: About = _NOTHING) -> None:
        self.add("warning", text, about)

    def error(self, text: str, about: About = _NOTHING) -> None:
        self.add("error", text, about)

    def emit(self, record: logging.LogRecord) -> None:
        if getattr(record, "in_node_log", False):
            return
        error = record.exc_info[1] if record.exc_info else None
        text = record.getMessage() + (f": {type(error).__name__}: {error}" if error else "")
        self.add("error" if record.levelno >= logging.ERROR else record.levelname.lower(), text)

    def know_modules(self, modules: Mapping[int, int]) -> None:
        """Set the modules of the run by DTP."""
        self._modules = modules

    def know_printers(self, names: Iterable[str]) -> None:
        """Set the kernels of the run that are code of others: output without a known name comes from one of them."""
        self._printers = " or ".join(names)

    def printed(self, who: str, text: str, about: About = _NOTHING) -> None:
        """Add a line that a kernel, a library or a child process has printed. Such lines never displace other entries."""
        entry = self._entry_of("info", f"{who or self._printers or 'the process'} printed: {text}", about, None)
        if self._least > LEVELS.index("info"):
            return
        with self._guard:
            self._levels["info"] += 1
            self._printed.append(entry)
            if self._copy is not None:
                self._copy(entry)

    def hear(self, messages: Iterable[NativeMessage]) -> None:
        """Add messages of native code."""
        for one in messages:
            self.add(one.level, one.text, About(one.run, one.buffer, one.dtp, one.frame), one.time)

    def newest(self, count: int) -> list[dict[str, object]]:
        """Return at most `count` entries, the oldest first."""
        with self._guard:
            entries, printed = list(self._entries), list(self._printed)
        printed = printed[max(0, len(printed) - max(count // 2, count - len(entries))) :]
        entries = entries[max(0, len(entries) - (count - len(printed))) :]
        return [asdict(entry) for entry in heapq.merge(entries, printed, key=lambda entry: entry.time)]

    def levels(self) -> dict[str, int]:
        """Return the number of entries of each level that is kept, with displaced and repeated ones."""
        with self._guard:
            return {level: self._levels[level] for level in LEVELS[self._least :]}

    def add(self, level: str, text: str, about: About = _NOTHING, time_s: float | None = None) -> None:
        """Add an entry. `time_s`: since 1970, UTC; now when not given."""
        if LEVELS.index(level) < self._least:
            return
        entry = self._entry_of(level, text, about, time_s)
        with self._guard:
            self._levels[level] += 1
            last = self._entries[-1] if self._entries else None
            if last is not None and entry.repeats(last):
                last.times += 1
                return
            self._copy_repeated()
            self._entries.append(entry)
            if self._copy is not None:
                self._copy(entry)

    def _entry_of(self, level: str, text: str, about: About, time_s: float | None) -> Entry:
        when = datetime.now(UTC) if time_s is None else datetime.fromtimestamp(time_s, UTC)
        return Entry(
            time=when.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            node=self.node,
            level=level,
            text=text.translate(ONE_LINE)[:_LONGEST],
            run=about.run,
            buffer=about.buffer,
            dtp=about.dtp,
            module=None if about.dtp is None else self._modules.get(about.dtp),
            frame=about.frame,
        )

    def end(self) -> None:
        """Add nothing more."""
        with self._guard:
            self._copy_repeated()

    def _copy_repeated(self) -> None:
        last = self._entries[-1] if self._entries else None
        if self._copy is not None and last is not None and last.times > 1:
            self._copy(last)
