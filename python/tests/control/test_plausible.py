# SPDX-License-Identifier: Apache-2.0
"""Values in another unit, and more data files than a reader may open, get a caution with the probable meaning."""

from typing import Any

import pytest

from rashpa.control.capacity.capacity import cautions
from rashpa.control.plan.run_plan import plan_run
from rashpa.control.runfile.plausible import plausibility_cautions
from rashpa.control.runfile.run_file_reader import run_file_of


def run_file(frames: int = 10, sink: dict[str, Any] | None = None, **detector: float) -> dict[str, Any]:
    return {
        "run": {"name": "t", "frames": frames},
        "detector": {"width": 8, "height": 8, **detector},
        "dataset": {"kind": "pattern", "width": 8, "height": 8},
        "buffer": [{"name": "b", "sink": [sink or {"kind": "hdf5"}]}],
    }


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("energy_kev", 12400.0, "is it in eV? Then write 12.4"),
        ("energy_kev", 0.0124, "is it in MeV? Then write 12.4"),
        ("distance_m", 120.0, "is it in mm? Then write 0.12"),
        ("pixel_size_m", 75.0, "is it in µm? Then write 7.5e-05"),
        ("pixel_size_m", 0.075, "is it in mm? Then write 7.5e-05"),
        ("sensor_thickness_m", 320.0, "is it in µm? Then write 0.00032"),
    ],
)
def test_a_value_in_another_unit_is_said_with_that_unit(key: str, value: float, said: str) -> None:
    (text,) = plausibility_cautions(*run_file_of(run_file(10, None, **{key: value})))
    assert f"detector.{key}" in text
    assert said in text


def test_plausible_values_are_not_spoken_of() -> None:
    assert not list(plausibility_cautions(*run_file_of(run_file(energy_kev=0.5, distance_m=30.0, pixel_size_m=1e-5))))


def test_more_data_files_than_a_reader_opens_are_cautioned_of() -> None:
    few = {"kind": "hdf5", "images_per_file": 10}
    file, source = run_file_of(run_file(100_000, few))
    (text,) = cautions(plan_run(file, source))
    assert "10000 data files" in text
    assert "at least 100 a file" in text
    file, source = run_file_of(run_file(10_000, few))
    assert not cautions(plan_run(file, source))
