# SPDX-License-Identifier: Apache-2.0
"""Checks the laboratory places of raw pixels in every file that a run and its commands write."""

import random
import subprocess
import sys
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401 (reads compressed chunks)
import numpy as np
import pytest
from numpy.typing import NDArray

from rashpa.data.geometry.crystfel_geometry import read_crystfel_geometry
from rashpa.testing.random_geometry import HEIGHT, PITCH, WAYS, WIDTH, Panel, one_geometry, text_of
from rashpa.testing.run_file import run_file

_RUN = run_file(
    run={"name": "lie", "frames": 2, "output": "out"},
    detector={"width": 60, "height": 40, "rate_hz": 100.0, "geometry": "det.geom"},
    dataset={"kind": "files", "files": [["m0.npy"], ["m1.npy"], ["m2.npy"], ["m3.npy"]]},
    buffer={"slots": 4, "stack": 2, "kernel": [{"name": "peakfinder8"}], "sink": [{"kind": "hdf5"}]},
)


@pytest.fixture(scope="module", params=[WAYS[0], WAYS[3], WAYS[6]], ids=" ".join)
def stored(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Panel]]:
    """Return a run of modules with pixels whose values identify them."""
    folder = tmp_path_factory.mktemp("laboratory")
    panels = one_geometry(random.Random(str(request.param)), request.param, small_turns=True)
    (folder / "det.geom").write_text(text_of(panels))
    (folder / "run.toml").write_text(_RUN)
    numbers = np.arange(1, HEIGHT * WIDTH + 1, dtype=np.uint16).reshape(1, HEIGHT, WIDTH)
    for module in range(4):
        np.save(folder / f"m{module}.npy", np.repeat(numbers + np.uint16(10000 * module), 2, axis=0))
    _rashpa(folder, "run", "run.toml")
    return folder, panels


def _rashpa(folder: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "rashpa.cli.entry", *arguments]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=120)


def _expected(image: NDArray[np.uint16], panels: list[Panel]) -> NDArray[np.float64]:
    """Return the places from the panels of the test, by the numbers in the pixels; NaN in gaps."""
    found = np.full((*image.shape, 3), np.nan)
    for module, panel in enumerate(panels):
        first = 10000 * module
        own = (image > first) & (image <= first + HEIGHT * WIDTH)
        assert own.sum() == HEIGHT * WIDTH
        found[own] = panel.places().reshape(-1, 3)[image[own] - first - 1]
    return found


def test_the_chain_of_axes_leads_to_the_place_of_each_pixel(stored: tuple[Path, list[Panel]]) -> None:
    folder, panels = stored
    with h5py.File(folder / "out" / "lie_full_master.h5") as file:
        detector = file["entry/instrument/detector"]
        image = file["entry/data/data"][0]
        said = np.full((*image.shape, 3), np.nan)
        for module in (one for one in detector.values() if one.attrs.get("NX_class") == "NXdetector_module"):
            top, left = module["data_origin"][()]
            rows, columns = module["data_size"][()]
            row, column = np.mgrid[:rows, :columns] + 0.5
            place = np.zeros((rows, columns, 3))
            for pixels, name in ((column, "fast_pixel_direction"), (row, "slow_pixel_direction")):
                step = module[name]
                assert np.linalg.norm(step.attrs["vector"]) == pytest.approx(1)
                place += pixels[..., None] * step[()] * step.attrs["vector"]
            at = module["fast_pixel_direction"].attrs["depends_on"]
            while at != ".":
                axis = file[at]
                assert axis.attrs["transformation_type"] == "translation"
                place += axis[()] * axis.attrs["vector"] + axis.attrs["offset"]
                at = axis.attrs["depends_on"]
            said[top : top + rows, left : left + columns] = place / PITCH
    expected = _expected(image, panels) + np.array([0.0, 0.0, 0.1 / PITCH])
    assert np.nanmax(np.abs(said - expected)) < 0.01


@pytest.mark.parametrize("places", [(), ("--master",)], ids=["cxi", "master"])
def test_a_geometry_written_of_the_run_says_the_same(stored: tuple[Path, list[Panel]], places: tuple[str, ...]) -> None:
    folder, panels = stored
    _rashpa(folder, "peaks", "out/lie_full_master.h5", *places, "--geometry", f"again{len(places)}.geom")
    with h5py.File(folder / "out" / "lie_full_master.h5") as file:
        image = file["entry/data/data"][0]
    expected = _expected(image, panels)
    found = read_crystfel_geometry("geometry", str(folder / f"again{len(places)}.geom"), image.shape)
    for panel in found.panels:
        row, column = np.mgrid[: panel.bottom - panel.top, : panel.right - panel.left] + 0.5
        place = np.zeros((*row.shape, 3))
        place[..., :2] = panel.corner
        place[..., 2] = panel.offset
        place += column[..., None] * panel.fs + row[..., None] * panel.ss
        part = expected[panel.top : panel.bottom, panel.left : panel.right]
        assert np.abs(place - part).max() < 0.01


def _ten_pixels(image: NDArray[np.uint16]) -> list[tuple[int, int]]:
    """Return rows and columns of ten random pixels of modules."""
    places = np.argwhere(image > 0)
    return [(int(row), int(column)) for row, column in random.Random(10).sample(places.tolist(), 10)]


def test_ten_pixels_lie_there_for_the_reader_of_dials(stored: tuple[Path, list[Panel]]) -> None:
    """Check ten pixels with nxmx, the package with which DIALS' dxtbx reads such files."""
    nxmx = pytest.importorskip("nxmx")
    folder, panels = stored
    with h5py.File(folder / "out" / "lie_full_master.h5") as file:
        image = file["entry/data/data"][0]
        (detector,) = nxmx.NXmx(file).entries[0].instruments[0].detectors
        expected = _expected(image, panels) + np.array([0.0, 0.0, 0.1 / PITCH])
        for row, column in _ten_pixels(image):
            found = []
            for module in detector.modules:
                (top, left), (rows, columns) = module.data_origin.tolist(), module.data_size.tolist()
                if not (top <= row < top + rows and left <= column < left + columns):
                    continue
                fast, slow = module.fast_pixel_direction, module.slow_pixel_direction
                matrix = nxmx.get_cumulative_transformation(nxmx.get_dependency_chain(fast.depends_on))
                steps = [
                    axis[()].to("mm").magnitude * np.asarray(axis.vector) * (at + 0.5)
                    for axis, at in ((fast, column - left), (slow, row - top))
                ]
                place = matrix[0] @ np.array([*(steps[0] + steps[1]), 1.0])
                found.append(place[:3] * 1e-3 / PITCH)
            (place,) = found
            assert np.abs(place - expected[row, column]).max() < 0.01


def test_ten_pixels_lie_there_for_pyfai(stored: tuple[Path, list[Panel]]) -> None:
    """Check ten pixels in pyFAI's frame: metres along rows and columns of the assembled image."""
    detectors = pytest.importorskip("pyFAI.detectors")
    folder, _ = stored
    master = str(folder / "out" / "lie_full_master.h5")
    found = detectors.detector_factory(master)
    with h5py.File(master) as file:
        image = file["entry/data/data"][0]
    assert tuple(found.shape) == image.shape
    down, across, *_ = found.calc_cartesian_positions()
    for row, column in _ten_pixels(image):
        assert (down[row, column] / PITCH, across[row, column] / PITCH) == pytest.approx((row + 0.5, column + 0.5))
