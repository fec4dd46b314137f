# SPDX-License-Identifier: Apache-2.0
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rashpa.cli.main import app
from rashpa.control.books.outcome import Outcome
from rashpa.control.plan.run_plan import load_plan
from rashpa.testing.run_file import run_file
from rashpa.testing.waiting import GUARD_S

pytestmark = pytest.mark.whole


def written_run(tmp_path: Path, frames: int = 60, rate_hz: float = 0.0) -> Path:
    path = tmp_path / "run.toml"
    run = {"name": "cli", "frames": frames, "output": tmp_path / "out"}
    path.write_text(run_file(run=run, detector={"rate_hz": rate_hz}, buffer={"slots": 40}))
    return path


@pytest.fixture
def fake_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    def command(role: str, name: str) -> tuple[str, ...]:
        return (sys.executable, "-m", "rashpa.testing.fake_node", role, name)

    monkeypatch.setattr("rashpa.cli.run.run.local_command", command)


def test_version_and_help_say_where_to_begin() -> None:
    runner = CliRunner()
    assert runner.invoke(app, ["--version"]).stdout.startswith("rashpa ")
    shown = runner.invoke(app, ["--help"]).stdout
    assert "Begin with: rashpa demo" in " ".join(shown.split())
    for command in ("run", "emulator", "receiver"):
        assert command in shown
        assert runner.invoke(app, [command, "--help"]).exit_code == 0


@pytest.mark.usefixtures("fake_nodes")
def test_a_good_run_exits_with_0_shows_the_books_and_writes_the_report(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["run", str(written_run(tmp_path)), "--output", str(tmp_path / "report")])
    assert result.exit_code == 0, result.output
    assert "balanced" in result.stdout
    assert "0 unexplained" in result.stdout
    assert json.loads((tmp_path / "report" / "report.json").read_text(encoding="utf-8"))["run"]["good"]
    assert (tmp_path / "report" / "report.html").stat().st_size > 10_000


@pytest.mark.usefixtures("fake_nodes")
def test_a_run_without_a_folder_for_its_report_says_how_to_get_one(tmp_path: Path) -> None:
    path = written_run(tmp_path)
    path.write_text(path.read_text().replace("[run]\n", '[run]\nexisting = "replace"\n'))
    says = "no report was written; give `rashpa run` --output FOLDER for report.json and report.html"
    without = CliRunner().invoke(app, ["run", str(path), "--quiet"])
    assert without.exit_code == 0, without.output
    assert without.stdout.splitlines().count(says) == 1
    with_report = CliRunner().invoke(app, ["run", str(path), "--output", str(tmp_path / "report")])
    assert with_report.exit_code == 0, with_report.output
    assert "no report" not in with_report.stdout


@pytest.mark.usefixtures("fake_nodes")
def test_without_a_page_there_is_none_not_even_that_of_an_earlier_run(tmp_path: Path) -> None:
    path, report = written_run(tmp_path), tmp_path / "report"
    path.write_text(path.read_text().replace("[run]\n", '[run]\nexisting = "replace"\n'))
    report.mkdir()
    (report / "report.html").write_text("of an earlier run")
    result = CliRunner().invoke(app, ["run", str(path), "--output", str(report), "--no-page"])
    assert result.exit_code == 0
    assert "report.html" not in result.stdout
    assert not (report / "report.html").exists()
    assert json.loads((report / "report.json").read_text(encoding="utf-8"))["run"]["good"]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("frames = 60", "frame = 60", 'run.toml:3: run.frame: no such key; did you mean "frames"?'),
        (
            "slots = 40",
            "slots = 40\nregion = [0, 0, 65, 32]",
            "[0, 0, 65, 32] is not inside the assembled image [0, 0, 64, 32]",
        ),
        (
            "[[buffer]]\n",
            '[[buffer]]\nreceiver = "far"\n',
            "buffer[0].receiver: no receiver is named far; the file lists none",
        ),
        ('kind = "pattern"\nwidth = 64\nheight = 32', 'kind = "directory"\npath = "gone"', "gone does not exist"),
    ],
)
def test_bad_input_exits_with_2_and_one_clear_error(tmp_path: Path, old: str, new: str, says: str) -> None:
    path = written_run(tmp_path)
    path.write_text(path.read_text().replace(old, new))
    result = CliRunner().invoke(app, ["run", str(path)])
    assert result.exit_code == 2
    assert says in result.stderr.replace("\n", "")


