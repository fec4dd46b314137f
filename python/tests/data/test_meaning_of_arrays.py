# SPDX-License-Identifier: Apache-2.0
"""The meaning of numbers in an array: every kernel, every pixel type, arrays with and without masking; NumPy computes the expected results."""

import pickle
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
import rashpa.kernel
from rashpa import _native
from rashpa.data.base.pixels import Masking, Pixels, masking_of, with_masking
from rashpa.data.kernels.pipeline import Found, Pipeline, available_units, kernel_declarations

SHAPE = (48, 130)
TYPES = ("uint8", "uint16", "uint32", "int16", "int32")
UNITS = tuple(name for name, (usable, _) in available_units().items() if usable and name in ("cpu", "opencl"))
WAYS = ("plain", "delivered", "own")
Array = NDArray[Any]


def images_of(pixel: str) -> Array:
    """Return small numbers of both signs, and values that some maskings mark."""
    random = np.random.default_rng(7)
    if pixel == "float32":
        images = random.normal(3, 4, (5, *SHAPE)).astype(np.float32)
        images[random.random(images.shape) < 0.1] = np.nan
        return images
    limits = np.iinfo(pixel)
    images = random.integers(max(limits.min, -9), 90, (5, *SHAPE)).astype(pixel)
    for value in (limits.min, limits.max, limits.max - 1, limits.min + 1, 0, 1):
        images[random.random(images.shape) < 0.03] = value
    images[:, 3:9, 20:90] = np.where(images[:, 3:9, 20:90] % 2 == 0, limits.max, limits.min)
    return images


def counts(images: Array, way: str) -> NDArray[np.bool_]:
    """Return True for pixels that count, by the rules of the documentation."""
    if images.dtype.kind == "f":
        return ~np.isnan(images)
    limits = np.iinfo(images.dtype)
    if way == "plain":
        return np.ones(images.shape, np.bool_)
    if images.dtype.kind == "u":
        return np.asarray(images != limits.max)
    return np.asarray(images >= 0 if way == "delivered" else images != limits.min)


def said(images: Array, way: str) -> dict[str, Any]:
    """Return a kernel's arguments: the array, and its masking."""
    if way == "own":
        if images.dtype.kind == "f":
            return {"images": with_masking(images, Masking("not_a_number"))}
        kind = Masking("minimum") if images.dtype.kind == "i" else Masking("maximum")
        return {"images": with_masking(images, kind)}
    return {"images": images} if way == "plain" else {"images": images, "masked": "delivered"}


def whole(images: Array) -> Array:
    return images.astype(np.float64 if images.dtype.kind == "f" else np.int64)


def check_total(found: Found, images: Array, there: NDArray[np.bool_]) -> None:
    sums = np.where(there, whole(images), 0).sum((1, 2))
    assert found.columns["total_counts"].tolist() == sums.tolist()
    assert found.columns["masked_in_total"].tolist() == (~there).sum((1, 2)).tolist()


def check_bright(found: Found, images: Array, there: NDArray[np.bool_]) -> None:
    assert found.columns["bright_pixels"].tolist() == (there & (images >= 3)).sum((1, 2)).tolist()


def check_list(found: Found, images: Array, there: NDArray[np.bool_]) -> None:
    kept = there & (images >= 3)
    assert np.diff(found.list_ptr.astype(np.int64)).tolist() == kept.sum((1, 2)).tolist()
    np.testing.assert_array_equal(found.list_index, np.concatenate([np.flatnonzero(one) for one in kept]))
    np.testing.assert_array_equal(found.list_value, images[kept])


def check_sums(found: Found, images: Array, there: NDArray[np.bool_]) -> None:
    made = found.accumulated["accumulate"]
    kept = np.where(there, whole(images), 0)
    np.testing.assert_array_equal(made["counted"][0], there.sum(0))
    np.testing.assert_allclose(made["sum"][0], kept.sum(0), rtol=1e-12)
    some = there.any(0)
    least = np.iinfo(np.int64).min if images.dtype.kind != "f" else -np.inf
    np.testing.assert_array_equal(made["max"][0][some], np.where(there, whole(images), least).max(0)[some])
    largest: Any = made["max"]
    assert largest.masked.kind == ("none" if some.all() else "minimum" if images.dtype.kind == "i" else "maximum") or (
        images.dtype.kind == "f"
    )
    two = there.sum(0) > 1
    exact = [
        np.var([int(v) for v in kept[there[:, y, x], y, x]], ddof=1) for y, x in zip(*np.nonzero(two), strict=True)
    ]
    if images.dtype.kind != "f":
        np.testing.assert_allclose(made["variance"][0][two], exact, rtol=1e-6)


