# SPDX-License-Identifier: Apache-2.0
"""Simulated modules are at the detector's places: the picture continues across a gap."""

from pathlib import Path

import numpy as np
import pytest

from rashpa.control.plan.checks.dataset_check import resolved_dataset
from rashpa.control.runfile.dataset_spec import JungfrauSpec
from rashpa.control.runfile.run_file_reader import read_run_file

_native = pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

GAP = 20
CENTRE = (512.0, (1024 + GAP) / 2)  # column and row of the assembled image, as the scene counts
EXAMPLES = Path(__file__).parents[3] / "examples"


def mean_by_radius(places: list[tuple[int, int]]) -> list[np.ndarray]:
    """Return the photons for each pixel of each module, in rings of 6 pixels around the centre of the detector with the gap."""
    data = _native.jungfrau_dataset(
        modules=2, frames=4, seed=3, energy_kev=12.4, hit_fraction=0.0, dark_every=0, spots=0, background_photons=30.0,
        truth=True, places=places,
    )  # fmt: skip
    rows, columns = np.mgrid[0:512, 0:1024]
    found = []
    for module, top in enumerate((0, 512 + GAP)):
        photons = np.mean([data.photons(module, frame) for frame in range(4)], axis=0)
        radius = np.hypot(columns - CENTRE[0], rows + top - CENTRE[1])
        rings = (radius / 6).astype(int)
        inside = rings < 80
        found.append(
            np.bincount(rings[inside], photons[inside], 80) / np.maximum(np.bincount(rings[inside], minlength=80), 1)
        )
    return found


def test_beam_stop_and_rings_are_round_across_a_gap() -> None:
    upper, lower = mean_by_radius([(0, 0), (0, 512 + GAP)])
    assert upper[2] == lower[2] == 0, "the shadow of the beam stop"
    assert min(upper[3], lower[3]) > 0
    np.testing.assert_allclose(upper[4:], lower[4:], rtol=0.06)
    half_moons = mean_by_radius([])
    assert all(old[3] < 0.8 * new[3] for old, new in zip(half_moons, (upper, lower), strict=True)), "gaps ignored"


def test_a_run_tells_its_nodes_where_the_modules_lie() -> None:
    file, source = read_run_file(EXAMPLES / "01_first_light.toml")
    spec = resolved_dataset(file, source, "local")
    assert isinstance(spec, JungfrauSpec)
    assert spec.places == [(module.x, module.y) for module in file.detector.module]
    assert resolved_dataset(file, source, "https://far:1") == spec