def test_check_shows_the_plan_and_starts_nothing(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["run", "--check", str(written_run(tmp_path))])
    assert result.exit_code == 0
    assert "buffer full: 60 images of 64 × 32 pixels, 1 DTPs" in result.stdout


TWO = """\
[[receiver]]
name = "whole"
port = 0
[[receiver]]
name = "slice"
port = 0
[[buffer]]
name = "full"
sink = [{ kind = "null" }]
slots = 40
[[buffer]]
name = "third"
sink = [{ kind = "null" }]
every = 3
receiver = "slice"
"""


def two_receivers(tmp_path: Path) -> Path:
    path = written_run(tmp_path)
    path.write_text(path.read_text().partition("[receiver]")[0] + TWO)
    return path


def test_check_shows_which_receiver_a_buffer_has(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["run", "--check", str(two_receivers(tmp_path))])
    assert result.exit_code == 0
    assert "receiver slice: node local, address 127.0.0.1, 1 buffers, 1 DTPs" in result.stdout
    assert "buffer third at slice: 20 images of 64 × 32 pixels" in result.stdout


@pytest.mark.usefixtures("fake_nodes")
def test_a_run_with_two_receivers_exits_with_0_and_shows_both(tmp_path: Path) -> None:
    path = two_receivers(tmp_path)
    result = CliRunner().invoke(app, ["run", str(path), "--output", str(tmp_path / "report"), "--no-page"])
    assert result.exit_code == 0, result.output
    assert "slice" in result.stdout
    assert "0 unexplained" in result.stdout
    report = json.loads((tmp_path / "report" / "report.json").read_text(encoding="utf-8"))
    assert [one["name"] for one in report["receivers"]] == ["whole", "slice"]


@pytest.mark.usefixtures("fake_nodes")
def test_a_report_of_before_is_in_the_way_unless_it_may_be_replaced(tmp_path: Path) -> None:
    report = tmp_path / "report"
    report.mkdir()
    (report / "report.json").write_text("of before")
    path = written_run(tmp_path)
    result = CliRunner().invoke(app, ["run", str(path), "--output", str(report)])
    assert result.exit_code == 2
    assert "report.json exists; move it" in result.output.replace("\n", " ")
    assert (report / "report.json").read_text() == "of before"
    path.write_text(path.read_text().replace("[run]\n", '[run]\nexisting = "replace"\n'))
    result = CliRunner().invoke(app, ["run", str(path), "--output", str(report), "--no-page"])
    assert result.exit_code == 0, result.output
    assert json.loads((report / "report.json").read_text(encoding="utf-8"))["run"]["good"]


def test_the_report_folder_must_be_possible(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = CliRunner().invoke(app, ["run", str(written_run(tmp_path)), "--output", str(tmp_path / "file")])
    assert result.exit_code == 2


def test_ctrl_c_exits_with_130_and_names_the_first_missing_image(tmp_path: Path) -> None:
    code = (
        "import sys, rashpa.cli.run.run as run\n"
        "run.local_command = lambda role, name: (sys.executable, '-m', 'rashpa.testing.fake_node', role, name)\n"
        "show = run.RunDisplay.show\n"
        "def told(self, progress):\n"
        "    show(self, progress)\n"
        "    if progress.phase == 'running' and progress.receivers: print('RUNNING', flush=True)\n"
        "run.RunDisplay.show = told\n"
        "from rashpa.cli.main import app\n"
        "app(['run', '--quiet', sys.argv[1]])\n"
    )
    command = [sys.executable, "-m", "rashpa.testing.prepared.program", code, str(written_run(tmp_path, 100_000, 50.0))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "RUNNING\n"
        os.kill(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=GUARD_S)
    assert process.returncode == 130
    assert "interrupted" in errors
    assert "first missing image: buffer full image" in errors


def test_who_interrupts_twice_has_his_terminal_back_whatever_stands_still() -> None:
    code = (
        "import time, rashpa.cli.run.run as run\nrun.end_within(0.1, 130)\ntime.sleep(1000)"  # wait: as code that hangs
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=GUARD_S, check=False).returncode == 130


def test_only_a_run_in_which_all_is_explained_is_good(tmp_path: Path) -> None:
    from rashpa.cli.run.run import exit_code

    plan = load_plan(written_run(tmp_path))
    assert exit_code(Outcome(plan)) == 1
    assert exit_code(Outcome(plan, refused=True, problem="no")) == 2
    assert exit_code(Outcome(plan, interrupted=True, problem="interrupted")) == 130
