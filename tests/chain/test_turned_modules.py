# SPDX-License-Identifier: Apache-2.0
"""Tests modules in all eight orientations in whole runs: the place of every pixel, calibration and assembly, and the description in the file."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray

from rashpa.cli.report.report import report_of
from rashpa.control.nodes.native_program import native_program
from rashpa.control.runfile.run_file_reader import read_run_file
from rashpa.data.datasets.calibration import to_photons
from rashpa.data.datasets.dark_runs import dark_frames
from rashpa.data.datasets.datasets import dataset_from_spec
from rashpa.data.geometry.orientation import Orientation
from rashpa.data.stored.reader import open_run
from rashpa.sim import pattern_frame
from rashpa.testing.warm_nodes import WarmNodes

WIDTH, HEIGHT, FRAMES, DIFFERENT, APART = 96, 40, 60, 7, 100
WAYS = [Orientation(turn, flip) for turn in (0, 90, 180, 270) for flip in (False, True)]
RUN = """\
[run]
name = "turned"
frames = {frames}
output = "."
[detector]
width = {width}
height = {height}
pixel = "{pixel}"
module = [{modules}]
[dataset]
{dataset}
[receiver]
port = 0
[link]
{link}
[[buffer]]
name = "full"
slots = 20
stack = 5
deadline_ms = 5000
{buffer}
[[buffer.sink]]
kind = "hdf5"
{more}
"""


def write(folder: Path, ways: list[Orientation], apart: int = APART, **parts: str) -> Path:
    modules = ", ".join(
        f"{{ x = {apart * number}, y = 3, turn = {way.turn}, flip = {str(way.flip).lower()} }}"
        for number, way in enumerate(ways)
    )
    values: dict[str, Any] = {
        "frames": FRAMES,
        "width": WIDTH,
        "height": HEIGHT,
        "pixel": "uint16",
        "dataset": f'kind = "pattern"\nwidth = {WIDTH}\nheight = {HEIGHT}\nmodules = {len(ways)}\nframes = {DIFFERENT}',
        "link": "",
        "buffer": "",
        "more": "",
        **parts,
    }
    file = folder / "turned.toml"
    file.write_text(RUN.format(modules=modules, **values), encoding="utf-8")
    return file


def run(warm_nodes: WarmNodes, file: Path) -> dict[str, Any]:
    """Return the report of a run that must be good."""
    report = report_of(warm_nodes.good_run(file), file)
    assert report["books"]["balanced"]
    assert report["books"]["complete"] == report["books"]["written"] == FRAMES
    return report


def assembled(
    frames: list[NDArray[Any]], ways: list[Orientation], apart: int = APART
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the assembled image, and True where modules are."""
    sides = [way.sides(frame.shape[1], frame.shape[0]) for frame, way in zip(frames, ways, strict=True)]
    shape = (
        3 + max(height for _, height in sides),
        max(apart * number + width for number, (width, _) in enumerate(sides)),
    )
    image, there = np.zeros(shape, frames[0].dtype), np.zeros(shape, np.bool_)
    for number, (frame, way) in enumerate(zip(frames, ways, strict=True)):
        width, height = sides[number]
        place = np.s_[3 : 3 + height, apart * number : apart * number + width]
        image[place], there[place] = way.turned(frame), True
    return image, there


def pattern(number: int, frame: int, pixel: str = "uint16") -> NDArray[Any]:
    return pattern_frame(pixel, number, frame % DIFFERENT, HEIGHT, WIDTH)


ENGINE = '[[emulator]]\nname = "card"\nengine = "fpga"\ncard = "sim"\n'


@pytest.mark.parametrize(
    ("parts", "pixel"),
    [
        ({}, "uint16"),
        ({"buffer": "bands = 3"}, "uint32"),
        ({"link": 'kind = "pcie"'}, "uint8"),
        ({"more": ENGINE}, "uint16"),
    ],
    ids=["roce", "bands", "pcie", "card"],
)
def test_every_pixel_lies_where_its_modules_orientation_has_it(
    warm_nodes: WarmNodes, tmp_path: Path, parts: dict[str, Any], pixel: str
) -> None:
    if "more" in parts and native_program("rashpa_card") is None:
        pytest.skip("no simulated card: Verilator was not there when rashpa was built")
    dataset = (
        f'kind = "pattern"\nwidth = {WIDTH}\nheight = {HEIGHT}\nmodules = 8\nframes = {DIFFERENT}\npixel = "{pixel}"'
    )
    report = run(warm_nodes, write(tmp_path, WAYS, pixel=pixel, dataset=dataset, **parts))
    assert report["injected"]["unexplained"] == 0
    with open_run(tmp_path / "turned_full_master.h5") as stored:
        assert stored.module_orientations == WAYS
        for index, (_, image) in enumerate(stored.images()):
            expected, there = assembled([pattern(number, index, pixel) for number in range(8)], WAYS)
            np.testing.assert_array_equal(image[there], expected[there], err_msg=str(index))
    with h5py.File(tmp_path / "turned_full_master.h5") as file:
        mask = file["/entry/instrument/detector/pixel_mask"][()]
    np.testing.assert_array_equal(mask == 0, there)


