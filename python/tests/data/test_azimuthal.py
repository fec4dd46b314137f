# SPDX-License-Identifier: Apache-2.0
"""The kernel `azimuthal`, compared with pyFAI: 1D and 2D, error models, corrections; and its refusals."""

import io
from functools import cache, partial
from pathlib import Path
from typing import Any

import fabio
import numpy as np
import pytest
import zstandard
from numpy.typing import NDArray

from rashpa import _native
from rashpa.data.geometry.azimuthal_arrays import NO_BIN, azimuthal_arrays
from rashpa.data.geometry.given import MAKERS, Image
from rashpa.data.kernels.pipeline import Pipeline as PlainPipeline
from rashpa.data.kernels.pipeline import kernel_declarations

pytestmark = pytest.mark.whole

pyFAI = pytest.importorskip("pyFAI")  # noqa: N816
Pipeline = partial(PlainPipeline, masked="delivered")  # the images are a detector's
POWDER = Path(__file__).parents[3].parent / "shared/data/powder"
SHAPE = (260, 300)
BINS = 150
PONI = """PixelSize1: 0.000172
PixelSize2: 0.000172
Distance: 0.1
Poni1: 0.023
Poni2: 0.02
Rot1: 0.05
Rot2: -0.03
Rot3: 0.0
Wavelength: 1e-10
"""


@pytest.fixture
def poni(tmp_path: Path) -> Path:
    path = tmp_path / "test.poni"
    path.write_text(PONI)
    return path


def images(count: int = 3) -> NDArray[np.uint16]:
    """Return photons with a few bright pixels, and masked ones."""
    random = np.random.default_rng(3)
    found = random.poisson(np.linspace(0.5, 40, SHAPE[1]), (count, *SHAPE)).astype(np.uint16)
    found[random.random(found.shape) < 1e-3] = 60000
    found[-1, 100:103, 50:60] = 65535
    return found


@cache
def integrator_of(path: Path) -> Any:
    """Return pyFAI's integrator, which caches its tables while their inputs stay the same."""
    return pyFAI.load(str(path))


def beyond(path: Path) -> dict[str, float]:
    """Return a range that contains every pixel whole: at the ends of a range, pyFAI puts parts into wrong bins (test_azimuthal_bins.py)."""
    corners = integrator_of(path).corner_array(SHAPE, unit="q_A^-1")[..., 0]
    return {"radial_min": 0.0, "radial_max": 1.001 * float(corners.max())}


def reached(bounds: dict[str, float]) -> tuple[float, float]:
    """Return the range for pyFAI, which raises the end of a range by this amount."""
    return bounds["radial_min"], bounds["radial_max"] / (1 + float(np.finfo(np.float32).eps))


CIRCLE = (-180.0, 180.0 / (1 + float(np.finfo(np.float32).eps)))


def truth(path: Path, image: NDArray[Any], npt: Any, **options: Any) -> Any:
    """Return pyFAI's result for the image."""
    integrator = integrator_of(path)
    mask = ~np.isfinite(image) if image.dtype.kind == "f" else image == np.iinfo(image.dtype).max
    options = {"unit": "q_A^-1", "mask": mask, "correctSolidAngle": True, **options}
    method = (options.pop("splitting", "no"), "csr", "cython")
    if isinstance(npt, tuple):
        return integrator.integrate2d_ng(image.astype(float), *npt, method=method, **options)
    return integrator.integrate1d_ng(image.astype(float), npt, method=method, **options)


def whole_range(path: Path) -> dict[str, float]:
    """Return the whole range, so that both have the same bins whatever is masked."""
    radius = integrator_of(path).center_array(SHAPE, unit="q_A^-1")
    return {"radial_min": float(radius.min()), "radial_max": float(radius.max())}


