# SPDX-License-Identifier: Apache-2.0
"""The pattern computed with NumPy is the one that the native dataset plays."""

import numpy as np
import pytest

from rashpa.sim.pattern import PIXELS, pattern_frame

_native = pytest.importorskip("rashpa._native")


@pytest.mark.parametrize("pixel", PIXELS)
def test_numpy_and_native_pattern_agree_in_every_pixel(pixel: str) -> None:
    data = _native.pattern_dataset(width=37, height=11, pixel=pixel, modules=3, frames=4)
    assert (data.width, data.height, data.pixel, data.modules, data.frames) == (37, 11, pixel, 3, 4)
    for module in range(3):
        for frame in range(4):
            expected = pattern_frame(pixel, module, frame, 11, 37)
            assert expected.dtype == pixel
            np.testing.assert_array_equal(data.frame(module, frame), expected)


def test_known_values_stay_as_they_are() -> None:
    assert pattern_frame("uint16", 0, 0, 1, 1)[0, 0] == 9091
    assert pattern_frame("uint16", 1, 2, 4, 5)[3, 4] == 4478
    assert pattern_frame("uint32", 7, 1_000_000, 512, 1024)[511, 1023] == 1062029588


def test_the_pattern_is_never_zero_and_never_the_largest_value() -> None:
    values = np.stack([pattern_frame("uint8", 0, n, 64, 64) for n in range(20)])
    assert values.min() == 1
    assert values.max() == 254
