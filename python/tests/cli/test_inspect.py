# SPDX-License-Identifier: Apache-2.0
import json
from pathlib import Path

import h5py
import pytest
import typer
from typer.testing import CliRunner, Result

from rashpa.cli.files.inspect import inspect
from rashpa.cli.main import app
from rashpa.data.stored.combined.combined import combine
from rashpa.testing import stored_run

APP = typer.Typer()
APP.command()(inspect)


def call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(APP, [str(argument) for argument in arguments], env={"COLUMNS": "200"})


@pytest.fixture
def master(tmp_path: Path) -> Path:
    return stored_run.make_run(tmp_path)


def test_the_summary_names_books_vetoes_and_incomplete_frames(master: Path) -> None:
    done = call(master)
    assert done.exit_code == 0, done.output
    for words in ("they balance", "16 of 64 × 40 pixels", "too few", "2000.0 Hz", "5: 2–3", "synthetic data"):
        assert words in done.output


def test_pictures_are_written_where_asked(master: Path, tmp_path: Path) -> None:
    done = call(master, "--output", tmp_path / "image.png", "--image", "3", "--hits", tmp_path / "hits.png")
    assert done.exit_code == 0, done.output
    for name in ("image.png", "hits.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--image", "3"), "--output"),
        (("--output", "x.png", "--image", "16"), "there is no image 16"),
        (("--output", "absent/x.png"), "cannot be written"),
    ],
)
def test_a_wrong_option_is_one_clear_error(master: Path, arguments: tuple[str, ...], words: str) -> None:
    done = call(master, *arguments)
    assert done.exit_code == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def without_verdict(master: Path) -> Path:
    with h5py.File(master, "r+") as file:
        file["entry/rashpa"].create_group("pipeline/01_jungfrau")
    return master


def test_a_hit_curve_of_a_run_without_a_verdict_is_refused_in_words(master: Path, tmp_path: Path) -> None:
    done = call(without_verdict(master), "--hits", tmp_path / "hits.png")
    assert done.exit_code == 2
    assert "no kernel of its pipeline has a verdict" in done.stderr
    assert "damaged" not in done.stderr
    assert not (tmp_path / "hits.png").exists()


def run_of(receiver: str, folder: Path) -> Path:
    """Write the file of another receiver of the same run, and return it."""
    made = stored_run.make_run(folder)
    with h5py.File(made, "r+") as file:
        file["entry/rashpa"].attrs["receiver"] = receiver
        frames = file["entry/data/frame_number"]
        frames[...] = frames[()] + stored_run.IMAGES
    return made


def test_folders_reports_and_combined_masters_lead_to_the_files(master: Path, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere"
    other.mkdir()
    second = run_of("second", other).rename(other / "second_master.h5")
    report = tmp_path / "report"
    report.mkdir()
    buffers = [{"name": name, "receiver": "", "file": str(path)} for name, path in (("a", master), ("b", second))]
    (report / "report.json").write_text(
        json.dumps({"run": {"name": "x", "file": "x.toml"}, "receivers": [], "buffers": buffers})
    )
    combined = combine({"a": [master], "b": [second]}, tmp_path / "all_master.h5")
    for where in (report, report / "report.json", combined):
        done = call(where)
        assert done.exit_code == 0, done.output
        assert "run_master.h5" in done.output
        assert "second_master.h5" in done.output
    assert "run_master.h5" in call(tmp_path).output  # the combined one is no run of its own
    assert "leads to several buffers" in call(combined, "--output", tmp_path / "x.png").stderr
    second.unlink()
    assert call(report).exit_code == 0
    master.unlink()
    assert f"none of its files can be reached from here: {master}" in call(report).stderr


def test_masters_are_combined_where_they_can_be_reached(master: Path, tmp_path: Path) -> None:
    other = tmp_path / "b"
    other.mkdir()
    second = run_of("second", other)
    done = CliRunner().invoke(app, ["combine", str(master), str(second), "-o", str(tmp_path / "all.h5")])
    assert done.exit_code == 0, done.output
    with h5py.File(tmp_path / "all.h5", "r") as file:
        assert file["entry/data/data"].shape[0] == 2 * len(stored_run.ACCEPTED)
    done = CliRunner().invoke(app, ["combine", str(master), str(tmp_path / "absent.h5"), "-o", str(tmp_path / "x.h5")])
    assert done.exit_code == 2
    assert "absent.h5: no such file" in done.output


def test_a_folder_without_a_run_says_where_to_look(tmp_path: Path) -> None:
    done = call(tmp_path)
    assert done.exit_code == 2
    assert "give the folder of the report" in done.stderr


def test_a_bad_file_is_one_clear_error(tmp_path: Path) -> None:
    bad = tmp_path / "bad.h5"
    bad.write_bytes(b"nothing")
    done = call(bad)
    assert done.exit_code == 2
    assert "bad.h5" in done.stderr
    assert done.stdout == ""