@pytest.mark.parametrize("errors", ["none", "poisson", "azimuthal"])
@pytest.mark.parametrize("corrected", [False, True])
def test_profiles_are_those_of_pyfai(poni: Path, errors: str, corrected: bool) -> None:
    given = images()
    bounds = whole_range(poni)
    options: dict[str, Any] = {"solid_angle": corrected, "polarization": corrected, "polarization_factor": 0.97}
    found = Pipeline(
        [{"name": "azimuthal", "poni": str(poni), "bins": BINS, "errors": errors, **bounds, **options}],
        SHAPE,
        threads=2,
    )(given)
    arrays, axes = found.profiles["azimuthal"]
    for number, image in enumerate(given):
        expected = truth(
            poni,
            image,
            BINS,
            error_model=None if errors == "none" else errors,
            radial_range=reached(bounds),
            correctSolidAngle=corrected,
            polarization_factor=0.97 if corrected else None,
        )
        assert axes["radial_axis"] == pytest.approx(expected.radial, rel=1e-6)
        filled = expected.count > 0
        assert np.array_equal(np.isfinite(arrays["I"][number]), filled)
        np.testing.assert_allclose(arrays["I"][number][filled], expected.intensity[filled], rtol=1e-5)
        np.testing.assert_allclose(arrays["norm"][number], expected.sum_normalization, rtol=1e-5)
        assert np.array_equal(arrays["sum_signal"][number], expected.sum_signal)  # integers
        if errors == "none":
            assert np.isnan(arrays["I_errors"]).all()
        else:
            np.testing.assert_allclose(arrays["I_errors"][number][filled], expected.sigma[filled], rtol=1e-5, atol=1e-9)


def test_integers_are_those_of_the_look_up_table_in_64_bits(poni: Path) -> None:
    given = images(20)
    values = _defaults() | {"poni": str(poni), "bins": BINS, "solid_angle": False}
    inputs = azimuthal_arrays(values, Image(*SHAPE))
    found = Pipeline([{"name": "azimuthal", "poni": str(poni), "bins": BINS, "solid_angle": False}], SHAPE)(given)
    bins = inputs["bins"].ravel()
    for number, image in enumerate(given):
        counted = (bins != NO_BIN) & (image.ravel() != 65535)
        table = np.zeros(BINS, np.int64)
        np.add.at(table, bins[counted], image.ravel()[counted].astype(np.int64))
        assert np.array_equal(found.profiles["azimuthal"][0]["sum_signal"][number], table)


def test_two_dimensions(poni: Path) -> None:
    given, bounds = images(), whole_range(poni)
    found = Pipeline([{"name": "azimuthal", "poni": str(poni), "bins": 80, "azimuthal_bins": 36, **bounds}], SHAPE)(
        given
    )
    arrays, axes = found.profiles["azimuthal"]
    assert arrays["I"].shape == (3, 36, 80)
    expected = truth(
        poni, given[0], (80, 36), error_model="poisson", azimuth_range=CIRCLE, radial_range=reached(bounds)
    )
    assert axes["radial_axis"] == pytest.approx(expected.radial, rel=1e-6)
    assert axes["azimuthal_axis"] == pytest.approx(expected.azimuthal, rel=1e-4)
    filled = expected.count > 0
    assert np.array_equal(np.isfinite(arrays["I"][0]), filled)
    np.testing.assert_allclose(arrays["I"][0][filled], expected.intensity[filled], rtol=1e-5)
    np.testing.assert_allclose(arrays["I_errors"][0][filled], expected.sigma[filled], rtol=1e-5)


def relative(found: Any, expected: Any) -> float:
    """Return the largest relative difference where pyFAI's value is not 0."""
    filled = (expected != 0) & np.isfinite(expected)
    return float(np.abs(found[filled] / expected[filled] - 1).max())


@pytest.mark.parametrize("splitting", ["bbox", "full"])
@pytest.mark.parametrize("errors", ["none", "poisson", "azimuthal"])
def test_split_pixels_are_those_of_pyfai(poni: Path, splitting: str, errors: str) -> None:
    given = images(2)
    bounds = beyond(poni)
    near = 1e-5 if splitting == "bbox" else 5e-5  # pyFAI cuts areas in 32 bits
    kernel = {"name": "azimuthal", "poni": str(poni), "bins": BINS, "errors": errors, "splitting": splitting, **bounds}
    arrays, axes = Pipeline([{**kernel, "polarization": True}], SHAPE, threads=2)(given).profiles["azimuthal"]
    for number, image in enumerate(given):
        expected = truth(
            poni,
            image,
            BINS,
            splitting=splitting,
            error_model=None if errors == "none" else errors,
            radial_range=reached(bounds),
            polarization_factor=0.99,
        )
        assert axes["radial_axis"] == pytest.approx(expected.radial, rel=1e-6)
        assert np.array_equal(np.isfinite(arrays["I"][number]), expected.sum_normalization > 0)
        assert relative(arrays["I"][number], expected.intensity) < near
        assert relative(arrays["norm"][number], expected.sum_normalization) < near
        assert relative(arrays["sum_signal"][number], expected.sum_signal) < near
        if errors != "none":
            assert relative(arrays["I_errors"][number], expected.sigma) < 10 * near


