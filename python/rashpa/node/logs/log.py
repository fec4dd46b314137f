# SPDX-License-Identifier: Apache-2.0
"""Keeps the log of a node for people: the newest entries in memory, which `rashpa node log` reads. Every entry comes from a record of `logging`. No
entry ever has a token or an owner's secret."""

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
_NUMBERS = {level: logging.getLevelNamesMapping()[level.upper()] for level in LEVELS}


@dataclass(frozen=True)
class About:
    """Names the subject of an entry; a part that does not apply is None or empty."""

    run: int | None = None
    buffer: str = ""
    dtp: int | None = None
    frame: int | None = None

    @property
    def extra(self) -> dict[str, object]:
        """Return the argument `extra` for a log record on this subject."""
        return {"about": self}


_NOTHING = About()


@dataclass
class Entry:
    """Holds one event. `times`: the number of equal events in a row; `module`: the module of the DTP; `run`, `buffer`, `dtp` and `frame`: as in
    About."""

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
        """Return True when the entry equals `last` except for its time."""
        return (self.level, self.text, self.run, self.buffer, self.dtp, self.frame) == (
            last.level, last.text, last.run, last.buffer, last.dtp, last.frame,
        )  # fmt: skip


class NodeLog(logging.Handler):
    """Stores records of `logging` as entries; any thread may log. `level`: the least severe level to store. `copy` gets every entry, for a file; a
    repeated entry comes first alone, and once more with its count when another entry follows, or at the end. `logger` is for events of this node,
    native code and printed lines. A process with one node also adds this handler to the package's logger."""

    def __init__(self, level: str = "info", copy: Callable[[Entry], object] | None = None, node: str = "") -> None:
        super().__init__(_NUMBERS[level])
        self.node = node
        # no child of the package's: a process may have several nodes
        self.logger = logging.Logger("rashpa.node", logging.DEBUG)
        self.logger.addHandler(self)
        self._copy = copy
        self._guard = threading.Lock()
        self._entries: deque[Entry] = deque(maxlen=MOST)
        self._printed: deque[Entry] = deque(maxlen=MOST_PRINTED)
        self._printers = ""
        self._levels: Counter[str] = Counter()
        self._modules: Mapping[int, int] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Store a record as an entry. When the record has no subject, the text of its exception is appended."""
        about = getattr(record, "about", None)
        error = record.exc_info[1] if record.exc_info and about is None else None
        text = record.getMessage() + (f": {type(error).__name__}: {error}" if error else "")
        entry = self._entry_of(record, text, about or _NOTHING)
        with self._guard:
            self._levels[entry.level] += 1
            if getattr(record, "printed", False):
                self._printed.append(entry)
            elif self._entries and entry.repeats(self._entries[-1]):
                self._entries[-1].times += 1
                return
            else:
                self._copy_repeated()
                self._entries.append(entry)
            if self._copy is not None:
                self._copy(entry)

    def know_modules(self, modules: Mapping[int, int]) -> None:
        """Set the module of each DTP of the run."""
        self._modules = modules

    def know_printers(self, names: Iterable[str]) -> None:
        """Set the kernels of the run that are foreign code: output without a known name comes from one of them."""
        self._printers = " or ".join(names)

    def printed(self, who: str, text: str, about: About = _NOTHING) -> None:
        """Log a line that a kernel, a library or a child process has printed. Printed lines never displace other entries."""
        line = f"{who or self._printers or 'the process'} printed: {text}"
        self.logger.info(line, extra={**about.extra, "printed": True})

    def hear(self, messages: Iterable[NativeMessage]) -> None:
        """Log messages of native code, with their own times."""
        for one in messages:
            about = About(one.run, one.buffer, one.dtp, one.frame)
            record = self.logger.makeRecord(
                self.logger.name, _NUMBERS[one.level], "native", 0, one.text, (), None, extra=about.extra
            )
            record.created = one.time
            self.logger.handle(record)

    def newest(self, count: int) -> list[dict[str, object]]:
        """Return at most `count` entries, the oldest first."""
        with self._guard:
            entries, printed = list(self._entries), list(self._printed)
        printed = printed[max(0, len(printed) - max(count // 2, count - len(entries))) :]
        entries = entries[max(0, len(entries) - (count - len(printed))) :]
        return [asdict(entry) for entry in heapq.merge(entries, printed, key=lambda entry: entry.time)]

    def levels(self) -> dict[str, int]:
        """Return the number of entries of each stored level, including displaced and repeated ones."""
        with self._guard:
            return {level: self._levels[level] for level in LEVELS if _NUMBERS[level] >= self.level}

    def _entry_of(self, record: logging.LogRecord, text: str, about: About) -> Entry:
        when = datetime.fromtimestamp(record.created, UTC)
        return Entry(
            time=when.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            node=self.node,
            level="error" if record.levelno >= logging.ERROR else record.levelname.lower(),
            text=text.translate(ONE_LINE)[:_LONGEST],
            run=about.run,
            buffer=about.buffer,
            dtp=about.dtp,
            module=None if about.dtp is None else self._modules.get(about.dtp),
            frame=about.frame,
        )

    def end(self) -> None:
        """Copy a last repeated entry with its count to the file. Call it last."""
        with self._guard:
            self._copy_repeated()

    def _copy_repeated(self) -> None:
        last = self._entries[-1] if self._entries else None
        if self._copy is not None and last is not None and last.times > 1:
            self._copy(last)
