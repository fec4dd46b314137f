# SPDX-License-Identifier: Apache-2.0
"""Bins of `azimuthal`, compared with geometry: histograms of radius and arctan2, outlines cut by half-planes, finely sampled pixels. Neither pyFAI
nor our own code computes the places of pixels here."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
pytest.importorskip("pyFAI")

import rashpa.kernel
from rashpa import _native
from rashpa.data.geometry import azimuthal_bins
from rashpa.data.geometry.azimuthal_arrays import NO_BIN, azimuthal_arrays
from rashpa.data.geometry.azimuthal_bins import Bins, Boxes
from rashpa.data.geometry.given import Image
from rashpa.data.kernels.pipeline import kernel_declarations

SHAPE = (120, 160)
PIXEL, DISTANCE, WAVELENGTH = 1e-4, 0.1, 1e-10
Reals = NDArray[np.float64]


class Camera:
    """Describes a detector in space: pixels [row][column] of size `PIXEL`, the beam at `y`, `x` (pixels), rotated by `tilts` as in PONI files."""

    def __init__(self, y: float = 60.0, x: float = 80.0, tilts: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> None:
        self.y, self.x, self.tilts = y, x, tilts

    def write(self, folder: Path) -> str:
        rotations = "".join(f"Rot{n + 1}: {value}\n" for n, value in enumerate(self.tilts))
        text = (
            f"PixelSize1: {PIXEL}\nPixelSize2: {PIXEL}\nDistance: {DISTANCE}\nPoni1: {self.y * PIXEL}\n"
            f"Poni2: {self.x * PIXEL}\n{rotations}Wavelength: {WAVELENGTH}\n"
        )
        (folder / "camera.poni").write_text(text, encoding="utf-8")
        return str(folder / "camera.poni")

    def places(self, rows: Reals, columns: Reals) -> tuple[Reals, Reals, Reals]:
        """Return coordinates up, sideways and along the beam, in metres, of points in the image."""
        point = np.stack(((rows - self.y) * PIXEL, (columns - self.x) * PIXEL, np.full_like(rows, DISTANCE)), axis=-1)
        (c1, c2, c3), (s1, s2, s3) = np.cos(self.tilts), np.sin(self.tilts)
        first = np.array([[1, 0, 0], [0, c1, s1], [0, -s1, c1]])  # 1 and 2 are left-handed, as pyFAI's manual says
        second = np.array([[c2, 0, -s2], [0, 1, 0], [s2, 0, c2]])
        third = np.array([[c3, -s3, 0], [s3, c3, 0], [0, 0, 1]])
        turned = point @ (third @ second @ first).T
        return turned[..., 0], turned[..., 1], turned[..., 2]

    def polar(self, rows: Reals, columns: Reals, unit: str = "r_mm") -> tuple[Reals, Reals]:
        """Return radius, and azimuth in degrees."""
        up, side, along = self.places(rows, columns)
        around = np.hypot(up, side)
        two_theta = np.arctan2(around, along)
        q = 4 * np.pi * np.sin(two_theta / 2) / (WAVELENGTH * 1e10)
        radius = {
            "r_mm": around * 1e3,
            "2th_rad": two_theta,
            "2th_deg": np.degrees(two_theta),
            "q_A^-1": q,
            "q_nm^-1": 10 * q,
        }
        return radius[unit], np.degrees(np.arctan2(up, side))

    def centres(self, unit: str = "r_mm") -> tuple[Reals, Reals]:
        rows, columns = np.mgrid[: SHAPE[0], : SHAPE[1]] + 0.5
        return self.polar(rows, columns, unit)

    def samples(self, fine: int, unit: str = "r_mm") -> tuple[Reals, Reals]:
        """Return radius and azimuth of `fine` × `fine` points of each pixel."""
        rows, columns = (np.mgrid[: SHAPE[0] * fine, : SHAPE[1] * fine] + 0.5) / fine
        return self.polar(rows, columns, unit)


STRAIGHT = Camera()
TILTED = Camera(52.3, 71.6, (0.02, -0.03, 0.4))
UNITS = ("q_A^-1", "q_nm^-1", "2th_deg", "2th_rad", "r_mm")
SECTORS = [
    (-180, 180), (0, 360), (150, 210), (190, 270), (-90, 270), (350, 370), (-360, 0), (100, 460), (359, 361),
    (-270, -100), (0, 90), (-180, 179.999), (360, 450), (-45, 45),
]  # fmt: skip


def arrays(camera: Camera, folder: Path, **values: Any) -> dict[str, NDArray[Any]]:
    defaults = {one["name"]: one.get("default") for one in kernel_declarations()["azimuthal"]["parameters"]}
    given = {"poni": camera.write(folder), "solid_angle": False, "bins": 20, "radial_unit": "r_mm", **values}
    return azimuthal_arrays(defaults | given, Image(*SHAPE))


def sums(made: dict[str, NDArray[Any]]) -> Reals:
    """Return the sum of all pixels' shares in each bin, [azimuth][radius]."""
    shape = (len(made.get("azimuthal_axis", [0])), len(made["radial_axis"]))
    if "bins" in made:
        counted = made["bins"] != NO_BIN
        return np.bincount(made["bins"][counted], minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)
    added = np.bincount(made["share_bins"], weights=made["shares"], minlength=shape[0] * shape[1])
    return added.reshape(shape).astype(np.float64)