@pytest.mark.parametrize("splitting", ["bbox", "full"])
def test_split_pixels_in_two_dimensions(poni: Path, splitting: str) -> None:
    """Compare away from the beam and from the cut at 180 degrees, where pyFAI assigns the whole pixel to one side. Its areas are approximate, in 32
    bits."""
    image, bounds = images(1)[0], beyond(poni)
    kernel = {"name": "azimuthal", "poni": str(poni), "bins": 80, "azimuthal_bins": 36, "splitting": splitting}
    arrays, axes = Pipeline([{**kernel, **bounds}], SHAPE)(image).profiles["azimuthal"]
    expected = truth(
        poni,
        image,
        (80, 36),
        error_model="poisson",
        splitting=splitting,
        azimuth_range=CIRCLE,
        radial_range=reached(bounds),
    )
    assert axes["radial_axis"] == pytest.approx(expected.radial, rel=1e-6)
    assert axes["azimuthal_axis"] == pytest.approx(expected.azimuthal, rel=1e-4)
    there = slice(1, -1), slice(8, None)
    well = expected.sum_normalization[there] > 1
    norm, signal = arrays["norm"][0][there][well], arrays["sum_signal"][0][there][well]
    assert relative(norm, expected.sum_normalization[there][well]) < (1e-5 if splitting == "bbox" else 0.02)
    if splitting == "bbox":
        assert relative(signal, expected.sum_signal[there][well]) < 1e-5


@pytest.mark.parametrize("splitting", ["no", "full"])
def test_float_images_with_masked_pixels(poni: Path, splitting: str) -> None:
    image = images(2)[0].astype(np.float32) * np.float32(1.37) - np.float32(2)
    image[40:42, 60:90] = np.nan
    image[50, 60] = np.inf
    bounds = whole_range(poni) if splitting == "no" else beyond(poni)
    kernel = {"name": "azimuthal", "poni": str(poni), "bins": BINS, "splitting": splitting, **bounds}
    arrays, _ = Pipeline([kernel], SHAPE, np.float32)(image).profiles["azimuthal"]
    expected = truth(
        poni,
        image,
        BINS,
        splitting=splitting,
        error_model="poisson",
        radial_range=reached(bounds),
    )
    assert np.array_equal(np.isfinite(arrays["I"][0]), expected.sum_normalization > 0)
    np.testing.assert_allclose(arrays["I"][0], expected.intensity, rtol=1e-5 if splitting == "no" else 5e-5, atol=1e-6)
    assert relative(arrays["I_errors"][0], expected.sigma) < 5e-5


@pytest.mark.parametrize("pixel", ["uint32", "int32", "int16"])
def test_the_same_counts_in_wider_types_make_the_same_profile(poni: Path, pixel: str) -> None:
    image = np.minimum(images(2)[0], 3000)
    kernel = {"name": "azimuthal", "poni": str(poni), "bins": BINS}
    expected = Pipeline([kernel], SHAPE)(image).profiles["azimuthal"][0]
    found = Pipeline([kernel], SHAPE, pixel)(image.astype(pixel)).profiles["azimuthal"][0]
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values)


def test_profiles_are_summed_over_accepted_images(poni: Path) -> None:
    given = images(5)
    given[2] = 0
    kernel = {"name": "azimuthal", "poni": str(poni), "bins": BINS, "min_intensity": 1.0, "added": "accepted"}
    found = Pipeline([{**kernel, "window": 4}], SHAPE, stack=2)(given)
    assert found.accepted.tolist() == [0, 1, 3, 4]
    each = found.profiles["azimuthal"][0]
    summed = found.accumulated["azimuthal"]
    assert summed["images"].tolist() == [3, 1]
    for window, numbers in enumerate(([0, 1, 3], [4])):
        signal, norm = each["sum_signal"][numbers].sum(axis=0), each["norm"][numbers].sum(axis=0)
        errors = np.sqrt(((each["I_errors"] * each["norm"])[numbers] ** 2).sum(axis=0)) / norm
        filled = norm > 0
        np.testing.assert_allclose(summed["sum_signal"][window], signal, rtol=1e-14)
        np.testing.assert_allclose(summed["I"][window][filled], (signal / norm)[filled], rtol=1e-14)
        np.testing.assert_allclose(summed["I_errors"][window][filled], errors[filled], rtol=1e-14)
        assert summed["counted"][window][filled].max() == len(numbers)


