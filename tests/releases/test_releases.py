# SPDX-License-Identifier: Apache-2.0
"""Reads files of each release with the present code, and compares every pixel with the stored one (docs/reference/compatibility.md)."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import h5py
import jsonschema
import numpy as np
import pytest

_native = pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

import rashpa  # noqa: E402
from rashpa.control.telegrams.telegram_xml import decode  # noqa: E402

RELEASES = sorted(path.parent for path in Path(__file__).parent.glob("*/run.toml"))
FRAMES = np.random.default_rng(30).integers(0, 120, (6, 32, 48)).astype(np.uint16)
BRIGHT = 100

pytestmark = pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.name)


def command(*words: str, folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "rashpa.cli.entry", *words], cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_files_say_which_release_has_written_them(release: Path) -> None:
    with h5py.File(release / "out/kept_full_master.h5") as file:
        assert file.attrs["creator"] == f"rashpa {release.name}"


def test_images_lists_and_sums_are_read(release: Path) -> None:
    runs = rashpa.open(release / "out/kept_master.h5")
    np.testing.assert_array_equal(runs["full"].frames, FRAMES)
    np.testing.assert_array_equal(runs["full"].accumulated("accumulate", "sum"), FRAMES.sum(axis=0))
    for image, frame in enumerate(FRAMES):
        places, values = runs["lists"].sparse(image)
        np.testing.assert_array_equal(places, np.flatnonzero(frame >= BRIGHT))
        np.testing.assert_array_equal(values, frame[frame >= BRIGHT])


def test_raw_files_are_converted(release: Path, tmp_path: Path) -> None:
    shutil.copytree(release / "out", tmp_path / "out")
    command("convert", "out/kept_raw_raw_master.h5", "made", folder=tmp_path)
    np.testing.assert_array_equal(rashpa.open(tmp_path / "made_master.h5").frames, FRAMES)


def test_the_run_file_is_carried_out(release: Path, tmp_path: Path) -> None:
    shutil.copy(release / "run.toml", tmp_path)
    np.save(tmp_path / "frames.npy", FRAMES)
    command("run", "run.toml", "-q", folder=tmp_path)
    np.testing.assert_array_equal(rashpa.open(tmp_path / "out/kept_full_master.h5").frames, FRAMES)


def test_telegrams_are_understood(release: Path) -> None:
    telegrams = list((release / "telegrams").glob("*.xml"))
    assert len(telegrams) > 20
    for telegram in telegrams:
        decode(telegram.read_bytes())


def test_the_report_is_of_the_schema(release: Path) -> None:
    schema = json.loads((Path(__file__).parents[2] / "schema/report.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(json.loads((release / "report.json").read_text()))
