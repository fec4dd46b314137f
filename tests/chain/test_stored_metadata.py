# SPDX-License-Identifier: Apache-2.0
"""Tests runs that play stored images: their files take facts from the stored file where the run file gives none, and name that file."""

import json
import subprocess
import sys
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401  (registers the filter of masks)
import numpy as np
import pytest

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa.control.capacity.capacity import cautions
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.data.datasets.datasets import dataset_from_spec, save_dataset
from rashpa.testing.foreign_nxmx import COLUMNS, CORNERS, PITCH, ROWS, foreign, put

RUN = """\
[run]
name = "again"
frames = 4
output = "{folder}/out"
[detector]
width = {width}
height = {height}
rate_hz = 300.0
{detector}
[dataset]
{dataset}
[receiver]
port = 0
[[buffer]]
name = "full"
slots = 4
stack = 2
deadline_ms = 20000
{buffer}
sink = [{{ kind = "hdf5" }}]
"""
STORED = 'kind = "stored"\npath = "f.h5"\n'


def run_file(
    folder: Path, detector: str = "", dataset: str = STORED, buffer: str = "", size: tuple[int, int] = (COLUMNS, ROWS)
) -> Path:
    path = folder / "run.toml"
    path.write_text(
        RUN.format(folder=folder, width=size[0], height=size[1], detector=detector, dataset=dataset, buffer=buffer)
    )
    return path


def plan_of(folder: Path, detector: str = "", dataset: str = STORED, size: tuple[int, int] = (COLUMNS, ROWS)) -> Plan:
    return load_plan(run_file(folder, detector, dataset, size=size))