def histogram(
    radius: Reals, azimuth: Reals, radial: tuple[float, float, int], around: tuple[float, float, int]
) -> Reals:
    """Return the histogram of points, [azimuth][radius]."""
    least, most, count = around
    turned = least + (azimuth - least) % 360
    turned = np.where((azimuth >= least) & (azimuth <= most), azimuth, turned)
    found, _, _ = np.histogram2d(
        turned.ravel(), radius.ravel(), bins=(count, radial[2]), range=((least, most), radial[:2])
    )
    return np.asarray(found, np.float64)


@pytest.mark.parametrize("camera", [STRAIGHT, TILTED])
@pytest.mark.parametrize("sector", SECTORS)
def test_a_sector_has_the_pixels_whose_angle_lies_in_it(
    tmp_path: Path, camera: Camera, sector: tuple[float, float]
) -> None:
    radius, azimuth = camera.centres()
    least, most = sector
    inside = (azimuth - least) % 360 <= most - least
    bounds = {"azimuth_min": least, "azimuth_max": most}
    assert sums(arrays(camera, tmp_path, **bounds)).sum() == inside.sum()
    rows = sums(arrays(camera, tmp_path, **bounds, azimuthal_bins=9, radial_min=1, radial_max=6))
    np.testing.assert_array_equal(rows, histogram(radius, azimuth, (1, 6, 20), (least, most, 9)))


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("camera", [STRAIGHT, TILTED])
def test_bins_end_where_the_range_ends(tmp_path: Path, camera: Camera, unit: str) -> None:
    radius, _ = camera.centres(unit)
    for low, high in ((0.3, 0.7), (0.0, 0.4), (0.5, 3.0)):
        least, most = low * float(radius.max()), high * float(radius.max())
        made = arrays(camera, tmp_path, radial_unit=unit, radial_min=least, radial_max=most, bins=37)
        expected, edges = np.histogram(radius, 37, (least, most))
        np.testing.assert_array_equal(sums(made)[0], expected)
        np.testing.assert_allclose(made["radial_axis"], (edges[1:] + edges[:-1]) / 2)


@pytest.mark.parametrize("splitting", ["no", "bbox", "full"])
def test_nothing_of_a_pixel_below_the_range_is_in_the_first_bin(tmp_path: Path, splitting: str) -> None:
    """Check a bright spot of 1000 below 3 mm: only pixels that the border cuts may contribute a part of it."""
    radius, azimuth = STRAIGHT.centres()
    reach = 0.1 * np.sqrt(2) / 2
    image = np.where(radius < 3 - (reach if splitting == "no" else 2.1 * reach), 1000, 1).astype(np.uint16)
    poni = STRAIGHT.write(tmp_path)
    common: dict[str, Any] = {
        "poni": poni,
        "radial_unit": "r_mm",
        "solid_angle": False,
        "splitting": splitting,
        "errors": "none",
    }
    found = rashpa.kernel.azimuthal(image, **common, bins=6, radial_min=3, radial_max=6)
    assert found.profiles["azimuthal"][0]["I"][0] == pytest.approx(np.ones(6))
    image = np.where((azimuth > -12) & (azimuth < 70), 1, 1000).astype(np.uint16)
    found = rashpa.kernel.azimuthal(
        image, **common, bins=3, radial_min=3, radial_max=5, azimuthal_bins=6, azimuth_min=0, azimuth_max=60
    )
    assert found.profiles["azimuthal"][0]["I"][0] == pytest.approx(np.ones((6, 3)))


