# SPDX-License-Identifier: Apache-2.0
import json
import os
import threading
from pathlib import Path

import pytest

from rashpa.control.telegrams.telegram import Books, Count
from rashpa.dashboard.past import past_runs
from rashpa.dashboard.past.past_runs import PastRuns, ending_of
from rashpa.dashboard.tables import past_table

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
    assert found.counts == {
        "full": (Count(group="veto", name="too_few", value=6), Count(group="error", name="no_room", value=0))
    }
    assert found.lines == ("lost", "Frame 3")
    assert not found.good
    assert ending_of(str(tmp_path / "a"), 250.0) is None
    assert ending_of("", 0.0) is None


def _with(**changed: object) -> str:
    said = {
        "run": {"name": "n", "frames": 10, "good": True, "problem": "", "reasons": []},
        "books": {**BOOKS, "balanced": True},
        "buffers": [],
    }
    for name, value in changed.items():
        part, _, key = name.partition("__")
        said[part] = {**said[part], key: value} if key else value  # type: ignore[dict-item]
    return json.dumps(said)


STRANGE = {
    "too deep": "[" * 200_000,
    "too deep objects": '{"run":' * 100_000,
    "a number of 400 digits": _with(run__frames=10**400),
    "a number of 5000 digits": _with().replace('"frames": 10', '"frames": ' + "9" * 5000),
    "books without end": _with(books__accepted=10**400),
    "books of more than a float": _with(books__accepted=10**310, books__complete=1),
    "no number": _with(run__frames="many"),
    "infinite": _with().replace('"frames": 10', '"frames": Infinity'),
    "no number at all": _with().replace('"frames": 10', '"frames": NaN'),
    "negative": _with(books__missing=-1),
    "a fraction": _with(books__missing=0.5),
    "a list": "[]",
    "a list of books": _with(books=[1, 2]),
    "a name": _with(run="name"),
    "nothing": "null",
    "no UTF-8": "",
}


@pytest.mark.parametrize("strange", STRANGE)
def test_one_strange_report_hides_no_other_run(tmp_path: Path, strange: str) -> None:
    _report(tmp_path / "good", "good", 100.0)
    (tmp_path / "strange").mkdir()
    (tmp_path / "strange" / "report.json").write_bytes(STRANGE[strange].encode() or b'{"run": "\xff"}')
    past = PastRuns([tmp_path])
    assert [run.name for run in past.newest()] == ["good"]
    assert past_table(past.newest(), "reports/")
    ending_of(str(tmp_path / "strange"), 0.0)  # says what it can, and raises nothing


def test_a_name_without_end_is_cut(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text(_with(run__name="n" * 100_000))
    assert [run.name for run in PastRuns([tmp_path]).newest()] == ["n" * 200]


def test_nothing_outside_of_the_folders_is_shown_and_no_pipe_is_waited_for(tmp_path: Path) -> None:
    _report(tmp_path / "elsewhere", "secret", 100.0)
    runs = tmp_path / "runs"
    _report(runs / "a", "a", 100.0)
    (runs / "led").symlink_to(tmp_path / "elsewhere")
    for name, make in (("linked", Path.symlink_to), ("piped", None)):
        (runs / name).mkdir()
        path = runs / name / "report.json"
        make(path, tmp_path / "elsewhere" / "report.json") if make else os.mkfifo(path)
    (runs / "around").symlink_to(runs)
    (runs / "a" / "report.html").symlink_to(tmp_path / "elsewhere" / "report.json")
    os.mkfifo(runs / "a" / "nodes.log")
    past = PastRuns([runs])
    (run,) = past.newest()
    assert run.name == "a"
    assert b'"a"' in past.content(run.number, "report.json")
    for name in ("report.html", "nodes.log", "missing"):
        with pytest.raises(OSError):
            past.content(run.number, name)
    assert ending_of(str(runs / "linked"), 0.0) is None
    assert ending_of(str(runs / "piped"), 0.0) is None


def test_a_disk_that_stands_holds_up_no_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _report(tmp_path / "a", "a", 100.0)
    past = PastRuns([tmp_path])
    assert [run.name for run in past.newest()] == ["a"]
    goes_on = threading.Event()
    monkeypatch.setattr(past_runs, "_PATIENCE_S", 0.01)
    monkeypatch.setattr(past_runs, "_folders_of", lambda _: iter(()) if goes_on.wait(60) else ())
    assert [run.name for run in past.newest()] == ["a"]
    goes_on.set()
