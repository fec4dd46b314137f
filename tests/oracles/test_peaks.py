# SPDX-License-Identifier: Apache-2.0
"""Compares kernels that process an image by the distance from the beam with plain loops, on every unit."""

from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.oracles import rings
from tests.oracles.units import on_every_unit

from rashpa.data.kernels.pipeline import Found, Pipeline
from rashpa.data.stored.densify import densify

ORACLES_OF = ("peakfinder8", "peakfinder", "sparsify")
SHAPE = (47, 61)
MASKED = 4  # this one of images() has no pixel that counts
GAP = 200  # pixels with this value are masked
BEAM = {"beam_x": 30.5, "beam_y": 20.5}  # the middle of a pixel: many distances are whole numbers
WHOLE = [(0, SHAPE[1], 0, SHAPE[0])]
limits = pytest.mark.parametrize(
    ("min_radius", "max_radius"), [(0, 0), (5, 13), (np.sqrt(26), np.sqrt(13**2 + 1)), (5, 5), (0, 26)]
)


def images(dtype: str = "uint8") -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return images for a pipeline, and the same with NaN at masked pixels: random spots, also at borders, empty, all masked, flat, and with
    outliers."""
    random = np.random.default_rng(11)
    radius = rings.distances(SHAPE, **BEAM)
    made = random.poisson(1 + 6 * np.exp(-radius / 15), (7, *SHAPE))
    for image in made[:3]:
        for _ in range(30):
            row, column = random.integers(0, SHAPE[0]), random.integers(0, SHAPE[1])
            height, width = random.integers(1, 4, 2)
            spot = image[row : row + height, column : column + width]
            spot[...] = random.integers(20, 120, spot.shape)
    made[random.random(made.shape) < 0.02] = GAP
    made[3], made[MASKED], made[5] = 0, GAP, 7
    made[5, 20:22, 30:32] = 100
    made[6] = np.where(random.random(SHAPE) < 0.02, 190, 4)
    values = np.where(made == GAP, np.nan, made)
    return (values.astype(np.float32) if dtype == "float32" else made.astype(dtype)), values


def through(kernel: dict[str, Any], unit: str, pixels: NDArray[Any], **more: Any) -> Found:
    """Return the kernel's results."""
    special = {} if pixels.dtype.kind == "f" else {GAP: "gap"}
    return Pipeline([kernel], SHAPE, pixels.dtype, unit=unit, special=special, **more)(pixels)


def assert_rows(found: Found, number: int, name: str, wanted: list[dict[str, float]], empty: int) -> None:
    table = found[number].tables[name]
    assert len(table["x"]) == len(wanted)
    for column in wanted[0] if wanted else ():
        np.testing.assert_allclose(table[column], [one[column] for one in wanted], rtol=2e-5, atol=1e-5, err_msg=column)
    assert found.columns["n_peaks"][number] == len(wanted)
    total = sum(one["intensity"] for one in wanted)
    np.testing.assert_allclose(found.columns["peak_intensity"][number], total, rtol=1e-5)
    assert found.columns["empty_rings"][number] == empty


@on_every_unit
@limits
@pytest.mark.parametrize("dtype", ["uint8", "int32", "float32"])
def test_peakfinder8(unit: str, min_radius: float, max_radius: float, dtype: str) -> None:
    pixels, values = images(dtype)
    radius = rings.distances(SHAPE, **BEAM)
    looked = rings.looked_at(radius, min_radius, max_radius)
    total = 0
    for settings in (rings.Peak8(15, 4, 1, 200, 2), rings.Peak8(20, 6, 2, 5, 3)):
        kernel = {"name": "peakfinder8", **asdict(settings), **BEAM, "min_radius": min_radius, "max_radius": max_radius}
        found = through(kernel, unit, pixels)
        for number, image in enumerate(values):
            oracle = rings.Peaks8(image, radius, looked, settings)
            wanted = oracle.peaks(WHOLE)
            assert_rows(found, number, "peakfinder8", wanted, oracle.empty)
            assert oracle.empty > 0 or number != MASKED
            total += len(wanted)
    assert total > 0 or min_radius == max_radius


@on_every_unit
def test_peaks_end_at_panels(unit: str) -> None:
    pixels, values = images()
    radius = rings.distances(SHAPE, **BEAM)
    settings = rings.Peak8(15, 4, 1, 200, 2)
    looked = rings.looked_at(radius, 0, 0)
    tiles = [
        (left, min(left + 20, SHAPE[1]), top, min(top + 15, SHAPE[0]))
        for top in range(0, SHAPE[0], 15)
        for left in range(0, SHAPE[1], 20)
    ]
    kernel = {"name": "peakfinder8", **asdict(settings), **BEAM}
    found = through(kernel | {"panel_width": 20, "panel_height": 15}, unit, pixels)
    for number, image in enumerate(values):
        oracle = rings.Peaks8(image, radius, looked, settings)
        assert_rows(found, number, "peakfinder8", oracle.peaks(tiles), oracle.empty)


