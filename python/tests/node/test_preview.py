# SPDX-License-Identifier: Apache-2.0
import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from rashpa import _native
from rashpa.data.figures.image_view import image_view_of
from rashpa.data.figures.view_bytes import ABSENT, view_of_bytes
from rashpa.node.engine.preview import Masked, Preview, View, png_of, viewed


def _grey(png: bytes) -> list[list[int]]:
    return np.asarray(Image.open(io.BytesIO(png))).tolist()  # type: ignore[no-any-return]


def test_values_that_are_no_measurement_are_black() -> None:
    ints = np.array([[-32768, 32767, 0, 100]], np.int16)
    assert _grey(png_of(ints)) == [[0, 0, 0, 255]]
    floats = np.array([[np.nan, np.inf, -5.0, 100.0]], np.float32)
    assert _grey(png_of(floats)) == [[0, 0, 0, 255]]


def test_an_image_of_nothing_is_black() -> None:
    assert _grey(png_of(np.zeros((2, 2), np.uint16))) == [[0, 0], [0, 0]]


def _preview(pixels: np.ndarray, masked: Masked | None = None, **said: object) -> Preview:
    return Preview(7, 70, 0, False, pixels, masked or Masked(), **said)  # type: ignore[arg-type]


def _seen(preview: Preview, view: View) -> tuple[np.ndarray, dict[str, object]]:
    facts, arrays = view_of_bytes(viewed(preview, view))
    return arrays["image"], facts


def test_a_view_is_the_part_of_the_image_that_was_asked_for() -> None:
    pixels = np.arange(20, dtype=np.int16).reshape(4, 5)
    image, facts = _seen(_preview(pixels), View(x=1, y=2, width=3))
    assert image.tolist() == [[11, 12, 13], [16, 17, 18]]
    assert facts["view"] == [1, 2, 4, 4, 1]
    assert facts["size"] == [5, 4]
    assert facts["index"] == 7
    with pytest.raises(ValueError, match="5 × 4 pixels; none is at 5, 0"):
        viewed(_preview(pixels), View(x=5))


@pytest.mark.parametrize(
    ("dtype", "none", "masked", "made"),
    [
        ("u1", 255, Masked(), "u2"),
        ("u2", 65535, Masked(), "u2"),
        ("i2", -32768, Masked(), "i2"),
        ("i4", -1, Masked(delivered=True), "f4"),
        ("f4", np.nan, Masked(), "f4"),
    ],
)
def test_a_block_is_its_largest_value_and_has_none_only_when_no_pixel_has(
    dtype: str, none: float, masked: Masked, made: str
) -> None:
    pixels = np.array([[1, none, none], [none, 5, none], [2, 3, 4]], dtype)
    image, facts = _seen(_preview(pixels, masked), View(step=2))
    assert image.dtype == np.dtype(made)
    assert facts["kind"] == pixels.dtype.kind
    seen = image_view_of(viewed(_preview(pixels, masked), View(step=2)))
    np.testing.assert_array_equal(seen.values, np.array([[5, np.nan], [3, 4]], np.float32))


def test_gaps_and_special_values_are_masked_whatever_they_hold() -> None:
    pixels = np.array([[0, 4000, 3]], np.uint16)
    gaps = np.array([[True, False, False]])
    image, _ = _seen(_preview(pixels, Masked(True, (4000,), gaps)), View())
    assert image.tolist() == [[65535, 65535, 3]]


@pytest.mark.parametrize("step", [1, 2])
def test_each_block_without_a_value_says_why(step: int) -> None:
    pixels = np.full((6, 8), 7, np.uint16)
    pixels[0:2, 0:2] = 4000  # saturated
    pixels[0:2, 2:4] = 4001  # masked
    pixels[2:4, 0:8] = 65535  # lost
    gaps = np.zeros((6, 8), np.bool_)
    gaps[4:6, 6:8] = True
    preview = replace(_preview(pixels, Masked(False, (4000, 4001), gaps, (4000,))), lost=((0, 2, 8, 2),))
    _, arrays = view_of_bytes(viewed(preview, View(step=step)))
    none = arrays["image"] == 65535
    plane = np.zeros(none.shape, np.uint8)
    plane[none] = arrays["absent"]
    named = np.array(ABSENT)[plane][:: 2 // step, :: 2 // step]
    assert named.tolist() == [
        ["saturated", "masked", "", ""],
        ["lost", "lost", "lost", "lost"],
        ["", "", "", "not written"],
    ]


def test_a_whole_view_has_no_reasons() -> None:
    _, arrays = view_of_bytes(viewed(_preview(np.full((4, 4), 7, np.uint16), Masked()), View(1, 1, 2, 2)))
    assert "absent" not in arrays


def test_peaks_and_curves_come_with_the_view() -> None:
    peaks = {"peakfinder8": {"x": np.array([1.5]), "y": np.array([2.5]), "snr": np.array([9.0])}}
    curve = ({"I": np.array([1.0, 2.0])}, {"radial_axis": np.array([0.1, 0.2])})
    content = viewed(_preview(np.zeros((4, 4), np.int16), tables=peaks, profiles={"azimuthal": curve}), View())
    seen = image_view_of(content)
    assert seen.peaks is not None
    assert seen.peaks.tolist() == [[1.5], [2.5]]
    assert seen.peaks_of == "peakfinder8"
    axis, x, y = seen.curves["azimuthal"]
    assert (axis, x.tolist(), y.tolist()) == ("radial_axis", [0.1, 0.2], [1.0, 2.0])


def test_what_is_not_in_the_image_is_refused_by_the_native_side_too() -> None:
    pixels = np.zeros((4, 5), np.uint16)
    for corners, step in (((0, 0, 6, 4), 1), ((2, 0, 2, 4), 1), ((0, 0, 5, 5), 1), ((0, 0, 5, 4), 0)):
        with pytest.raises(_native.ConfigError, match="no part of 5 × 4"):
            _native.view_of(pixels, corners, step, False)
    with pytest.raises(_native.ConfigError, match="gaps have 2 × 2 pixels"):
        _native.view_of(pixels, (0, 0, 5, 4), 1, False, (), np.zeros((2, 2), np.bool_))
