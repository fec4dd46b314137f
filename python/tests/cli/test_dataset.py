"""`rashpa dataset` makes, describes and draws; bad input is one line and exit 2."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

pytest.importorskip("rashpa._native")

from rashpa.cli.dataset import BAD_INPUT, app

MAKE = ["make", "--frames", "4", "--dark-every", "4", "--hit-fraction", "1", "--modules", "1", "--seed", "3"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dataset") / "d"
    result = CliRunner().invoke(app, [*MAKE, str(path)])
    assert result.exit_code == 0, result.output
    return path


def test_info_names_shape_kinds_gains_and_calibration(folder: Path) -> None:
    result = CliRunner().invoke(app, ["info", str(folder)])
    assert result.exit_code == 0
    for text in (
        "synthetic",
        "1024 x 512",
        "1 dark, 3 hit",
        "12.4 keV",
        "G0 99.",
        "overflow",
        "ADU/keV",
        "30 pixels masked",
    ):
        assert text in result.output.replace("\n", " "), text


def test_preview_draws_a_hit_brighter_than_a_dark(folder: Path, tmp_path: Path) -> None:
    bright = {}
    for frame in (0, 3):
        out = tmp_path / f"{frame}.png"
        result = CliRunner().invoke(app, ["preview", str(folder), "--frame", str(frame), "--out", str(out)])
        assert result.exit_code == 0, result.output
        picture = np.asarray(Image.open(out).convert("RGB"), np.int64)
        assert picture.shape[0] > 512 and picture.shape[1] > 1024
        bright[frame] = np.count_nonzero(picture[60:560, 80:1080, 0] > 100)
    assert bright[0] > 3 * bright[3]


def test_a_pattern_and_a_single_file_are_described(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        app, ["make", str(tmp_path / "p"), "--kind", "pattern", "--frames", "2", "--width", "8", "--height", "4"]
    )
    assert result.exit_code == 0, result.output
    result = CliRunner().invoke(app, ["info", str(tmp_path / "p" / "module0_raw.npy")])
    assert result.exit_code == 0, result.output
    assert "8 x 4 pixels, uint16" in result.output
    assert "recorded" in result.output
    result = CliRunner().invoke(app, ["preview", str(tmp_path / "p"), "--out", str(tmp_path / "p.png")])
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["info", "{tmp}/none"], "No such file"),
        (["info", "{tmp}"], "dataset.json"),
        (["preview", "{folder}", "--frame", "4"], "frames 0 to 3"),
        (["preview", "{folder}", "--out", "{tmp}/no/where.png"], "No such file"),
        (["make", "{folder}"], "not empty"),
        (["make", "{tmp}/x", "--hit-fraction", "2"], "--hit-fraction"),
        (["make", "{tmp}/x", "--modules", "65"], "--modules"),
        (["make", "{tmp}/x", "--frames", "1000000000"], "fewer frames"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(folder: Path, tmp_path: Path, arguments: list[str], why: str) -> None:
    filled = [argument.format(tmp=tmp_path, folder=folder) for argument in arguments]
    result = CliRunner().invoke(app, filled)
    assert result.exit_code == BAD_INPUT
    assert why in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert "Traceback" not in result.output
