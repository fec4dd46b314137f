# SPDX-License-Identifier: Apache-2.0
import io

import numpy as np
from PIL import Image

from rashpa.node.preview import png_of


def _grey(png: bytes) -> list[list[int]]:
    return np.asarray(Image.open(io.BytesIO(png))).tolist()  # type: ignore[no-any-return]


def test_values_that_are_no_measurement_are_black() -> None:
    ints = np.array([[-32768, 32767, 0, 100]], np.int16)
    assert _grey(png_of(ints)) == [[0, 0, 0, 255]]
    floats = np.array([[np.nan, np.inf, -5.0, 100.0]], np.float32)
    assert _grey(png_of(floats)) == [[0, 0, 0, 255]]


def test_an_image_of_nothing_is_black() -> None:
    assert _grey(png_of(np.zeros((2, 2), np.uint16))) == [[0, 0], [0, 0]]
