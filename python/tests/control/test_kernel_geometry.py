# SPDX-License-Identifier: Apache-2.0
"""Geometries of kernels that contradict the run file's description of the experiment."""

from pathlib import Path

import pytest

from rashpa.control.capacity.capacity import cautions
from rashpa.control.plan.kernel_geometry import kernel_geometry_cautions
from rashpa.control.plan.run_plan import load_plan

_RUN = """\
[run]
name = "q"
frames = 4
[detector]
width = 64
height = 32
{detector}
[dataset]
kind = "pattern"
width = 64
height = 32
[[buffer]]
name = "one"
kernel = [{{ {kernel} }}]
sink = [{{ kind = "null" }}]
"""
_PONI = """\
poni_version: 2.1
Detector: Detector
Detector_config: {"pixel1": 1e-4, "pixel2": 1e-4, "max_shape": [32, 64], "orientation": 3}
Distance: 0.1
Poni1: 0.0016
Poni2: 0.0032
Rot1: ROT
Rot2: 0
Rot3: 0
Wavelength: 1e-10
"""
_GEOMETRY = """\
res = 10000
clen = 0.1
wavelength = 1.0 A
a/min_fs = 0
a/max_fs = 63
a/min_ss = 0
a/max_ss = 31
a/corner_x = -32
a/corner_y = -16
"""
AZIMUTHAL = 'name = "azimuthal", poni = "a.poni"'
SAID = "distance_m = 0.3\nenergy_kev = 9.0\npixel_size_m = 75e-6"
SAME = "distance_m = 0.1\nenergy_kev = 12.4\npixel_size_m = 1e-4"


def said(folder: Path, kernel: str, detector: str, turned: float = 0.0) -> list[str]:
    (folder / "a.poni").write_text(_PONI.replace("ROT", str(turned)))
    (folder / "a.geom").write_text(_GEOMETRY)
    (folder / "run.toml").write_text(_RUN.format(kernel=kernel, detector=detector))
    plan = load_plan(folder / "run.toml")
    found = list(kernel_geometry_cautions(plan))
    assert set(found) <= set(cautions(plan))
    return found


@pytest.mark.parametrize(
    "kernel", [AZIMUTHAL, 'name = "peakfinder8", poni = "a.poni"', 'name = "sparsify", geometry = "a.geom"']
)
def test_what_differs_from_what_the_run_file_says_is_named(tmp_path: Path, kernel: str) -> None:
    found = said(tmp_path, kernel, SAID)
    name = "a.geom" if "geometry" in kernel else "a.poni"
    for text, part in zip(
        sorted(found),
        ("distance_m 0.1, and [detector] 0.3", "energy_kev 12.3984, and [detector] 9", "pixel_size_m 0.0001, and"),
        strict=True,
    ):
        assert f"{name} has {part}" in text
        assert "run.toml:" in text
    assert said(tmp_path, kernel, SAME) == []
    assert said(tmp_path, kernel, "") == [], "the run file says nothing"


def test_the_distance_is_that_along_the_beam(tmp_path: Path) -> None:
    assert said(tmp_path, AZIMUTHAL, "distance_m = 0.1", 0.3) != []
    assert said(tmp_path, AZIMUTHAL, "distance_m = 0.10468", 0.3) == []  # 0.1 / cos 0.3