def test_dark_flat_and_mask_are_taken_from_files(poni: Path, tmp_path: Path) -> None:
    random = np.random.default_rng(9)
    dark = random.random(SHAPE).astype(np.float32)
    flat = (0.8 + 0.4 * random.random(SHAPE)).astype(np.float32)
    mask = np.zeros(SHAPE, np.uint8)
    mask[20:30] = 1
    np.save(tmp_path / "dark.npy", dark)
    np.save(tmp_path / "flat.npy", flat)
    fabio.edfimage.EdfImage(data=mask).write(str(tmp_path / "mask.edf"))
    files = {"dark": "dark.npy", "flat": "flat.npy", "mask": "mask.edf"}
    names = {key: str(tmp_path / name) for key, name in files.items()}
    bounds = whole_range(poni)
    kernel = {"name": "azimuthal", "poni": str(poni), "bins": BINS, "errors": "none", **names, **bounds}
    image = images(2)[1]
    arrays, _ = Pipeline([kernel], SHAPE)(image).profiles["azimuthal"]
    expected = truth(
        poni,
        image,
        BINS,
        dark=dark,
        flat=flat,
        mask=(mask != 0) | (image == 65535),
        radial_range=reached(bounds),
    )
    filled = expected.count > 0
    np.testing.assert_allclose(arrays["I"][0][filled], expected.intensity[filled], rtol=1e-5)


def test_the_ring_judges(poni: Path) -> None:
    given = np.zeros((3, *SHAPE), np.uint16)
    given[1] = 10
    given[2] = 1000
    ring = {"ring_min": 1.0, "ring_max": 2.0, "min_intensity": 1.0, "max_intensity": 100.0}
    found = Pipeline([{"name": "azimuthal", "poni": str(poni), "bins": BINS, "solid_angle": False, **ring}], SHAPE)(
        given
    )
    assert [one.reason for one in found] == ["ring_too_weak", "", "ring_too_strong"]
    assert found.columns["ring_intensity"].tolist() == [0.0, 10.0, 1000.0]


@pytest.mark.skipif(not POWDER.is_dir(), reason="no recorded powder data")
def test_the_peaks_of_ceria_lie_where_they_must() -> None:
    with (POWDER / "CeO2_Pilatus1M.tif.zst").open("rb") as packed:
        tif = io.BytesIO(zstandard.ZstdDecompressor().stream_reader(packed).read())
    image = np.flipud(fabio.tifimage.TifImage().read(tif).data).astype(np.int32)
    path = POWDER / "CeO2_Pilatus1M.poni"
    integrator = pyFAI.load(str(path))
    radius = integrator.center_array(image.shape, unit="2th_deg")
    bounds = {"radial_min": float(radius.min()), "radial_max": float(radius.max())}
    kernel = {"name": "azimuthal", "poni": str(path), "bins": 2000, "radial_unit": "2th_deg", **bounds}
    arrays, axes = Pipeline([kernel], image.shape, np.int32)(np.ascontiguousarray(image)).profiles["azimuthal"]
    expected = integrator.integrate1d_ng(
        image,
        2000,
        unit="2th_deg",
        method=("no", "csr", "cython"),
        error_model="poisson",
        mask=image < 0,
        radial_range=reached(bounds),
    )
    filled = expected.count > 0
    np.testing.assert_allclose(arrays["I"][0][filled], expected.intensity[filled], rtol=1e-5)
    np.testing.assert_allclose(arrays["I_errors"][0][filled], expected.sigma[filled], rtol=1e-5)
    two_theta = 2 * np.degrees(np.arcsin(0.4066 / 2 / (5.4113 / np.sqrt(3))))  # 111, wavelength in Å
    near = np.abs(axes["radial_axis"] - two_theta) < 0.3
    peak = axes["radial_axis"][near][np.nanargmax(arrays["I"][0][near])]
    assert peak == pytest.approx(two_theta, abs=0.03)