@on_every_unit
@pytest.mark.parametrize("kernel", ["peakfinder8", "peakfinder", "sparsify"])
def test_distances_and_panels_of_a_geometry(unit: str, kernel: str) -> None:
    pixels, values = images()
    radius = rings.distances(SHAPE, 12.25, -3.75) * 1.5
    radius[:, 28:31] = np.nan  # in no panel
    panels = [(31, 61, 0, 47), (0, 28, 0, 20), (0, 28, 20, 47)]
    panel_of = np.zeros(SHAPE, np.int64)
    for number, (left, right, top, bottom) in enumerate(panels):
        panel_of[top:bottom, left:right] = number + 1
    arrays: dict[str, NDArray[Any]] = {"radius": radius.astype(np.float32)}
    if kernel != "sparsify":
        arrays["panels"] = np.array(panels, np.uint32).ravel()
    radius = radius.astype(np.float32).astype(float)
    looked = rings.looked_at(radius, 10, 60)
    clip, peak8 = rings.Clip(bins=12), rings.Peak8(15, 4, 1, 200, 2)
    special = asdict(peak8) if kernel == "peakfinder8" else asdict(clip)
    given = {"name": kernel, **special, **BEAM, "min_radius": 10, "max_radius": 60}
    if kernel == "peakfinder":
        given |= {"patch": 3, "connected": 2}
    found = through(given, unit, pixels, arrays={kernel: arrays})
    for number, image in enumerate(values):
        if kernel == "peakfinder8":
            oracle = rings.Peaks8(image, radius, looked, peak8)
            assert_rows(found, number, kernel, oracle.peaks(panels), oracle.empty)
            continue
        under = rings.background(image, radius, looked, clip)
        if kernel == "peakfinder":
            wanted = rings.peakfinder(image, looked, under, clip, 3, 2, panel_of)
            assert_rows(found, number, kernel, wanted, under.empty)
        else:
            assert_listed(found, number, image, rings.sparsify(image, looked, under, clip), under)


