# SPDX-License-Identifier: Apache-2.0
"""`rashpa example` writes files that the next command takes, and overwrites nothing."""

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rashpa.cli.files.example import EXAMPLES
from rashpa.cli.main import app
from rashpa.control.plan.run_plan import load_plan
from rashpa.data.base.packaged import packaged_file


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_has_its_files_and_its_run_file_can_be_planned(name: str, tmp_path: Path) -> None:
    if name == "session":
        pytest.importorskip("cbor2")
    done = CliRunner().invoke(app, ["example", name, "--json", "--output", str(tmp_path / "new")])
    assert done.exit_code == 0, done.output
    files = json.loads(done.stdout)["files"]
    assert sorted(files) == sorted(str(file) for file in (tmp_path / "new").rglob("*") if file.is_file())
    if (run := tmp_path / "new" / "run.toml").is_file():
        plan = load_plan(run)
        assert plan.file.run.output == "out"
        assert f"rashpa example {name}\n" in run.read_text(encoding="utf-8")


def test_the_folder_of_small_examples_has_no_other() -> None:
    small = packaged_file("examples", "small/stored/run.toml").parents[1]
    assert {path.name for path in small.iterdir()} == {name for name, one in EXAMPLES.items() if one.copied}
    for name, one in EXAMPLES.items():
        assert {path.name for path in (small / name).glob("*")} == set(one.copied)


def test_without_a_name_all_are_listed() -> None:
    done = CliRunner().invoke(app, ["example"])
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(EXAMPLES)


def test_an_unknown_name_is_refused_with_the_names() -> None:
    done = CliRunner().invoke(app, ["example", "storde"])
    assert done.exit_code == 2
    assert "storde: there is no such example; take one of stored, " in done.stderr


def test_a_file_of_somebody_stays_and_nothing_is_written_beside_it(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text("mine")
    done = CliRunner().invoke(app, ["example", "stored", "--output", str(tmp_path)])
    assert done.exit_code == 2
    assert "run.toml is there, with other contents, and nothing is overwritten; choose another folder" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["run.toml"]
    assert (tmp_path / "run.toml").read_text() == "mine"


def test_the_same_example_can_be_written_again(tmp_path: Path) -> None:
    for _ in range(2):
        assert CliRunner().invoke(app, ["example", "endless", "--output", str(tmp_path)]).exit_code == 0


def test_without_pyfai_the_stored_run_has_no_kernel_that_needs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyFAI", None)  # what imports it fails, as where it is not installed
    done = CliRunner().invoke(app, ["example", "stored", "--output", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "kernel azimuthal is left out, since pyFAI is not installed; pip install pyFAI" in done.stdout
    buffers = {buffer.name: buffer for buffer in load_plan(tmp_path / "run.toml").file.buffer}
    assert [kernel.name for kernel in buffers["full"].kernel] == [
        "total_counts",
        "bragg_count",
        "roi_stats",
        "accumulate",
    ]
