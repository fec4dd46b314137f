# SPDX-License-Identifier: Apache-2.0
"""Stored photons with noise below zero, in `process` and in a run that plays them again: both use the file's statement on masked pixels."""

from pathlib import Path

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

import rashpa.kernel
from rashpa.cli.main import app
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.data.base.pixels import Masking
from rashpa.data.stored.reader import open_run
from rashpa.data.stored.stored_images import RawShape, describe
from rashpa.node.engine.native_engine import NativeFactory
from rashpa.node.state.node import Node
from rashpa.testing.in_process import run_in_process

pytestmark = pytest.mark.whole

LEAST = np.iinfo(np.int16).min
RUN = """\
[run]
name = "{name}"
frames = 8
output = "{output}"
[detector]
width = 1024
height = 512
pixel = "{pixel}"
energy_kev = 12.4
{detector}
[dataset]
{dataset}
[receiver]
port = 0
memory = "pageable"
[[buffer]]
name = "b"
slots = 16
stack = 4
deadline_ms = 5000
keep_darks = true
[[buffer.kernel]]
{kernel}
[[buffer.sink]]
kind = "hdf5"
"""
RAW = 'kind = "jungfrau"\nmodules = 1\nframes = 8\nseed = 3'
PATTERN = 'kind = "pattern"\nwidth = 1024\nheight = 512\npixel = "{}"'
TOTAL = 'name = "total_counts"'


def carried_through(file: Path) -> str:
    """Carry out a run and return its problem, empty without one."""
    plan = load_plan(file)
    nodes = {role: Node(role, role, NativeFactory(role)) for role in ("emulator", "receiver")}
    return run_in_process(plan, nodes).problem or ""


def written(folder: Path, name: str, pixel: str, dataset: str, kernel: str, detector: str = "") -> Path:
    path = folder / f"{name}.toml"
    path.write_text(
        RUN.format(name=name, output=folder / "runs", pixel=pixel, dataset=dataset, kernel=kernel, detector=detector)
    )
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a run of converted photons."""
    folder = tmp_path_factory.mktemp("photons")
    path = written(folder, "photons", "uint16", RAW, 'name = "jungfrau"')
    assert carried_through(path) == ""
    return folder


def photons_of(folder: Path) -> NDArray[np.int16]:
    with open_run(folder / "runs/photons_b_master.h5") as run:
        assert run.masked == run.image(0).masked == Masking("minimum")
        images = np.asarray(run.frames)
        of_functions = rashpa.kernel.total_counts(run.frames).columns  # type: ignore[arg-type]
    assert (images[images != LEAST] < 0).any(), "there is noise below zero"
    assert of_functions["total_counts"].tolist() == totals_of(images)
    return images


def totals_of(images: NDArray[np.int16]) -> list[int]:
    return np.where(images != LEAST, images.astype(np.int64), 0).sum((1, 2)).tolist()  # type: ignore[no-any-return]


def check_file(path: Path, images: NDArray[np.int16]) -> None:
    with open_run(path) as run:
        assert run.tables.scalars["total_counts"].tolist() == totals_of(images)
        assert run.tables.scalars["masked_in_total"].tolist() == (images == LEAST).sum((1, 2)).tolist()
        assert run.masked == Masking("minimum")
    with h5py.File(path) as file:
        assert file["entry/instrument/detector/underload_value"][()] == LEAST + 1


def processed(source: Path, pipeline: Path, output: Path) -> Path:
    done = CliRunner().invoke(app, ["process", str(source), "--pipeline", str(pipeline), "-o", str(output)])
    assert done.exit_code == 0, done.output
    (master,) = output.glob("*_master.h5")
    return master


def test_stored_photons_are_processed_as_their_file_states_them(folder: Path, tmp_path: Path) -> None:
    pipeline = written(folder, "later", "int16", PATTERN.format("int16"), TOTAL)
    first = processed(folder / "runs/photons_b_master.h5", pipeline, tmp_path / "first")
    check_file(first, photons_of(folder))
    check_file(processed(first, pipeline, tmp_path / "second"), photons_of(folder))


def test_a_file_of_others_that_states_the_same_is_read_the_same(folder: Path, tmp_path: Path) -> None:
    images = photons_of(folder)
    foreign = tmp_path / "other.h5"
    for least, expected in ((LEAST + 1, "minimum"), (0, "delivered"), (None, "delivered")):
        with h5py.File(foreign, "w") as file:
            file["entry/data/data"] = images
            if least is not None:
                file["entry/instrument/detector/underload_value"] = least
        assert describe([foreign], RawShape(0, 0, "int16")).stated.masked == expected


def test_stored_photons_are_played_as_the_run_file_says_or_not_at_all(folder: Path) -> None:
    stored = f'kind = "stored"\npath = "{folder / "runs/photons_b_master.h5"}"'
    silent = written(folder, "silent", "int16", stored, TOTAL)
    assert 'set detector.masked = "minimum"' in carried_through(silent)
    told = written(folder, "told", "int16", stored, TOTAL, 'masked = "minimum"')
    assert carried_through(told) == ""
    check_file(folder / "runs/told_b_master.h5", photons_of(folder))


def test_masked_that_pixels_cannot_be_is_refused_with_its_key(folder: Path) -> None:
    wrong = written(folder, "wrong", "uint16", PATTERN.format("uint16"), TOTAL, 'masked = "minimum"')
    with pytest.raises(RunFileError, match=r"masked: minimum, and uint16 pixels have no sign"):
        load_plan(wrong)


def test_special_values_of_a_stored_run_are_those_of_what_is_made_of_it(folder: Path, tmp_path: Path) -> None:
    special = '[[detector.special]]\nvalue = 30\nmeaning = "saturated"\n'
    first = written(folder, "special", "uint16", PATTERN.format("uint16"), TOTAL, special)
    assert carried_through(first) == ""
    later = written(folder, "silent_special", "uint16", PATTERN.format("uint16"), TOTAL)
    made = processed(folder / "runs/special_b_master.h5", later, tmp_path / "out")
    with open_run(folder / "runs/special_b_master.h5") as online, open_run(made) as offline:
        assert online.masked == offline.masked == Masking("maximum", 29)
        assert offline.special_values == {30: "saturated"}
        for column in ("total_counts", "masked_in_total"):
            np.testing.assert_array_equal(offline.tables.scalars[column], online.tables.scalars[column])
