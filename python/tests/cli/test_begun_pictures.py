# SPDX-License-Identifier: Apache-2.0
import errno
import json
import os
import signal
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest

from rashpa.cli.report import begun_pictures, report, report_pictures
from rashpa.cli.report.begun_pictures import BegunPictures
from rashpa.cli.report.page_module import page_module
from rashpa.cli.report.report import get_ready, write_report
from rashpa.control.books.outcome import Outcome
from rashpa.control.plan.run_plan import load_plan
from rashpa.node.state.node import Node
from rashpa.testing.fake_engine import FakeFactory
from rashpa.testing.in_process import run_in_process
from rashpa.testing.run_file import run_file
from rashpa.testing.waiting import GUARD_S

pytestmark = pytest.mark.whole

BROKEN = "there are no pictures today"


def fails(*_: object) -> NoReturn:
    raise ValueError(BROKEN)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    path = tmp_path_factory.mktemp("pictures") / "run.toml"
    path.write_text(run_file(run={"frames": 20}, buffer={"sink": [{"kind": "null"}]}))
    roles = ("emulator", "receiver")
    return run_in_process(load_plan(path), {role: Node(role, role, FakeFactory(role)) for role in roles})


@pytest.fixture
def outcome(good: Outcome) -> Outcome:
    return replace(good)


def shown(outcome: Outcome) -> dict[str, list[tuple[str, str]]]:
    found = report_pictures.pictures_of(outcome)
    return {name: [(figure.shows, figure.caption) for figure in one.figures] for name, one in found.items()}


@pytest.fixture
def only_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a process be forked although the test's own workers have threads, which hold no lock that pictures need."""
    monkeypatch.setattr(begun_pictures, "_HARMLESS", tuple(thread.name for thread in threading.enumerate()))


def shown_by(begun: BegunPictures) -> dict[str, list[tuple[str, str]]]:
    return {name: [(one.shows, one.caption) for one in each.figures] for name, each in begun.result().items()}


@pytest.mark.usefixtures("only_thread")
def test_pictures_of_a_forked_process_are_those_of_this_one(outcome: Outcome, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = shown(outcome)
    monkeypatch.setattr(begun_pictures, "_PATIENCE_S", GUARD_S)
    begun = BegunPictures(outcome)
    process = begun._process
    assert process > 0
    monkeypatch.setattr(report_pictures, "pictures_of", fails)  # in this process
    assert shown_by(begun) == wanted
    assert list(wanted) == [buffer.section.name for buffer in outcome.plan.buffers]
    assert not Path(f"/proc/{process}").exists()


def test_nothing_is_forked_beside_a_thread_that_may_hold_a_lock(outcome: Outcome) -> None:
    done = threading.Event()
    other = threading.Thread(target=done.wait, name="other")
    other.start()
    try:
        begun = BegunPictures(outcome)
        assert begun._process == 0
        assert shown_by(begun) == shown(outcome)
    finally:
        done.set()
        other.join()


@pytest.mark.usefixtures("only_thread")
def test_a_process_that_cannot_be_forked_is_done_without(outcome: Outcome, monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> NoReturn:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", full)
    files = len(list(Path("/proc/self/fd").iterdir()))
    begun = BegunPictures(outcome)
    assert len(list(Path("/proc/self/fd").iterdir())) == files
    assert shown_by(begun) == shown(outcome)


@pytest.mark.usefixtures("only_thread")
def test_a_forked_process_writes_nothing_for_people(
    outcome: Outcome, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(begun_pictures, "_PATIENCE_S", GUARD_S)

    def loud(_: Outcome) -> dict[str, str]:
        print("a warning", file=sys.stderr, flush=True)
        print("a word", flush=True)
        return {"full": "made"}

    monkeypatch.setattr(report_pictures, "pictures_of", loud)
    begun = BegunPictures(outcome)
    monkeypatch.setattr(report_pictures, "pictures_of", fails)
    found: Any = begun.result()
    assert found == {"full": "made"}
    assert capfd.readouterr() == ("", "")


@pytest.mark.usefixtures("only_thread")
@pytest.mark.parametrize("how", ["killed", "stopped", "failed"])
def test_a_forked_process_that_fails_costs_time_alone(
    outcome: Outcome, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = shown(outcome)
    monkeypatch.setattr(begun_pictures, "_PATIENCE_S", 0.2)
    with monkeypatch.context() as patched:
        ends = {"killed": signal.SIGKILL, "stopped": signal.SIGSTOP}
        act = fails if how == "failed" else lambda *_: os.kill(os.getpid(), ends[how])
        patched.setattr(report_pictures, "pictures_of", act)
        begun = BegunPictures(outcome)
    process = begun._process
    assert shown_by(begun) == wanted
    assert not Path(f"/proc/{process}").exists()


def test_pictures_that_fail_cost_the_page_alone(
    outcome: Outcome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_pictures, "pictures_of", fails)
    paths = write_report(outcome, tmp_path, Path("run.toml"))
    assert [path.name for path in paths] == ["report.json"]
    run = json.loads(paths[0].read_text(encoding="utf-8"))["run"]
    assert run["good"]
    assert any("report.html" in text and BROKEN in text for text in run["cautions"])


@pytest.mark.parametrize("part", ["_machine", "_load_page", "_load_files"])
def test_a_part_that_fails_in_advance_hides_no_other(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    names = ("_machine", "_load_page", "_load_files")
    for name in names:
        monkeypatch.setattr(report, name, fails if name == part else lambda name=name: done.append(name))
    get_ready(page=True)
    assert done == [name for name in names if name != part]


def test_a_report_without_a_page_imports_nothing_in_advance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "_load_page", fails)
    monkeypatch.setattr(report, "_load_files", fails)
    get_ready(page=False)


def test_an_import_that_failed_in_advance_is_an_error_of_the_page(
    outcome: Outcome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_module(name: str) -> Any:
        raise ImportError(f"{name} is broken")

    monkeypatch.setattr("rashpa.cli.report.page_module.importlib.import_module", no_module)
    get_ready(page=True)
    for _ in range(2):
        with pytest.raises(ImportError, match="report_html is broken"):
            page_module()
    paths = write_report(outcome, tmp_path, Path("run.toml"))
    assert [path.name for path in paths] == ["report.json"]
    cautions = json.loads(paths[0].read_text(encoding="utf-8"))["run"]["cautions"]
    assert any("rashpa.cli.report.report_html is broken" in text for text in cautions)
