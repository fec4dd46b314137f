# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from rashpa.cli.inspect import inspect
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
    done = call(master, "--png", tmp_path / "image.png", "--image", "3", "--hits", tmp_path / "hits.png")
    assert done.exit_code == 0, done.output
    for name in ("image.png", "hits.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--image", "3"), "--png"),
        (("--png", "x.png", "--image", "16"), "there is no image 16"),
        (("--png", "absent/x.png"), "cannot be written"),
    ],
)
def test_a_wrong_option_is_one_clear_error(master: Path, arguments: tuple[str, ...], words: str) -> None:
    done = call(master, *arguments)
    assert done.exit_code == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_bad_file_is_one_clear_error(tmp_path: Path) -> None:
    bad = tmp_path / "bad.h5"
    bad.write_bytes(b"nothing")
    done = call(bad)
    assert done.exit_code == 2
    assert "bad.h5" in done.stderr
    assert done.stdout == ""