def test_a_ring_is_judged_by_its_own_pixels(tmp_path: Path) -> None:
    radius, _ = STRAIGHT.centres()
    image = np.where(radius < 3, 1000, 1).astype(np.uint16)
    ring: dict[str, Any] = {"radial_min": 3, "radial_max": 6, "ring_min": 3, "ring_max": 3.5, "max_intensity": 10}
    found = rashpa.kernel.azimuthal(
        image, poni=STRAIGHT.write(tmp_path), bins=6, radial_unit="r_mm", solid_angle=False, **ring
    )
    assert found[0].decision == "accepted"
    assert found.columns["ring_intensity"].tolist() == [1.0]


@pytest.mark.parametrize("camera", [STRAIGHT, TILTED])
@pytest.mark.parametrize(("sector", "rows"), [((-180, 180), 8), ((150, 210), 5), ((0, 360), 1), ((-180, 180), 1)])
def test_areas_are_those_of_fine_samples(
    tmp_path: Path, camera: Camera, sector: tuple[float, float], rows: int
) -> None:
    fine = 16
    radius, azimuth = camera.samples(fine)
    made = arrays(
        camera,
        tmp_path,
        splitting="full",
        bins=12,
        radial_min=2,
        radial_max=5,
        azimuthal_bins=rows if rows > 1 else 0,
        azimuth_min=sector[0],
        azimuth_max=sector[1],
    )
    expected = histogram(radius, azimuth, (2, 5, 12), (*sector, rows)) / fine**2
    np.testing.assert_allclose(sums(made), expected, atol=0.4, rtol=2e-3)  # outlines are straight here, not there


@pytest.mark.parametrize("splitting", ["bbox", "full"])
@pytest.mark.parametrize("camera", [STRAIGHT, TILTED, Camera(60.5, 80.5), Camera(60.2, 80.0), Camera(-300, 80)])
def test_a_whole_circle_holds_all_of_every_pixel_wherever_it_begins(
    tmp_path: Path, camera: Camera, splitting: str
) -> None:
    """Check with the beam on a corner, on an edge, inside a pixel, and outside of the image."""
    for start in (-180, -33.3, 0, 90):
        made = arrays(
            camera,
            tmp_path,
            splitting=splitting,
            radial_max=50,
            azimuthal_bins=7,
            azimuth_min=start,
            azimuth_max=start + 360,
        )
        of_pixel = np.add.reduceat(made["shares"], np.r_[0, made["share_ends"].ravel()[:-1]].astype(np.int64))
        np.testing.assert_allclose(of_pixel, 1, rtol=1e-5)


def test_a_pixel_across_the_cut_is_shared_by_the_first_and_the_last_row(tmp_path: Path) -> None:
    """Check the row of pixels left of the beam, which is half above and half below 180 degrees."""
    camera = Camera(60.5, 80.0)
    made = arrays(camera, tmp_path, splitting="full", azimuthal_bins=36)
    ends = made["share_ends"].ravel()
    pixel = 60 * SHAPE[1] + 20
    some = slice(int(ends[pixel - 1]), int(ends[pixel]))
    rows = made["share_bins"][some] // 20
    assert set(rows.tolist()) == {0, 35}
    assert made["shares"][some][rows == 0].sum() == pytest.approx(0.5, abs=1e-4)