def _defaults() -> dict[str, Any]:
    return {one["name"]: one.get("default") for one in kernel_declarations()["azimuthal"]["parameters"]}


def test_every_kernel_with_inputs_has_a_maker() -> None:
    with_inputs = {name for name, declared in kernel_declarations().items() if declared["inputs"]}
    assert with_inputs - {"jungfrau"} == set(MAKERS), "the calibration names the cells of jungfrau"


def _wrong(tmp_path: Path, what: str) -> dict[str, Any]:
    kernel: dict[str, Any] = {"name": "azimuthal", "poni": str(tmp_path / "test.poni"), "bins": 20}
    array = np.ones(SHAPE, np.float32)
    array[7, 9] = {"nan": np.nan, "negative": -1}.get(what, 1)
    np.save(tmp_path / "map.npy", array if what != "shape" else array[1:])
    (tmp_path / "text.poni").write_text("no geometry at all\n")
    (tmp_path / "far.poni").write_text(PONI.replace("Distance: 0.1", "Distance: nan"))
    (tmp_path / "spline.poni").write_text(PONI + "SplineFile: /etc/passwd\n")
    (tmp_path / "other.poni").write_text(
        "poni_version: 2\nDetector: Pilatus1M\nDetector_config: {}\nDistance: 0.1\nPoni1: 0\nPoni2: 0\nRot1: 0\nRot2: 0\nRot3: 0\n"
    )
    (tmp_path / "no_wavelength.poni").write_text(PONI.replace("Wavelength: 1e-10\n", ""))
    changes: dict[str, dict[str, Any]] = {
        "missing": {"poni": str(tmp_path / "absent.poni")},
        "text": {"poni": str(tmp_path / "text.poni")},
        "far": {"poni": str(tmp_path / "far.poni")},
        "spline": {"poni": str(tmp_path / "spline.poni")},
        "other": {"poni": str(tmp_path / "other.poni")},
        "no_wavelength": {"poni": str(tmp_path / "no_wavelength.poni")},
        "nan": {"dark": str(tmp_path / "map.npy")},
        "negative": {"flat": str(tmp_path / "map.npy")},
        "shape": {"mask": str(tmp_path / "map.npy")},
        "all": {"mask": str(tmp_path / "map.npy")},
        "range": {"radial_min": 3.0, "radial_max": 2.0},
        "beyond": {"radial_min": 3000.0, "radial_max": 4000.0},
        "ring": {"ring_min": 3000.0, "ring_max": 4000.0},
        "shares": {"splitting": "full", "bins": 65000, "azimuthal_bins": 3000},
    }
    return kernel | changes[what]


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("missing", "poni: .*absent.poni: No such file"),
        ("text", "poni: .*text.poni: "),
        ("far", "poni: .*far.poni: its distance is nan"),
        ("spline", "poni: .*spline.poni: names a further file"),
        ("other", "poni: .*other.poni: is of a detector Pilatus 1M of 981 × 1043 pixels; the images have 300 × 260"),
        ("no_wavelength", "radial_unit: .*has no wavelength, which q_A"),
        ("nan", "dark: .*map.npy: the pixel in row 7, column 9 is nan"),
        ("negative", "flat: .*map.npy: the pixel in row 7, column 9 is -1.0, which is not above 0"),
        ("shape", "mask: .*map.npy: its shape is .*260, 300"),
        ("all", "mask: .*no pixel is left"),
        ("range", "radial_max: 2.0 is not above radial_min"),
        ("beyond", "radial_min: no pixel of "),
        ("ring", "ring_max: no bin lies from 3000 to 4000"),
        ("shares", "splitting: pixels would have about .* million at most; take fewer bins"),
    ],
)
def test_what_cannot_be_is_refused_with_key_file_and_pixel(poni: Path, tmp_path: Path, what: str, words: str) -> None:
    assert poni.is_file()
    with pytest.raises(_native.ConfigError, match=f"kernel azimuthal: {words}"):
        Pipeline([_wrong(tmp_path, what)], SHAPE)
