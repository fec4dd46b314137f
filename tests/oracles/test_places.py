# SPDX-License-Identifier: Apache-2.0
"""Compares the distances that peak finders get from geometry files with the numbers in these files."""

from pathlib import Path

import numpy as np
import pytest
from tests.oracles import places

from rashpa.data.geometry.given import Image
from rashpa.data.geometry.peak_geometry import peak_geometry

SHAPE = (13, 17)
PONI = """\
# of a test
poni_version: 2
Detector: Detector
Detector_config: {{"pixel1": 7.5e-05, "pixel2": 7.5e-05, "max_shape": [13, 17], "orientation": 3}}
Distance: 0.05
Poni1: {poni[0]}
Poni2: {poni[1]}
Rot1: {rot[0]}
Rot2: {rot[1]}
Rot3: {rot[2]}
Wavelength: 1e-10
"""
GEOMETRY = """\
clen = 0.05
res = 13333.333
a/min_fs = 0
a/max_fs = 16
a/min_ss = 0
a/max_ss = 12
a/corner_x = {corner[0]}
a/corner_y = {corner[1]}
a/fs = {fast[0]:+}x {fast[1]:+}y
a/ss = {slow[0]:+}x {slow[1]:+}y
"""


@pytest.mark.parametrize("rot", [(0.0, 0.0, 0.0), (0.2, 0.0, 0.0), (0.0, -0.3, 0.0), (0.0, 0.0, 1.1), (0.4, -0.2, 0.7)])
@pytest.mark.parametrize("poni", [(5e-4, 3e-4), (-1e-3, 2e-3)])
def test_poni(tmp_path: Path, rot: tuple[float, float, float], poni: tuple[float, float]) -> None:
    pytest.importorskip("pyFAI")
    path = tmp_path / "some.poni"
    path.write_text(PONI.format(rot=rot, poni=poni), encoding="utf-8")
    radius = peak_geometry({"poni": str(path)}, Image(*SHAPE))["radius"]
    wanted = [[places.poni_distance(y, x, 7.5e-5, 0.05, poni, rot) for x in range(SHAPE[1])] for y in range(SHAPE[0])]
    np.testing.assert_allclose(radius, wanted, rtol=1e-6)


@pytest.mark.parametrize("corner", [(0.0, 0.0), (-8.5, -6.25), (100.5, -3.0)])
@pytest.mark.parametrize(
    ("fast", "slow"), [((1.0, 0.0), (0.0, 1.0)), ((0.0, -1.0), (1.0, 0.0)), ((-0.8, 0.6), (0.6, 0.8))]
)
def test_crystfel(
    tmp_path: Path, corner: tuple[float, float], fast: tuple[float, float], slow: tuple[float, float]
) -> None:
    path = tmp_path / "some.geom"
    path.write_text(GEOMETRY.format(corner=corner, fast=fast, slow=slow), encoding="utf-8")
    found = peak_geometry({"geometry": str(path)}, Image(*SHAPE))
    assert found["panels"].tolist() == [0, 17, 0, 13]
    wanted = [[places.crystfel_distance(y, x, corner, fast, slow) for x in range(SHAPE[1])] for y in range(SHAPE[0])]
    np.testing.assert_allclose(found["radius"], wanted, rtol=1e-6)