def test_centres_on_a_border_belong_to_the_bin_above_and_the_end_to_the_last(tmp_path: Path) -> None:
    camera = Camera(60.5, 80.5)  # rows and columns of whole pixels from the beam
    radius, azimuth = camera.centres()
    for bins, sector in ((8, (-180, 180)), (4, (0, 360)), (2, (0, 90)), (3, (-45, 90)), (1, (90, 180))):
        made = arrays(
            camera, tmp_path, azimuthal_bins=bins, azimuth_min=sector[0], azimuth_max=sector[1], radial_max=20, bins=1
        )
        exact = np.round(azimuth, 9) + 0.0
        np.testing.assert_array_equal(sums(made), histogram(radius, exact, (0, 20, 1), (*sector, bins)))
    made = arrays(camera, tmp_path, radial_min=0.5, radial_max=3, bins=25)  # a bin is a pixel wide
    y, x = np.mgrid[-60:60, -80:80]
    whole = np.sqrt(y**2 + x**2 + 0.5).astype(int)  # the root, rounded down, of integers
    whole[y**2 + x**2 == 30**2] = 29
    np.testing.assert_array_equal(sums(made)[0], np.bincount(whole.ravel(), minlength=31)[5:30])


@pytest.mark.parametrize("splitting", ["no", "bbox", "full"])
def test_what_is_not_given_is_the_whole_circle(tmp_path: Path, splitting: str) -> None:
    half = Camera(60, 0)
    for rows in (0, 9):
        options = {"splitting": splitting, "azimuthal_bins": rows}
        default, said = (
            arrays(half, tmp_path, **options),
            arrays(half, tmp_path, **options, azimuth_min=-180, azimuth_max=180),
        )
        assert default.keys() == said.keys()
        for name, values in default.items():
            np.testing.assert_array_equal(values, said[name])
    np.testing.assert_allclose(said["azimuthal_axis"], np.arange(-160, 161, 40))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"azimuth_min": 10, "azimuth_max": 10}, "azimuth_max: 10 is not above azimuth_min, which is 10"),
        ({"azimuth_min": 170, "azimuth_max": -170}, "azimuth_max: .* a range across 180 ends above it: 190"),
        ({"azimuth_min": 0, "azimuth_max": 361}, "azimuth_max: 361 is 361 degrees above azimuth_min; a circle has 360"),
        ({"azimuth_min": -180, "azimuth_max": 360}, "azimuth_max: 360 is 540 degrees above azimuth_min"),
        ({"radial_min": 5, "radial_max": 5}, "radial_max: 5.0 is not above radial_min"),
        ({"radial_min": 5}, "radial_max: 0.0 is not above radial_min"),
        (
            {"radial_min": 500, "radial_max": 600},
            "radial_min: no pixel of .* lies in the ranges; choose one in .* r_mm",
        ),
    ],
)
@pytest.mark.parametrize("splitting", ["no", "bbox", "full"])
def test_ranges_that_hold_nothing_are_refused_by_their_own_names(
    tmp_path: Path, values: dict[str, float], words: str, splitting: str
) -> None:
    with pytest.raises(ValueError, match=f"^{words}"):
        arrays(STRAIGHT, tmp_path, splitting=splitting, **values)


@pytest.mark.parametrize("splitting", ["no", "bbox", "full"])
def test_a_sector_that_the_detector_does_not_see_is_named(tmp_path: Path, splitting: str) -> None:
    with pytest.raises(ValueError, match=r"^azimuth_min: no pixel of .* lies from 120 to 240 degrees; its azimuth is"):
        arrays(Camera(60, 0), tmp_path, splitting=splitting, azimuth_min=120, azimuth_max=240)


def test_a_ring_of_one_radius_is_no_ring_of_all(tmp_path: Path) -> None:
    common: dict[str, Any] = {
        "poni": STRAIGHT.write(tmp_path),
        "bins": 6,
        "radial_unit": "r_mm",
        "radial_min": 3,
        "radial_max": 6,
    }
    with pytest.raises(_native.ConfigError, match="ring_max: no bin lies from 3 to 3"):
        rashpa.kernel.azimuthal(np.ones(SHAPE, np.uint16), **common, ring_min=3, ring_max=3)


# ---- outlines, cut one by one --------------------------------------------------------------------------------------------------

Point = tuple[float, float]


