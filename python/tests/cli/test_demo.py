# SPDX-License-Identifier: Apache-2.0
import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rashpa.cli.main import app
from rashpa.cli.run.demo import RUN_FILE, run_file_text
from rashpa.control.plan.run_plan import load_plan
from rashpa.data.base.packaged import packaged_file

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def fake_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    def command(role: str, name: str) -> tuple[str, ...]:
        return (sys.executable, "-m", "rashpa.testing.fake_node", role, name)

    monkeypatch.setattr("rashpa.cli.run.run.local_command", command)


@pytest.mark.usefixtures("fake_nodes")
def test_it_ends_with_a_report_and_says_where_it_is_and_what_is_next(tmp_path: Path) -> None:
    folder = tmp_path / "with a space"
    result = CliRunner().invoke(app, ["demo", "--output", str(folder), "--frames", "20", "--quiet"])
    assert result.exit_code == 0, result.output
    assert json.loads((folder / "report.json").read_text(encoding="utf-8"))["run"]["good"]
    assert f"The report is {folder / 'report.html'}." in result.stdout
    assert f"rashpa inspect '{folder / 'first_light_full_master.h5'}'" in result.stdout
    assert (folder / "report.html").is_file()
    assert load_plan(folder / RUN_FILE).file.run.frames == 20


@pytest.mark.usefixtures("fake_nodes")
def test_without_a_page_the_report_is_for_programs(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["demo", "--output", str(tmp_path), "--frames", "20", "--no-page", "-q"])
    assert result.exit_code == 0, result.output
    assert f"The report is {tmp_path / 'report.json'}." in result.stdout
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize("name", ["report.json", RUN_FILE, "somebody's"])
def test_a_folder_in_which_something_lies_is_refused_and_left_as_it_is(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("kept")
    result = CliRunner().invoke(app, ["demo", "--output", str(tmp_path)])
    assert result.exit_code == 2
    assert f"rashpa demo: --output {tmp_path}: the folder is not empty, and nothing is overwritten; " in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "kept"


def test_a_folder_that_cannot_be_made_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = CliRunner().invoke(app, ["demo", "--output", str(tmp_path / "file" / "report")])
    assert result.exit_code == 2
    assert f"{tmp_path / 'file'} is a file, not a folder; choose another folder" in result.stderr


def test_a_broken_run_says_nothing_of_what_is_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "rashpa.cli.run.run.local_command", lambda role, name: (sys.executable, "-c", "raise SystemExit(7)")
    )
    result = CliRunner().invoke(app, ["demo", "--output", str(tmp_path), "--frames", "20", "--quiet"])
    assert result.exit_code not in (0, None)
    assert "Next:" not in result.stdout


def test_the_run_file_is_the_first_example_but_for_its_folder_and_frames(tmp_path: Path) -> None:
    assert packaged_file("examples", "01_first_light.toml") == ROOT / "examples" / "01_first_light.toml"
    example = (ROOT / "examples" / "01_first_light.toml").read_text(encoding="utf-8").splitlines()
    written = run_file_text(tmp_path, 40).splitlines()
    changed = [(old, new) for old, new in zip(example, written, strict=True) if old != new]
    assert changed == [
        (
            "#   rashpa run examples/01_first_light.toml --output out/demo",
            f"#   rashpa run {tmp_path / RUN_FILE} --output {tmp_path}",
        ),
        ("frames = 2400", "frames = 40"),
        ('output = "out/demo"', f'output = "{tmp_path}"'),
    ]


def test_what_the_package_lacks_is_named() -> None:
    with pytest.raises(FileNotFoundError, match=r"examples none\.toml is neither in .*; reinstall rashpa"):
        packaged_file("examples", "none.toml")
