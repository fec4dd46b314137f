# SPDX-License-Identifier: Apache-2.0
import json
import os
from pathlib import Path

import pytest

from rashpa.control.telegram import Books, Count
from rashpa.dashboard.past_runs import PastRuns, ending_of

BOOKS = {
    "expected": 10,
    "complete": 9,
    "partial": 0,
    "missing": 1,
    "accepted": 3,
    "vetoed": 6,
    "errored": 0,
    "written": 3,
}


def _report(folder: Path, name: str, when: float, **run: object) -> None:
    folder.mkdir(parents=True)
    said = {
        "run": {"name": name, "frames": 10, "good": True, "problem": "", "reasons": [], **run},
        "books": {**BOOKS, "balanced": True},
        "buffers": [
            {"name": "full", "books": {**BOOKS, "balanced": True}, "vetoes": {"too_few": 6}, "errors": {"no_room": 0}}
        ],
    }
    (folder / "report.json").write_text(json.dumps(said))
    os.utime(folder / "report.json", (when, when))


def test_runs_are_found_by_their_reports_the_newest_first(tmp_path: Path) -> None:
    _report(tmp_path / "a", "old", 100.0)
    _report(tmp_path / "reports" / "b", "new", 200.0, good=False)
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "report.json").write_text("{")
    past = PastRuns([tmp_path])
    runs = past.newest()
    assert [run.name for run in runs] == ["new", "old"]
    assert [run.good for run in runs] == [False, True]
    assert runs[0].hits == 3 / 9
    assert past.content(runs[1].number, "report.json") == (tmp_path / "a" / "report.json").read_bytes()
    with pytest.raises(FileNotFoundError):
        past.content(99, "report.json")
    assert [run.number for run in past.newest()] == [run.number for run in runs]


def test_an_ending_is_that_of_the_run_and_not_of_one_before(tmp_path: Path) -> None:
    _report(tmp_path / "a", "run", 200.0, problem="lost\nFrame 3", good=False)
    found = ending_of(str(tmp_path / "a"), 150.0)
    assert found is not None
    assert found.books == {"full": Books(**BOOKS)}
    assert found.counts == {"full": (Count("veto", "too_few", 6), Count("error", "no_room", 0))}
    assert found.lines == ("lost", "Frame 3")
    assert not found.good
    assert ending_of(str(tmp_path / "a"), 250.0) is None
    assert ending_of("", 0.0) is None
