# SPDX-License-Identifier: Apache-2.0
"""Finds runs that have ended by their reports."""

import contextlib
import errno
import itertools
import os
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rashpa.control.telegrams.telegram import Books, Count
from rashpa.dashboard.past.thumbnails import Thumbnails, thumbnail_of
from rashpa.dashboard.scene import Ending
from rashpa.data.files.regular_file import json_of, open_shared, read_below, read_shared

REPORT = "report.json"
_MOST_BYTES = 32 << 20
_MOST_SHOWN = 128 << 20
_MOST_RUNS = 100
_MOST_FOLDERS = 10_000  # of one folder
_MOST_LINES = 100
_LONGEST = 200  # characters of a name
_DEPTH = 2
_PATIENCE_S = 1.0
_NO_REPORT = (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError)
_Identity = tuple[int, int, int]


@dataclass(frozen=True)
class PastRun:
    """Describes one past run. `number`: the page's number for its folder; `stored_bytes`: the size of its files, None when the report does not state
    it."""

    number: int
    folder: Path
    name: str
    when: datetime
    good: bool
    frames: int
    books: Books
    hits: float | None
    sample: str = ""
    stored_bytes: int | None = None


class PastRuns:
    """Finds runs with reports in the given folders, or one or two levels below. A thread reads each report once, so that a hanging disk does not
    block a page."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self._folders = tuple(folders)
        self._known: dict[Path, tuple[_Identity, PastRun | None]] = {}
        self._numbers: dict[Path, tuple[int, Path]] = {}  # by folder: its number, and which of ours it is below
        self._newest: list[PastRun] = []
        self._looking: threading.Thread | None = None
        self._thumbnails = Thumbnails()

    def newest(self) -> list[PastRun]:
        """Return the known runs, the newest first. Wait only a moment for the search."""
        if self._looking is None or not self._looking.is_alive():
            self._looking = threading.Thread(target=self._look, name="past runs", daemon=True)
            self._looking.start()
        self._looking.join(_PATIENCE_S)
        return self._newest

    def content(self, number: int, name: str) -> bytes:
        """Return the content of a file of run `number` of the page. Raise OSError when there is none."""
        found = next(((folder, root) for folder, (known, root) in self._numbers.items() if known == number), None)
        if found is None:
            raise FileNotFoundError(errno.ENOENT, "no such run", name)
        return read_below(found[1], found[0] / name, _MOST_SHOWN)

    def thumbnail(self, number: int) -> bytes:
        """Return a small picture of run `number` of the page, as PNG. Raise OSError when there is none."""
        folder = next((folder for folder, (known, _) in self._numbers.items() if known == number), None)
        key = folder, self._known.get(folder / REPORT, (None,))[0] if folder is not None else None
        if key not in self._thumbnails:
            self._thumbnails.keep(key, thumbnail_of(self.content(number, "report.html")))
        picture = self._thumbnails.of(key)
        if picture is None:
            raise FileNotFoundError(errno.ENOENT, "no picture", "report.html")
        return picture

    def _look(self) -> None:
        found = [self._run_of(path, root) for path, root in self._reports()]
        runs = sorted((run for run in found if run is not None), key=lambda run: run.when, reverse=True)
        self._newest = runs[:_MOST_RUNS]

    def _reports(self) -> Iterator[tuple[Path, Path]]:
        """Yield the path of each report once, with the given folder above it."""
        seen = set()
        for root in self._folders:
            for folder in _folders_of(root):
                if (path := folder / REPORT) not in seen:
                    seen.add(path)
                    yield path, root

    def _run_of(self, path: Path, root: Path) -> PastRun | None:
        try:
            facts = path.lstat()
        except OSError:
            return None
        identity = facts.st_mtime_ns, facts.st_ino, facts.st_size
        known = self._known.get(path)
        if known is None or known[0] != identity:
            number = self._numbers.setdefault(path.parent, (len(self._numbers) + 1, root))[0]
            self._known[path] = known = identity, _read(path, root, number, facts.st_mtime)
        return known[1]


def _folders_of(root: Path, depth: int = _DEPTH) -> Iterator[Path]:
    """Yield `root` and the folders below it, down to the depth at which reports may be. Links are not followed."""
    yield root
    if not depth:
        return
    with contextlib.suppress(OSError), os.scandir(root) as entries:
        names = [
            entry.name for entry in itertools.islice(entries, _MOST_FOLDERS) if entry.is_dir(follow_symlinks=False)
        ]
        for name in sorted(names):
            yield from _folders_of(root / name, depth - 1)


def _read(path: Path, root: Path, number: int, changed: float) -> PastRun | None:
    """Return the run of a report, None when the file is no report."""
    try:
        report = json_of(read_below(root, path, _MOST_BYTES))
        books = _books_of(report["books"])
        when = datetime.fromtimestamp(changed, UTC)
        hits = books.accepted / books.arrived if books.arrived else None
        run = report["run"]
        name, frames = str(run["name"])[:_LONGEST], _count_of(run["frames"])
        sample = str(run.get("sample", ""))[:_LONGEST]
        stored = _stored_of(report["buffers"])
        return PastRun(number, path.parent, name, when, bool(run["good"]), frames, books, hits, sample, stored)
    except _NO_REPORT:
        return None


def ending_of(report: str, after_s: float) -> Ending | None:
    """Return the end of a run from the report in the folder `report`; None when it has none of a run that began after `after_s`."""
    if not report:
        return None
    try:
        with open_shared(Path(report) / REPORT) as file:
            if os.fstat(file.fileno()).st_mtime < after_s:
                return None
        said = json_of(read_shared(Path(report) / REPORT, _MOST_BYTES))
        run = said["run"]
        lines = (*str(run["problem"]).splitlines(), *map(str, run["reasons"]))[:_MOST_LINES]
        books = {str(buffer["name"]): _books_of(buffer["books"]) for buffer in said["buffers"]}
        text = "the books balance" if said["books"]["balanced"] else "the books do NOT balance"
        counts = {str(buffer["name"]): tuple(_counts_of(buffer)) for buffer in said["buffers"]}
        return Ending(report, bool(run["good"]), lines, books, text, counts)
    except _NO_REPORT:
        return None


def _count_of(value: object) -> int:
    """Return a number of images. Raise ValueError when `value` is not one."""
    if not isinstance(value, int) or not 0 <= value < 1 << 63:
        raise ValueError("no number of images")
    return value


def _stored_of(buffers: list[dict[str, Any]]) -> int | None:
    found = [_count_of(buffer["bytes_stored"]) for buffer in buffers if "bytes_stored" in buffer]
    return sum(found) if found else None


def _books_of(said: dict[str, Any]) -> Books:
    return Books(**{one.name: _count_of(said[one.name]) for one in fields(Books)})


def _counts_of(buffer: dict[str, Any]) -> Iterator[Count]:
    for group, where in (("veto", "vetoes"), ("error", "errors")):
        for reason, count in buffer[where].items():
            yield Count(group=group, name=str(reason), value=_count_of(count))
