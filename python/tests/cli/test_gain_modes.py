# SPDX-License-Identifier: Apache-2.0
"""Cautions of a report on images that another gain mode than that of the run file has made."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import h5py
import numpy as np
import pytest

from rashpa.cli.report.gain_modes import gain_mode_caution, gain_mode_cautions
from rashpa.testing.stored_run import IMAGES, make_run

NOT_COUNTED = np.iinfo(np.int64).min
CELL_15 = 15 << 8


def told(folder: Path, *info: int) -> Path:
    """Write a run of which the first images have this DAQ info, and the rest have none."""
    master = make_run(folder)
    values = np.full(IMAGES, NOT_COUNTED, np.int64)
    values[: len(info)] = info
    with h5py.File(master, "r+") as file:
        file["entry/rashpa/daq_info"] = values
        file["entry/rashpa"].attrs["columns"] = [b"daq_info"]
    return master


@pytest.mark.parametrize(
    ("bit", "mode"), [(0, "highgain0"), (1, "fixg1"), (2, "fixg2"), (12, "forceswitchg1"), (13, "forceswitchg2")]
)
def test_images_of_another_gain_mode_are_counted_and_told(tmp_path: Path, bit: int, mode: str) -> None:
    file = told(tmp_path, CELL_15, CELL_15 | 1 << bit, 1 << bit | 1 << 31 | 1 << 4)
    assert gain_mode_caution(file, mode) == ""
    assert gain_mode_caution(file, "dynamic") == (
        f"{file}: the DAQ info of 2 of 3 images says {mode}, and detector.calibration.gain_mode is dynamic; "
        f"set gain_mode to {mode}, and process the images again"
    )


def test_images_without_a_mode_or_without_a_header_prove_nothing(tmp_path: Path) -> None:
    assert gain_mode_caution(told(tmp_path, 0, CELL_15), "fixg1") == ""
    (tmp_path / "other").mkdir()
    assert gain_mode_caution(make_run(tmp_path / "other"), "fixg1") == ""


def outcome(file: Path, kernel: str, mode: str | None) -> Any:
    section = SimpleNamespace(name="full", kernel=[SimpleNamespace(name=kernel)])
    calibration = None if mode is None else SimpleNamespace(gain_mode=mode)
    plan = SimpleNamespace(
        file=SimpleNamespace(detector=SimpleNamespace(calibration=calibration)),
        buffers=[SimpleNamespace(section=section)],
    )
    return SimpleNamespace(plan=plan, buffers=[SimpleNamespace(name="full", file=str(file))])


def test_only_files_of_converted_images_are_asked(tmp_path: Path) -> None:
    file = told(tmp_path, 1 << 1)
    assert len(list(gain_mode_cautions(outcome(file, "jungfrau", "dynamic")))) == 1
    assert len(list(gain_mode_cautions(outcome(file, "jungfrau", None)))) == 1
    assert list(gain_mode_cautions(outcome(file, "jungfrau", "fixg1"))) == []
    assert list(gain_mode_cautions(outcome(file, "azimuthal", "dynamic"))) == []
    assert list(gain_mode_cautions(outcome(tmp_path / "gone.h5", "jungfrau", "dynamic"))) == []