def carried_out(path: Path) -> Path:
    command = [sys.executable, "-m", "rashpa.cli.entry", "run", str(path), "-q"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stdout + done.stderr
    return path.parent / "out/again_full_master.h5"


@pytest.mark.whole
def test_a_replay_says_what_its_source_says_and_where_it_is_from(tmp_path: Path) -> None:
    foreign(tmp_path / "f.h5")
    master = carried_out(run_file(tmp_path, "count_time_s = 0.003"))
    with h5py.File(master) as file:
        entry, detector = file["entry"], file["entry/instrument/detector"]
        names = ("distance", "x_pixel_size", "sensor_thickness", "count_time", "beam_center_x", "beam_center_y")
        said = [float(detector[name][()]) for name in names]
        assert said == pytest.approx([0.25, 172e-6, 1e-3, 0.003, 11.5, 7.25])
        assert float(detector["frame_time"][()]) == pytest.approx(1 / 300), "of the replay, not of the source"
        assert float(entry["instrument/beam/incident_wavelength"][()]) == pytest.approx(1.3776)
        assert (detector["sensor_material"][()], entry["sample/name"][()]) == (b"CdTe", b"thaumatin")
        assert detector["saturation_value"][()] == 900
        assert entry["start_time"][()].decode() > "2026"
        mask = detector["pixel_mask"][()]
        assert (mask[3, 4], mask[10, 0], int(np.count_nonzero(mask))) == (2, 1 << 8, 65)
        for number, corner in enumerate(CORNERS.values()):
            module = detector[f"m0_{number}"]
            assert module["module_offset"].attrs["offset"] == pytest.approx([*corner, 0.0])
            assert module["fast_pixel_direction"].attrs["vector"] == pytest.approx([0, 1, 0])
            assert module["slow_pixel_direction"][()] == pytest.approx(PITCH)
        labels = [str(one) for one in file["entry/rashpa"].attrs["labels"]]
    given, read, default = labels
    assert given == "given in the run file: count_time_s"
    assert read.startswith(f"read of {tmp_path / 'f.h5'}: beam_center_x, beam_center_y, distance_m, energy_kev")
    assert default.startswith("default: ")


@pytest.mark.whole
def test_modules_of_a_stored_image_keep_their_masks_where_they_lie_turned(tmp_path: Path) -> None:
    foreign(tmp_path / "f.h5")  # 64 × 32 pixels: two modules of 32 × 32, the second one turned in the new image
    places = "places = [[0, 0], [32, 0]]\n"
    modules = "module = [{ x = 0, y = 0 }, { x = 0, y = 40, turn = 90 }]"
    master = carried_out(run_file(tmp_path, modules, STORED + places, size=(32, 32)))
    with h5py.File(tmp_path / "f.h5") as source, h5py.File(master) as file:
        wanted, mask = (
            source["entry/instrument/detector/pixel_mask"][()],
            file["entry/instrument/detector/pixel_mask"][()],
        )
        images, stored = source["entry/data/data"][()], file["entry/data/data"][()]
        assert np.unique(mask[32:40]).tolist() == [1], "no module lies there"
        np.testing.assert_array_equal(mask[:32], wanted[:, :32])
        turned = [turn for turn in range(4) if (np.rot90(images[0, :, 32:], turn) == stored[0, 40:]).all()]
        (turn,) = turned
        np.testing.assert_array_equal(mask[40:], np.rot90(wanted[:, 32:], turn))
        assert file["entry/instrument/detector/distance"][()] == pytest.approx(0.25)


def test_what_the_run_file_says_counts_and_a_difference_is_a_caution(tmp_path: Path) -> None:
    foreign(tmp_path / "f.h5")
    plan = plan_of(tmp_path, 'energy_kev = 12.4\ndistance_m = 0.25\nsensor_material = "Si"\nbeam_center_x = 30.0')
    detector = plan.file.detector
    assert (detector.energy_kev, detector.distance_m, detector.sensor_material) == (12.4, 0.25, "Si")
    assert (detector.beam_center_x, detector.beam_center_y) == (30.0, 7.25)
    assert detector.pixel_size_m == pytest.approx(172e-6)
    found = [text.partition("detector.")[2] for text in plan.placed.cautions]
    assert found == [
        "beam_center_x: is 30, and f.h5 has 11.5; that of the run file counts",
        "energy_kev: is 12.4, and f.h5 has 9.00001; that of the run file counts",
        "sensor_material: is Si, and f.h5 has CdTe; that of the run file counts",
    ]
    assert set(plan.placed.cautions) <= set(cautions(plan))


def test_the_beam_is_not_taken_where_modules_lie_elsewhere(tmp_path: Path) -> None:
    foreign(tmp_path / "f.h5")
    modules = "module = [{ x = 0, y = 0 }, { x = 0, y = 32 }]"
    plan = plan_of(tmp_path, modules, STORED + "places = [[0, 0], [32, 0]]\n", size=(32, 32))
    assert plan.file.detector.beam_center_x is None
    assert plan.file.detector.distance_m == 0.25
    assert "modules lie elsewhere than in the stored image" in " ".join(plan.placed.cautions)


@pytest.mark.parametrize(
    ("kernel", "saturation"),
    [("", 900.0), ('kernel = [{ name = "total_counts" }]', 900.0), ('kernel = [{ name = "jungfrau" }]', 0.0)],
)
def test_saturation_is_that_of_pixels_that_no_kernel_makes(tmp_path: Path, kernel: str, saturation: float) -> None:
    from rashpa.control.orders.plan_telegrams import metadata_of

    foreign(tmp_path / "f.h5", put("entry/data/data", np.zeros((4, 512, 1024), np.uint16)))
    calibration = "[detector.calibration]\nsimulated_seed = 1\n" if "jungfrau" in kernel else ""
    path = run_file(tmp_path, calibration, buffer=kernel, size=(1024, 512))
    plan = load_plan(path)
    assert metadata_of(plan, plan.buffers[0])["saturation_value"] == saturation


def test_a_directory_says_its_energy_and_that_it_was_computed(tmp_path: Path) -> None:
    made = dataset_from_spec({"kind": "jungfrau", "modules": 1, "frames": 2}, Path())
    save_dataset(made, tmp_path / "set")
    said = json.loads((tmp_path / "set/dataset.json").read_text())
    (tmp_path / "set/dataset.json").write_text(json.dumps(said | {"energy_kev": 8.0}))
    directory = 'kind = "directory"\npath = "set"\n'
    plan = plan_of(tmp_path, "", directory, (1024, 512))
    assert plan.file.detector.energy_kev == 8.0
    assert any(label.endswith("energy_kev") and "dataset.json" in label for label in plan.of_source.labels)
    assert plan.of_source.labels[0] == made.label
    told = plan_of(tmp_path, "energy_kev = 9.0", directory, (1024, 512))
    assert told.file.detector.energy_kev == 9.0
    assert "energy_kev: is 9, and dataset.json has 8" in " ".join(told.placed.cautions)


def test_a_dataset_that_another_machine_reads_is_cautioned_of(tmp_path: Path) -> None:
    path = run_file(tmp_path)
    path.write_text(path.read_text() + '[nodes]\nemulator = "https://far:1"\n')
    (text,) = load_plan(path).placed.cautions
    assert "run.toml:" in text
    assert "what it says of the experiment is not taken over; give it in [detector]" in text