JUNGFRAU = 'kind = "jungfrau"\nmodules = 3\nframes = 20\nspots = 200\nseed = 5\nbackground = 2.0\n'
PARTS = {"width": "1024", "height": "512", "dataset": JUNGFRAU}
MIXED = [Orientation(), Orientation(90), Orientation(180, True)]
ACROSS = [Orientation(270), Orientation(90), Orientation(90, True)]
BESIDE = 1040  # with room for borders


@pytest.mark.parametrize(("borders", "three"), [("raw", MIXED), ("shared", ACROSS)])
def test_a_turned_module_is_converted_with_its_own_calibration(
    warm_nodes: WarmNodes, tmp_path: Path, borders: str, three: list[Orientation]
) -> None:
    kernel = f'[[buffer.kernel]]\nname = "jungfrau"\nborders = "{borders}"\n'
    file = write(tmp_path, three, BESIDE, buffer=f"keep_darks = true\n{kernel}", **PARTS)
    run(warm_nodes, file)
    spec, _ = read_run_file(file)
    places = [(BESIDE * number, 3) for number in range(3)]
    ways = [(way.turn, way.flip) for way in three]
    data = dataset_from_spec({**spec.dataset.model_dump(), "places": places, "orientations": ways}, tmp_path)
    with open_run(tmp_path / "turned_full_master.h5") as stored:
        image = np.asarray(
            next(pixels for number, (_, pixels) in enumerate(stored.images()) if number == 3), np.float64
        )
    photons = [to_photons(data.dataset.frame(number, 3), data.calibration[number], 12.4) for number in range(3)]
    expected, there = assembled(photons, three, BESIDE)
    if borders == "shared":
        # chips keep their insides; what is between them is of the kernel's own test
        for number, way in enumerate(three):
            turned = way.turned(photons[number])
            for row in range(0, turned.shape[0], 256):
                for column in range(0, turned.shape[1], 256):
                    y, x = 3 + row + row // 128, BESIDE * number + column + column // 128
                    inside = turned[row + 1 : row + 255, column + 1 : column + 255]
                    check_photons(image[y + 1 : y + 255, x + 1 : x + 255], inside)
        return
    check_photons(image[there], expected[there])


def check_photons(found: NDArray[Any], exact: NDArray[Any]) -> None:
    clear = np.isfinite(exact) & (
        np.abs(exact - np.floor(exact) - 0.5) > 1e-3
    )  # away from halves rounding cannot differ
    assert clear.sum() > 0.9 * exact.size
    np.testing.assert_array_equal(found[clear], np.rint(exact[clear]))


def test_dark_frames_of_a_turned_module_are_those_of_the_module(warm_nodes: WarmNodes, tmp_path: Path) -> None:
    ways = [Orientation(270), Orientation(90, True)]
    run(warm_nodes, write(tmp_path, ways, buffer="keep_darks = true"))
    for number, frames in enumerate(dark_frames([tmp_path / "turned_full_master.h5"]).modules):
        np.testing.assert_array_equal(frames[4], pattern(number, 4))


def test_the_picture_of_turned_modules_is_continuous(tmp_path: Path) -> None:
    """Compare the background of the simulated scene on both sides of the border between an upright and a rotated module."""
    spec = {
        "kind": "jungfrau",
        "modules": 2,
        "frames": 60,
        "hit_fraction": 1.0,
        "spots": 0,
        "dark_every": 0,
        "background": 40.0,
    }
    places = {"places": [(0, 0), (1024, 0)], "orientations": [(0, False), (270, True)]}
    data = dataset_from_spec({**spec, **places}, tmp_path)
    photons = [
        np.mean([to_photons(data.dataset.frame(m, n), data.calibration[m], 12.4) for n in range(60)], axis=0)
        for m in (0, 1)
    ]
    turned = Orientation(270, True).turned(photons[1])
    left, right = photons[0][:, -2:], turned[:512, :2]
    ratio = [np.nanmean(left[row : row + 64]) / np.nanmean(right[row : row + 64]) for row in range(0, 512, 64)]
    assert np.abs(np.asarray(ratio) - 1).max() < 0.03
    other = Orientation(90, True).turned(photons[1])[:512, :2]  # another orientation has another picture there
    wrong = [np.nanmean(left[row : row + 64]) / np.nanmean(other[row : row + 64]) for row in range(0, 512, 64)]
    assert np.abs(np.asarray(wrong) - 1).max() > 0.1
