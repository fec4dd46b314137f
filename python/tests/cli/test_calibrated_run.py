# SPDX-License-Identifier: Apache-2.0
"""Whole runs with a calibration file: the assembled image with its mask and places, pedestals that follow darks, cautions before the run."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("rashpa._native")

from rashpa.data.datasets.calibration_file import ModuleMaps, write_calibration
from rashpa.data.datasets.datasets import LoadedDataset, dataset_from_spec
from rashpa.data.stored.reader import open_run
from rashpa.testing.run_file import Table, run_file

pytestmark = pytest.mark.whole

FRAMES = 24


def run_text(frames: int, kernel: Table) -> str:
    return run_file(
        run={"name": "calibrated", "frames": frames, "output": "out", "existing": "replace"},
        detector={
            "name": "JF",
            "width": 1024,
            "height": 512,
            "energy_kev": 12.4,
            "module": [{"x": 0, "y": 0}, {"x": 0, "y": 550}],
            "calibration": {"pedestal": ["c.h5", "c.h5:1"], "serial": ["M049", "M050"]},
        },
        dataset={"kind": "files", "files": [["m0.npy"], ["m1.npy"]], "dark_frames": [3, 9, 15, 21]},
        buffer={
            "name": "all",
            "bands": 2,
            "slots": 16,
            "stack": 4,
            "kernel": [{"name": "jungfrau", **kernel}],
            "sink": [{"kind": "hdf5"}],
        },
    )


@cache
def made() -> LoadedDataset:
    """Return a dataset of the simulator, made once for all tests."""
    return dataset_from_spec({"kind": "jungfrau", "modules": 2, "frames": FRAMES, "dark_every": 0, "seed": 3}, Path())


def prepare(folder: Path, kernel: Table, age_days: float = 1, detector: str = "JF") -> Path:
    loaded = made()
    for module in range(2):
        np.save(folder / f"m{module}.npy", np.stack([loaded.dataset.frame(module, n) for n in range(FRAMES)]))
    modules = {}
    for number, maps in enumerate(loaded.calibration):
        assert maps.rms is not None
        rms = np.stack([maps.rms] * 3)
        modules[number] = ModuleMaps(maps.pedestal, rms, maps.mask, maps.gain, f"M0{49 + number}")
    write_calibration(folder / "c.h5", modules, detector, datetime.now(UTC) - timedelta(days=age_days))
    path = folder / "run.toml"
    path.write_text(run_text(frames=FRAMES, kernel=kernel))
    return path


def rashpa(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rashpa.cli.entry", *arguments], cwd=folder, capture_output=True, text=True, timeout=120
    )


def photons(module: int, frame: int) -> NDArray[np.int16]:
    """Return the photons of a module, from the maps of the simulator; no pixel is saturated in these frames."""
    loaded = made()
    from rashpa.data.kernels.pipeline import Pipeline

    pipeline = Pipeline(
        [{"name": "jungfrau", "photon_energy_kev": 12.4}], (512, 1024), calibration=loaded.calibration[module]
    )
    return np.array(pipeline(loaded.dataset.frame(module, frame))[0].pixels)


def test_the_assembled_image_has_its_shape_mask_and_places(tmp_path: Path) -> None:
    path = prepare(tmp_path, {"borders": "shared"})
    done = rashpa(tmp_path, "run", str(path))
    assert done.returncode == 0, done.stdout + done.stderr
    with open_run(tmp_path / "out/calibrated_all_master.h5") as run:
        assert run.shape == (1064, 1030)
        assert run.module_places == [(0, 0, 1030, 514), (0, 550, 1030, 514)]
        image = run.image(0)
        for module, top in ((0, 0), (1, 550)):
            wanted = photons(module, 0)
            valid = (wanted > -32768) & (wanted < 32767)
            plain = np.s_[1:254, 1:254]
            np.testing.assert_array_equal(image[top + 1 : top + 254, 1:254], wanted[plain])
            np.testing.assert_array_equal(image[top + 259 : top + 514, 775:1030], wanted[257:, 769:])
            row = np.flatnonzero(valid[:250, 255])
            shared = image[top + row, 255].astype(int) + image[top + row, 256]
            np.testing.assert_array_equal(shared, wanted[row, 255])
        mask = run.pixel_mask
        assert (mask[514:550] == 1).all()
        assert (image[514:550] == -32768).all()
        assert mask[0, 255] & (1 << 31)
        assert not mask[0, 254] & (1 << 31)
        facts = run.facts
        assert facts.calibration["pedestal_1"][0].endswith("c.h5:1")
        version, date, source = facts.calibration_made["pedestal_0"]
        assert version == "1"
        assert date.startswith("20")
        assert "module 0" in source
    assert "caution" not in done.stderr


def test_pedestals_follow_darks_and_the_drift_is_a_column(tmp_path: Path) -> None:
    path = prepare(tmp_path, {"track": "darks", "track_images": 8, "borders": "masked"})
    done = rashpa(tmp_path, "run", str(path))
    assert done.returncode == 0, done.stdout + done.stderr
    with open_run(tmp_path / "out/calibrated_all_master.h5") as run:
        assert len(run) == FRAMES - 4
        assert run.tables.counted("pedestal_drift").max() > 0
        assert (run.pixel_mask[:, 255][:250] & 256 != 0).all()


def test_what_is_old_and_foreign_is_cautioned_of_before_the_run(tmp_path: Path) -> None:
    path = prepare(tmp_path, {"borders": "raw"}, age_days=400, detector="Eiger")
    path.write_text(path.read_text().replace('"M050"', '"M999"'))
    done = rashpa(tmp_path, "run", str(path), "--check")
    assert "caution: " in done.stderr
    assert "it was made 400 days ago" in done.stderr
    assert "it is of detector 'Eiger', [detector] name is 'JF'" in done.stderr
    assert "its module 1 has serial number 'M050', module 1 of the run file 'M999'" in done.stderr
    assert done.returncode == 0
    assert "400 days" in rashpa(tmp_path, "plan", str(path)).stderr


@pytest.mark.parametrize(
    ("unit", "key", "value", "units"),
    [
        ("fpga", "borders", "shared", '"cpu" or "cuda" or "opencl"'),
        ("fpga", "track", "darks", '"cpu" or "cuda" or "opencl"'),
    ],
)
def test_only_some_units_assemble_and_follow(tmp_path: Path, unit: str, key: str, value: str, units: str) -> None:
    path = prepare(tmp_path, {key: value})
    path.write_text(path.read_text().replace("slots = 16", f'slots = 16\nunit = "{unit}"\ncard = "sim"'))
    done = rashpa(tmp_path, "plan", str(path))
    assert done.returncode == 2
    assert f'{unit} has no version of jungfrau with {key} = "{value}"; set unit = {units}' in done.stderr


def test_modules_without_room_are_refused_before_the_run(tmp_path: Path) -> None:
    path = prepare(tmp_path, {"borders": "shared"})
    path.write_text(path.read_text().replace("y = 550", "y = 512"))
    done = rashpa(tmp_path, "run", str(path))
    assert done.returncode != 0
    assert "give it x ≥ 1030 or y ≥ 514 in [[detector.module]]" in done.stdout + done.stderr