def check_regions(found: Found, images: Array, there: NDArray[np.bool_]) -> None:
    for name, part in (("a", np.s_[:, 2:22, 1:118]), ("line", np.s_[:, 5:6, 0:130])):
        values, kept = whole(images[part]), there[part]
        assert found.columns[f"{name}_sum"].tolist() == np.where(kept, values, 0).sum((1, 2)).tolist()
        assert found.columns[f"{name}_pixels"].tolist() == kept.sum((1, 2)).tolist()
        most, least = np.iinfo(np.int64).max, np.iinfo(np.int64).min
        assert found.columns[f"{name}_min"].tolist() == np.where(kept, values, most).min((1, 2)).tolist()
        assert found.columns[f"{name}_max"].tolist() == np.where(kept, values, least).max((1, 2)).tolist()


Check = Callable[[Found, Array, NDArray[np.bool_]], None]
CASES: dict[str, tuple[dict[str, Any], Check]] = {
    "total_counts": ({}, check_total),
    "bragg_count": ({"threshold": 3, "min_pixels": 0}, check_bright),
    "csr": ({"threshold": 3, "capacity": 1.0}, check_list),
    "accumulate": ({"variance": True}, check_sums),
    "roi_stats": ({"regions": "a=1,2,117,20; line=0,5,130,1"}, check_regions),
}


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("pixel", (*TYPES, "float32"))
@pytest.mark.parametrize("kernel", CASES)
def test_a_number_counts_as_the_array_says(kernel: str, pixel: str, unit: str) -> None:
    if pixel not in kernel_declarations()[kernel]["takes"]["pixels"]:
        pytest.skip(f"{kernel} takes no {pixel}")
    values, check = CASES[kernel]
    images = images_of(pixel)
    for way in WAYS:
        check(
            getattr(rashpa.kernel, kernel)(**said(images, way), **values, unit=unit, stack=4),
            images,
            counts(images, way),
        )


@pytest.mark.parametrize("unit", UNITS)
def test_a_sum_below_zero_is_kept_where_no_minimum_is_asked_for(unit: str) -> None:
    images = with_masking(np.array([[[-3, 1]], [[0, 0]], [[1, 1]]], np.int16), Masking("minimum"))
    for least, kept in (None, [0, 1, 2]), (0, [0, 1, 2]), (1, [2]):
        asked: dict[str, Any] = {} if least is None else {"min_counts": least}
        found = rashpa.kernel.total_counts(images, **asked, unit=unit, stack=3)
        assert found.columns["total_counts"].tolist() == [-2, 0, 2]
        assert found.accepted.tolist() == kept


RINGS = 7


