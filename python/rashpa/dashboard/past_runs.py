# SPDX-License-Identifier: Apache-2.0
"""Runs that have ended, by their reports."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rashpa.control.telegram import Books, Count
from rashpa.dashboard.scene import Ending
from rashpa.data.regular_file import read_regular

REPORT = "report.json"
_MOST_BYTES = 32 << 20
_MOST_RUNS = 100


@dataclass(frozen=True)
class PastRun:
    """`number`: by which the page names its folder."""

    number: int
    folder: Path
    name: str
    when: datetime
    good: bool
    frames: int
    books: Books
    hits: float | None


class PastRuns:
    """Those whose reports lie in these folders, or one or two below. Reads a report once."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self._folders = tuple(folders)
        self._known: dict[Path, tuple[int, PastRun | None]] = {}
        self._numbers: dict[Path, int] = {}

    def newest(self) -> list[PastRun]:
        """The newest first."""
        found = (self._run_of(path) for path in self._reports())
        runs = sorted((run for run in found if run is not None), key=lambda run: run.when, reverse=True)
        return runs[:_MOST_RUNS]

    def folder(self, number: int) -> Path | None:
        """Of the run that the page names so."""
        return next((folder for folder, known in self._numbers.items() if known == number), None)

    def _reports(self) -> Iterator[Path]:
        seen = set()
        for folder in self._folders:
            for pattern in (REPORT, f"*/{REPORT}", f"*/*/{REPORT}"):
                for path in folder.glob(pattern):
                    if path not in seen:
                        seen.add(path)
                        yield path

    def _run_of(self, path: Path) -> PastRun | None:
        try:
            changed = path.stat().st_mtime_ns
        except OSError:
            return None
        known = self._known.get(path)
        if known is None or known[0] != changed:
            number = self._numbers.setdefault(path.parent, len(self._numbers) + 1)
            self._known[path] = known = changed, _read(path, number)
        return known[1]


def _read(path: Path, number: int) -> PastRun | None:
    """None for a file that is no report."""
    try:
        report = json.loads(read_regular(path, _MOST_BYTES))
        books = _books_of(report["books"])
        when = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        hits = books.accepted / books.arrived if books.arrived else None
        run = report["run"]
        return PastRun(number, path.parent, str(run["name"]), when, bool(run["good"]), int(run["frames"]), books, hits)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def ending_of(report: str, after_s: float) -> Ending | None:
    """What the report in that folder says of the run that began after that time; None when it has none."""
    path = Path(report) / REPORT
    try:
        if not report or path.stat().st_mtime < after_s:
            return None
        said = json.loads(read_regular(path, _MOST_BYTES))
        run = said["run"]
        lines = (*str(run["problem"]).splitlines(), *map(str, run["reasons"]))
        books = {str(buffer["name"]): _books_of(buffer["books"]) for buffer in said["buffers"]}
        text = "the books balance" if said["books"]["balanced"] else "the books do NOT balance"
        counts = {str(buffer["name"]): tuple(_counts_of(buffer)) for buffer in said["buffers"]}
        return Ending(report, bool(run["good"]), lines, books, text, counts)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _books_of(said: dict[str, Any]) -> Books:
    return Books(**{one.name: int(said[one.name]) for one in fields(Books)})


def _counts_of(buffer: dict[str, Any]) -> Iterator[Count]:
    for group, where in (("veto", "vetoes"), ("error", "errors")):
        for reason, count in buffer[where].items():
            yield Count(group, str(reason), int(count))
