# SPDX-License-Identifier: Apache-2.0
"""Folders into which others may write: foreign files at the names that a run, its watchers and its page use neither end nor delay anything. No target
of a foreign link is read or written."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import h5py
import httpx
import pytest

from rashpa.testing.run_file import small_run
from rashpa.testing.waiting import GUARD_S

pytestmark = pytest.mark.whole

COMMAND = [sys.executable, "-m", "rashpa.cli.entry"]
FRAMES = 20
RUN = small_run(run={"name": "n", "frames": FRAMES, "existing": "replace"})
SECRET = "of its owner alone"
NAMES = ("n_attach.json", "n_stop.json", "n_steer.json", "n_join.json", ".n_full_begins")
REPORTS = ("report.html", "nodes.log")


def link(path: Path) -> None:
    path.symlink_to(path.parent.parent / "secret")


def dangling(path: Path) -> None:
    path.symlink_to(path.parent.parent / "nowhere")


def foreign(path: Path) -> None:
    """Write a foreign file without a meaning."""
    path.write_text("[" * 100_000)
    if os.geteuid() == 0:
        os.chown(path, 65534, 65534)


LYING: Mapping[str, Callable[[Path], object]] = {
    "link": link,
    "dangling link": dangling,
    "pipe": os.mkfifo,
    "folder": os.mkdir,
    "foreign": foreign,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "run.toml").write_text(RUN)
    (tmp_path / "secret").write_text(SECRET)
    (tmp_path / "secret").chmod(0o600)
    (tmp_path / "out").mkdir()
    (tmp_path / "report").mkdir()
    return tmp_path


@pytest.mark.parametrize("lies", LYING)
def test_a_run_is_carried_through_whatever_lies_at_its_names(folder: Path, lies: str) -> None:
    for name in NAMES:
        LYING[lies](folder / "out" / name)
    for name in (*REPORTS, *(["report.json"] if lies != "folder" else [])):
        LYING[lies](folder / "report" / name)
    words = [*COMMAND, "run", "run.toml", "--output", "report", "-q"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=GUARD_S, check=False)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    with h5py.File(folder / "out" / "n_full_master.h5") as file:
        assert len(file["/entry/data/data"]) == FRAMES
    report = folder / "report" / "report.json"
    assert json.loads(report.read_text())["run"]["good"]
    assert not report.is_symlink()
    assert (folder / "secret").read_text() == SECRET
    assert not (folder / "nowhere").exists()
    if lies == "folder":
        assert "report.html" in done.stderr
    else:
        assert "<html" in (folder / "report" / "report.html").read_text()


ASKS = {
    "attach": ["attach", "out"],
    "stop": ["stop", "out"],
    "pause": ["pause", "out"],
    "abort": ["abort", "out"],
    "limits": ["limits", "out", "few", "keep=1"],
    "join": ["join", "out"],
    "inspect": ["inspect", "report"],
}


@pytest.mark.parametrize("lies", LYING)
def test_who_asks_for_something_is_told_what_lies_there(folder: Path, lies: str) -> None:
    LYING[lies](folder / "out" / "n_attach.json")
    LYING[lies](folder / "report" / "report.json")
    for command in ASKS.values():
        done = subprocess.run(
            [*COMMAND, *command], cwd=folder, capture_output=True, text=True, timeout=GUARD_S, check=False
        )
        assert done.returncode in (1, 2), (command, done)
        assert "Traceback" not in done.stderr, (command, done.stderr)
        assert SECRET not in done.stdout + done.stderr


def test_a_page_is_shown_to_everybody_whatever_lies_among_past_runs(folder: Path) -> None:
    for lies, make in LYING.items():
        (folder / "runs" / lies).mkdir(parents=True)
        for name in (*REPORTS, "report.json"):
            make(folder / "runs" / lies / name)
    (folder / "runs" / "deep").mkdir()
    (folder / "runs" / "deep" / "report.json").write_text("[" * 100_000)
    LYING["pipe"](folder / "out" / "n_attach.json")
    command = [*COMMAND, "dashboard", "run.toml", "--port", "0", "--output", "runs"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as page:
        assert page.stdout is not None
        url = page.stdout.readline().split()[1]
        with httpx.Client(timeout=GUARD_S, follow_redirects=True) as client:  # the first answer has a cookie
            for _ in range(2):
                assert client.get(url).status_code == 200
        page.send_signal(signal.SIGTERM)
    assert page.returncode == 0
