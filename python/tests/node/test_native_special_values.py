# SPDX-License-Identifier: Apache-2.0
"""A detector's values that mean gap, dead or saturated: masked from the run file to the reader, by every unit of this machine."""

from pathlib import Path

import h5py
import numpy as np
import pytest

from rashpa.control.plan.run_plan import load_plan
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.data.stored.reader import open_run
from rashpa.node.state.node import Node

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa.node.engine.native_engine import NativeFactory
from rashpa.testing.in_process import run_in_process

FRAMES = 20
GAP, DEAD, NOISY, FULL = 1, 2, 16, 1_048_575
RUN = """\
[run]
name = "pilatus"
frames = 20
output = "{folder}/out"
[detector]
width = 64
height = 32
pixel = "{pixel}"
{special}
[dataset]
kind = "files"
files = [["{folder}/frames.npy"]]
pixel = "{pixel}"
[receiver]
port = 0
memory = "pageable"
[[buffer]]
name = "stored"
slots = 40
deadline_ms = 5000
[[buffer.sink]]
kind = "hdf5"
[[buffer]]
name = "counted"
unit = "{unit}"
slots = 40
deadline_ms = 5000
[[buffer.kernel]]
name = "total_counts"
min_counts = 0
max_counts = 1000000000
max_masked = 1.0
[[buffer.kernel]]
name = "csr"
threshold = 1
capacity = 1.0
[[buffer.sink]]
kind = "hdf5"
on_full = "drop"
"""
PILATUS = """\
special = [
    {value = -1, meaning = "gap"},
    {value = -2, meaning = "dead"},
    {value = 1048575, meaning = "saturated"},
]"""
EIGER = 'special = [{value = 65535, meaning = "gap"}, {value = 65534, meaning = "noisy"}]'


def units() -> list[str]:
    known = NativeFactory("receiver").capabilities("here").units
    return [
        unit.name for unit in known if unit.usable and unit.name != "fpga"
    ]  # which converts raw words, and needs a card


def pilatus() -> np.ndarray:
    images = np.random.default_rng(3).integers(0, 4, (FRAMES, 32, 64)).astype(np.int32)
    images[:, 10:12] = -1
    images[:, 5, 7] = -2
    images[3, 20, 20] = FULL
    images[4, 20, 21] = FULL + 1
    return images


def run(tmp_path: Path, images: np.ndarray, pixel: str, special: str, unit: str = "cpu") -> None:
    np.save(tmp_path / "frames.npy", images)
    path = tmp_path / "run.toml"
    path.write_text(RUN.format(folder=tmp_path, pixel=pixel, special=special, unit=unit))
    nodes = {role: Node(role, role, NativeFactory(role)) for role in ("emulator", "receiver")}
    outcome = run_in_process(load_plan(path), nodes)
    assert outcome.good, outcome.problem


@pytest.mark.parametrize("unit", units())
def test_gaps_dead_and_saturated_pixels_are_masked_everywhere(tmp_path: Path, unit: str) -> None:
    images = pilatus()
    run(tmp_path, images, "int32", PILATUS, unit)
    wrong = (images < 0) | (images >= FULL)
    mask = np.where(images[0] == -1, GAP, np.where(images[0] == -2, DEAD, 0))
    for name in ("stored", "counted"):
        with h5py.File(tmp_path / "out" / f"pilatus_{name}_master.h5") as file:
            detector = file["/entry/instrument/detector"]
            assert detector["underload_value"][()] == 0
            assert detector["saturation_value"][()] == FULL - 1
            np.testing.assert_array_equal(detector["pixel_mask"][()], mask, err_msg=name)
            assert (detector["dummy"][()], detector["delta_dummy"][()]) == (-1.5, 1.0), "what pyFAI leaves out"
    with open_run(tmp_path / "out" / "pilatus_stored_master.h5") as stored:
        assert stored.special_values == {-1: "gap", -2: "dead", FULL: "saturated"}
        for place in range(FRAMES):
            np.testing.assert_array_equal(stored.image(place), images[place], err_msg="pixels stay as they are")
            np.testing.assert_array_equal(stored.invalid(place), wrong[place])
    with open_run(tmp_path / "out" / "pilatus_counted_master.h5") as counted:
        assert counted.tables.scalars["total_counts"].tolist() == np.where(wrong, 0, images).sum(axis=(1, 2)).tolist()
        assert counted.tables.scalars["masked_in_total"].tolist() == wrong.sum(axis=(1, 2)).tolist()
        for place in range(FRAMES):
            index, values = counted.sparse(place)
            kept = np.flatnonzero(((images[place] >= 1) & ~wrong[place]).ravel())
            np.testing.assert_array_equal(index, kept)
            assert values.max() < FULL
            assert counted.invalid(place)[10:12].all()


def test_an_unsigned_detector_has_its_own_values_below_the_maximum(tmp_path: Path) -> None:
    images = np.random.default_rng(4).integers(0, 4, (FRAMES, 32, 64)).astype(np.uint32)
    images[:, 3] = 65535
    images[:, 8, 8] = 65534
    run(tmp_path, images, "uint32", EIGER)
    with open_run(tmp_path / "out" / "pilatus_counted_master.h5") as counted:
        assert (
            counted.tables.scalars["total_counts"].tolist()
            == np.where(images > 65533, 0, images).sum(axis=(1, 2)).tolist()
        )
        assert counted.pixel_mask[8, 8] == NOISY
        assert (counted.pixel_mask[3] == GAP).all()
        assert (counted.image(0)[3] == np.iinfo(np.uint32).max).all(), "masked pixels of a list"


def test_without_a_declaration_negative_pixels_are_no_measurement(tmp_path: Path) -> None:
    run(tmp_path, pilatus(), "int32", "")
    with open_run(tmp_path / "out" / "pilatus_stored_master.h5") as stored:
        assert stored.special_values == {}
        assert not stored.pixel_mask.any()
        assert stored.invalid(0)[10:12].all(), "before, −1 and −2 were stored as valid"


@pytest.mark.parametrize(
    ("pixel", "special", "said"),
    [
        ("uint16", '{value = -1, meaning = "gap"}', "-1 is nothing that uint16 pixels hold, 0 to 65535"),
        ("int32", '{value = 0, meaning = "dead"}', "a pixel without photons counts 0"),
        ("int32", '{value = -1, meaning = "gap"}, {value = -1, meaning = "dead"}', "-1 is there twice; leave one out"),
        ("int32", '{value = -1, meaning = "hot"}', "meaning"),
        ("int32", "{value = -1}", "meaning"),
        ("float32", '{value = -1, meaning = "gap"}', "NaN"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_line(tmp_path: Path, pixel: str, special: str, said: str) -> None:
    np.save(tmp_path / "frames.npy", pilatus().astype(pixel))
    path = tmp_path / "run.toml"
    path.write_text(RUN.format(folder=tmp_path, pixel=pixel, special=f"special = [{special}]", unit="cpu"))
    with pytest.raises(RunFileError) as error:
        load_plan(path)
    assert said in str(error.value)
    assert "run.toml" in str(error.value)
    assert "detector.special" in str(error.value)


def test_a_threshold_beyond_what_the_detector_counts_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "frames.npy", pilatus())
    path = tmp_path / "run.toml"
    text = RUN.format(folder=tmp_path, pixel="int32", special=PILATUS, unit="cpu")
    path.write_text(text.replace("threshold = 1", "threshold = 2000000"))
    with pytest.raises(RunFileError, match="2000000 is more than the detector counts to, 1048574 at most"):
        load_plan(path)