def assert_listed(
    found: Found, number: int, image: NDArray[np.float64], wanted: list[int], under: rings.Background
) -> None:
    listed = found[number].list
    assert listed is not None
    assert listed.index.tolist() == wanted
    assert listed.value.tolist() == image.ravel()[wanted].tolist()
    assert found.columns["listed_pixels"][number] == len(wanted)
    table = found[number].tables["sparsify"]
    np.testing.assert_allclose(table["radius"], under.middle, rtol=1e-6)
    np.testing.assert_allclose(table["background"], under.mean, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(table["deviation"], under.deviation, rtol=1e-5, atol=1e-6)


CLIPS = (
    rings.Clip(bins=25),  # for distances of 0 to 25 many pixels lie on a border of bins
    rings.Clip(bins=7, error_model="azimuthal", cycles=3, noise=0.5),
    rings.Clip(bins=40, error_model="hybrid", clip=4, cutoff=2),
    rings.Clip(bins=2, cycles=0, error_model="hybrid"),
    rings.Clip(bins=500),  # rings without pixels, and of few, of which clipping leaves none
    rings.Clip(bins=500, error_model="azimuthal"),
    rings.Clip(bins=500, error_model="hybrid"),
)


@on_every_unit
@limits
@pytest.mark.parametrize("clip", CLIPS)
def test_sparsify(unit: str, min_radius: float, max_radius: float, clip: rings.Clip) -> None:
    pixels, values = images()
    radius = rings.distances(SHAPE, **BEAM)
    looked = rings.looked_at(radius, min_radius, max_radius)
    kernel = {"name": "sparsify", **asdict(clip), **BEAM, "min_radius": min_radius, "max_radius": max_radius}
    found = through(kernel | {"capacity": 1.0}, unit, pixels)
    for number, image in enumerate(values):
        under = rings.background(image, radius, looked, clip)
        assert_listed(found, number, image, rings.sparsify(image, looked, under, clip), under)


@on_every_unit
@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize(("patch", "connected"), [(3, 1), (3, 2), (5, 3)])
def test_peakfinder(unit: str, clip: rings.Clip, patch: int, connected: int) -> None:
    pixels, values = images("float32")
    radius = rings.distances(SHAPE, **BEAM)
    looked = rings.looked_at(radius, 3, 25)
    kernel = {"name": "peakfinder", **asdict(clip), **BEAM, "min_radius": 3, "max_radius": 25}
    found = through(kernel | {"patch": patch, "connected": connected}, unit, pixels)
    for number, image in enumerate(values):
        under = rings.background(image, radius, looked, clip)
        whole = np.zeros(SHAPE, np.int64)
        wanted = rings.peakfinder(image, looked, under, clip, patch, connected, whole)
        assert_rows(found, number, "peakfinder", wanted, under.empty)
        assert under.empty > 0 or number != MASKED


@on_every_unit
@pytest.mark.parametrize("error_model", ["poisson", "azimuthal", "hybrid"])
def test_one_value_far_above_all_others_is_listed_alone(unit: str, error_model: str) -> None:
    pixels = np.full((1, *SHAPE), 4, np.uint32)
    pixels[0, 10, 10] = 1_000_000
    kernel = {"name": "sparsify", "bins": 10, "error_model": error_model, "noise": 0.1, "cutoff": 5, **BEAM}
    found = Pipeline([kernel], SHAPE, np.uint32, unit=unit)(pixels)[0]
    assert found.list is not None
    assert found.list.index.tolist() == [10 * SHAPE[1] + 10]
    assert found.tables["sparsify"]["background"].tolist() == [4] * 10
    peaks = Pipeline([kernel | {"name": "peakfinder", "connected": 1}], SHAPE, np.uint32, unit=unit)(pixels)[0]
    assert peaks.tables["peakfinder"]["background"].tolist() == [4]


@on_every_unit
@pytest.mark.parametrize("error_model", ["poisson", "azimuthal", "hybrid"])
def test_a_ring_of_which_no_pixel_is_left_lists_nothing_and_says_so(unit: str, error_model: str) -> None:
    # all four lie equally far from the beam; three scatter so that Chauvenet's criterion leaves out each of them
    pixels = np.array([[[4, 4], [1e6, np.nan]]], np.float32)
    kernel = {"bins": 2, "error_model": error_model, "beam_x": 1.0, "beam_y": 1.0}
    found = Pipeline([{"name": "sparsify", **kernel}], (2, 2), np.float32, unit=unit)(pixels)[0]
    assert found.list is not None
    assert found.list.index.tolist() == []
    table = found.tables["sparsify"]
    assert np.isnan(table["background"]).tolist() == np.isnan(table["deviation"]).tolist() == [True, True]
    assert np.isnan(densify((2, 2), found.list.index, found.list.value, table, kernel)).all()
    peaks = Pipeline([{"name": "peakfinder", "connected": 1, "patch": 3, **kernel}], (2, 2), np.float32, unit=unit)
    columns = peaks(pixels).columns
    assert columns["n_peaks"].tolist() == [0]
    assert columns["empty_rings"].tolist() == [1]


def test_images_made_again_have_no_value_where_nothing_is_known() -> None:
    table = {
        "radius": np.array([0.5, 1.5, 2.5, 3.5, 4.5]),
        "background": np.array([2.0, 4.0, np.nan, 8.0, np.nan]),
        "deviation": np.array([1.0, 1.0, np.nan, 1.0, np.nan]),
    }
    parameters = {"beam_x": -0.25, "beam_y": 0.5, "min_radius": 1.0, "max_radius": 4.8}
    for dtype, masked in ((np.uint16, 65535), (np.int32, -(2**31)), (np.float32, np.nan)):
        made = densify((1, 6), np.array([2], np.uint32), np.array([90], dtype), table, parameters)
        # at 0.75, 1.75, … 5.75: not looked at; of the ring beside one without; listed; of a ring without (2); not looked at
        np.testing.assert_array_equal(made, np.array([[0, 4, 90, 8, masked, 0]], dtype))
        scattered = densify(
            (1, 6), np.array([2], np.uint32), np.array([90], dtype), table, parameters, np.random.default_rng(1)
        )
        np.testing.assert_array_equal(scattered[0, [0, 2, 4, 5]], np.array([0, 90, masked, 0], dtype))


def test_images_made_again_have_a_background_where_the_kernel_looked() -> None:
    pixels = np.full((1, *SHAPE), 9, np.uint16)
    kernel = {"name": "sparsify", **BEAM, "min_radius": 5, "max_radius": 13, "bins": 8}
    found = through(kernel, "cpu", pixels)[0]
    assert found.list is not None
    made = densify(SHAPE, found.list.index, found.list.value, found.tables["sparsify"], kernel)
    looked = rings.looked_at(rings.distances(SHAPE, **BEAM), 5, 13)
    assert made.tolist() == np.where(looked, 9, 0).tolist()