def half_plane(outline: list[Point], axis: int, limit: float, *, above: bool) -> list[Point]:
    """Return the part of an outline on one side of a line (Sutherland and Hodgman)."""
    kept: list[Point] = []
    for here, there in zip(outline, outline[1:] + outline[:1], strict=True):
        inside = (here[axis] >= limit) == above
        if inside:
            kept.append(here)
        if inside != ((there[axis] >= limit) == above):
            part = (limit - here[axis]) / (there[axis] - here[axis])
            kept.append((here[0] + part * (there[0] - here[0]), here[1] + part * (there[1] - here[1])))
    return kept


def area(outline: list[Point]) -> float:
    return sum(p[0] * q[1] - q[0] * p[1] for p, q in zip(outline, outline[1:] + outline[:1], strict=True)) / 2


def cut(outline: list[Point], radial: Bins, around: Bins) -> Reals:
    """Return the share in each bin, after any number of turns."""
    found = np.zeros((around.count, radial.count))
    for turn in range(-3, 4):
        turned = [(x, y + 360 * turn) for x, y in outline]
        for row in range(around.count):
            low = around.least + row * around.width
            band = half_plane(half_plane(turned, 1, low, above=True), 1, low + around.width, above=False)
            for column in range(radial.count) if band else ():
                left = radial.least + column * radial.width
                part = half_plane(half_plane(band, 0, left, above=True), 0, left + radial.width, above=False)
                found[row, column] += area(part) / area(outline)
    return found


@pytest.mark.parametrize("around", [Bins(-180, 180, 12), Bins(150, 210, 5), Bins(0, 360, 1), Bins(-300, -20, 4)])
def test_areas_are_those_of_outlines_cut_by_half_planes(around: Bins) -> None:
    random = np.random.default_rng(4)
    centre = np.stack((random.uniform(3, 9, 60), random.uniform(-180, 180, 60)), axis=-1)
    shape = np.array([[-0.5, -4], [0.4, -3], [0.6, 5], [-0.3, 4.0]])
    corners = centre[:, np.newaxis] + shape + random.normal(0, 0.1, (60, 4, 2))
    low, high = corners.min(axis=1), corners.max(axis=1)
    radial = Bins(4, 8, 7)
    boxes = Boxes((low[:, 0], high[:, 0]), (low[:, 1], high[:, 1]))
    made = azimuthal_bins.shares_of_areas(corners, boxes, radial, around)
    for pixel, outline in enumerate(corners.tolist()):
        found = np.zeros(around.count * radial.count)
        np.add.at(found, made.bins[made.pixel == pixel], made.share[made.pixel == pixel])
        expected = cut([tuple(point) for point in outline], radial, around).ravel()
        np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("splitting", ["bbox", "full"])
def test_a_pixel_has_one_share_in_a_bin(tmp_path: Path, splitting: str) -> None:
    """Check pixels in which a circle begins, or that contain the beam, because errors use squares of shares."""
    for rows, start in ((0, -180), (0, 33), (1, 0), (5, 90)):
        sector = {"azimuthal_bins": rows, "azimuth_min": start, "azimuth_max": start + 360}
        made = arrays(Camera(60.5, 80.5), tmp_path, splitting=splitting, **sector)
        pixel = np.repeat(np.arange(SHAPE[0] * SHAPE[1]), np.diff(made["share_ends"].ravel(), prepend=0))
        pairs = np.stack((pixel, made["share_bins"]))
        assert np.unique(pairs, axis=1).shape == pairs.shape


def test_boxes_are_shared_by_length() -> None:
    """Compare with a calculation by hand: radius 1.5 to 3.5 over bins from 0, 1, 2, …; azimuth 170 to 190 over rows of 10 degrees."""
    boxes = Boxes((np.array([1.5]), np.array([3.5])), (np.array([170.0]), np.array([190.0])))
    made = azimuthal_bins.shares_of_boxes(boxes, Bins(0, 5, 5), Bins(-180, 180, 36))
    found = np.zeros((36, 5))
    np.add.at(found.reshape(-1), made.bins, made.share)
    assert found[0].tolist() == [0, 0.125, 0.25, 0.125, 0]
    assert found[35].tolist() == [0, 0.125, 0.25, 0.125, 0]
    assert found.sum() == 1