def ring_arrays(errors: str) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return bins by column, so that NumPy can add them up without a file."""
    bins = np.broadcast_to(np.arange(SHAPE[1]) * RINGS // SHAPE[1], SHAPE)
    given: dict[str, Array] = {"bins": bins.astype(np.uint32), "norm": np.ones(SHAPE, np.float32)}
    return {"name": "azimuthal", "poni": "none", "bins": RINGS, "errors": errors}, {
        **given,
        "radial_axis": np.arange(RINGS, dtype=np.float64),
    }


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("pixel", (*TYPES, "float32"))
@pytest.mark.parametrize("errors", ["none", "poisson"])
def test_a_number_counts_in_rings_as_the_array_says(errors: str, pixel: str, unit: str) -> None:
    kernel, given = ring_arrays(errors)
    images = np.tile(images_of(pixel), (4, 1, 1))  # so many that they are added side by side
    for way in WAYS:
        arguments = said(images, way)
        pipeline = Pipeline(
            [kernel], SHAPE, pixel, masked=arguments.get("masked"), arrays={"azimuthal": given}, unit=unit
        )
        arrays, _ = pipeline(arguments["images"]).profiles["azimuthal"]
        there = counts(images, way)
        for ring in range(RINGS):
            rows, columns = np.nonzero(given["bins"] == ring)
            signal = np.where(there, whole(images), 0)[:, rows, columns].sum(1)
            np.testing.assert_allclose(arrays["norm"][:, ring], there[:, rows, columns].sum(1, dtype=np.float64))
            np.testing.assert_allclose(arrays["sum_signal"][:, ring], signal, rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("pixel", TYPES)
@pytest.mark.parametrize("kernel", ["peakfinder8", "peakfinder", "sparsify"])
def test_a_spot_of_the_largest_value_is_a_spot_in_a_plain_array(kernel: str, pixel: str, unit: str) -> None:
    limits = np.iinfo(pixel)
    image = np.where(np.indices((64, 64)).sum(0) % 2 == 0, 4, 6).astype(pixel)
    image[20:22, 30:32] = limits.max
    options: dict[str, Any] = {"beam_x": 0.0, "beam_y": 0.0}
    options |= {"threshold": 20.0} if kernel == "peakfinder8" else {"bins": 2, "cutoff": 3.0}
    for way in WAYS:
        found = getattr(rashpa.kernel, kernel)(**said(image, way), **options, unit=unit)
        seen = found.columns["listed_pixels" if kernel == "sparsify" else "n_peaks"][0] > 0
        assert seen == bool(counts(image, way)[20, 30]), way


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("pixel", ["int16", "int32"])
@pytest.mark.parametrize("kernel", ["peakfinder8", "peakfinder", "sparsify"])
def test_a_background_below_zero_is_one_in_a_plain_array(kernel: str, pixel: str, unit: str) -> None:
    image = np.where(np.indices((64, 64)).sum(0) % 2 == 0, -4, -6).astype(pixel)
    image[20:22, 30:32] = 900
    options: dict[str, Any] = {"beam_x": 0.0, "beam_y": 0.0}
    options |= (
        {"threshold": 20.0} if kernel == "peakfinder8" else {"bins": 2, "cutoff": 3.0, "error_model": "azimuthal"}
    )
    for way in ("plain", "own"):
        found = getattr(rashpa.kernel, kernel)(**said(image, way), **options, unit=unit)
        if kernel == "sparsify":
            assert set(found.list_index.tolist()) == {y * 64 + x for y in (20, 21) for x in (30, 31)}
            assert found[0].tables["sparsify"]["background"].min() == pytest.approx(-5, abs=0.5)
        else:
            table = found[0].tables[kernel]
            assert table["background"].tolist() == pytest.approx([-5], abs=0.5)
            assert table["intensity"].tolist() == pytest.approx([4 * 905], rel=0.005)


# ---- what kernels make -------------------------------------------------------------------------------------------------------------


def calibration(shape: tuple[int, int]) -> Any:
    pedestal = np.stack([np.full(shape, one, np.float32) for one in (2500, 13500, 14000)])
    gain = np.stack([np.full(shape, one, np.float32) for one in (41, -1.45, -0.1156)])
    mask = np.zeros(shape, np.uint32)
    mask[10:14, 20:40] = 1
    return types.SimpleNamespace(pedestal=pedestal, gain=gain, mask=mask)


def raw() -> NDArray[np.uint16]:
    return np.random.default_rng(1).integers(2100, 3400, (4, 512, 1024)).astype(np.uint16)


def photons(output: str = "photons") -> Pixels:
    made = rashpa.kernel.jungfrau(raw(), calibration((512, 1024)), photon_energy_kev=4.0, output=output).pixels  # type: ignore[arg-type]
    assert isinstance(made, Pixels)
    return made


@pytest.mark.parametrize("output", ["photons", "kev"])
@pytest.mark.parametrize("second", ["total_counts", "bragg_count", "accumulate", "roi_stats", "csr", "peakfinder8"])
def test_two_functions_find_what_one_pipeline_finds(second: str, output: str) -> None:
    values = {
        **{name: one[0] for name, one in CASES.items()},
        "peakfinder8": {"threshold": 3.0, "min_snr": 3.0, "beam_x": 0.0, "beam_y": 0.0},
    }[second]
    made = photons(output)
    if made.dtype.name not in kernel_declarations()[second]["takes"]["pixels"]:
        pytest.skip(f"{second} takes no {made.dtype.name}")
    first = {"name": "jungfrau", "photon_energy_kev": 4.0, "output": output}
    one = Pipeline([first, {"name": second, **values}], (512, 1024), calibration=calibration((512, 1024)))(raw())
    two = getattr(rashpa.kernel, second)(made, **values)
    three = Pipeline([{"name": second, **values}], made.shape[1:], made.dtype)(made)
    for found in (two, three):
        for name, column in found.columns.items():
            np.testing.assert_array_equal(column, one.columns[name])
        for name, array in found.accumulated.get(second, {}).items():
            np.testing.assert_array_equal(array, one.accumulated[second][name])
        if found.makes_lists:
            np.testing.assert_array_equal(found.list_index, one.list_index)


def test_pixels_of_a_kernel_know_what_is_masked_and_what_passes_them_on_does() -> None:
    made = photons()
    assert made.masked == Masking("minimum")
    assert photons("kev").masked == Masking("not_a_number")
    kept = [
        made[1],
        made[:, 5:],
        made.copy(),
        made.reshape(4, -1),
        made[made[:, 0, 0] > -99],
        pickle.loads(pickle.dumps(made)),
    ]
    assert {masking_of(one) for one in kept} == {made.masked}
    assert np.stack([made[0], made[1]]).masked == np.concatenate([made, made]).masked == made.masked  # type: ignore[attr-defined]
    assert masking_of(np.stack([made[0], np.asarray(made[1])])).kind == "none"
    passed_on = rashpa.kernel.total_counts(made).pixels
    assert passed_on.masked == made.masked
    assert rashpa.kernel.total_counts(np.zeros((2, 2), np.uint16)).pixels.masked == Masking("none")
    assert rashpa.kernel.total_counts(np.zeros((2, 2), np.uint16), masked="delivered").pixels.masked == Masking(
        "maximum"
    )


def test_what_computes_with_pixels_makes_plain_arrays() -> None:
    made = photons()
    changed = made.copy()
    changed += np.int16(1)
    lost = [made + 1, -made, np.asarray(made), made.astype(np.int32), made.view(np.uint16), changed, made.sum(0)]
    assert [masking_of(one).kind for one in lost] == ["none"] * len(lost)
    least = rashpa.kernel.total_counts(np.asarray(made))
    assert least.columns["total_counts"].tolist() == made.astype(np.int64).sum((1, 2)).tolist()
    again = rashpa.kernel.total_counts(np.asarray(made), masked="minimum")
    assert again.columns["masked_in_total"].tolist() == [80] * 4


def test_packed_pixels_are_masked_as_their_detector_does() -> None:
    packed = np.full((1, 4, 12), 0xFF, np.uint8)
    made = rashpa.kernel.unpack(packed, bits="12", module_width=8, module_height=4).pixels
    assert made.masked == Masking("maximum", 4095)
    assert rashpa.kernel.total_counts(made).columns["total_counts"].tolist() == [32 * 4095]
    with pytest.raises(_native.ConfigError, match="above the largest value of uint16 pixels; give 4095 or less"):
        rashpa.kernel.csr(made, threshold=5000)


def test_special_values_are_those_of_a_detector() -> None:
    image = np.array([[-1, -2, 5, 1000, 3]], np.int32)
    found = Pipeline([{"name": "total_counts"}], image.shape, np.int32, special={1000: "saturated"})(image)
    assert found.columns["total_counts"].tolist() == [8]
    assert found.columns["masked_in_total"].tolist() == [3]


@pytest.mark.parametrize(
    ("pixel", "masked", "text"),
    [
        ("uint16", "negative", "masked: uint16 pixels cannot be masked so"),
        ("int16", "maximum", "masked: int16 pixels cannot be masked so"),
        ("float32", "minimum", "masked: float32 pixels cannot be masked so"),
        ("uint16", "not_a_number", "masked: uint16 pixels cannot be masked so"),
        ("uint16", "nonsense", "there is no masking 'nonsense'; choose one of delivered, none, maximum"),
    ],
)
def test_what_a_type_cannot_say_is_refused(pixel: str, masked: str, text: str) -> None:
    kernel = "accumulate"
    with pytest.raises(_native.ConfigError, match=text):
        Pipeline([{"name": kernel}], (4, 4), pixel, masked=masked)


def test_the_case_of_the_issue() -> None:
    """Pass on photons with noise below zero."""
    made = photons()
    found = rashpa.kernel.total_counts(made)
    there = np.asarray(made) != np.iinfo(np.int16).min
    assert found.columns["total_counts"].tolist() == np.where(there, made.astype(np.int64), 0).sum((1, 2)).tolist()
    assert found.columns["masked_in_total"].tolist() == [80] * 4


def test_the_stub_of_kernels_knows_the_word() -> None:
    assert "masked: str | Masking | None" in Path(rashpa.kernel.__file__).with_suffix(".pyi").read_text()
