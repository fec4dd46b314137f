# SPDX-License-Identifier: Apache-2.0
"""Bad pixels of stored images hold the masked value before kernels see them."""

from typing import Any

import numpy as np
import pytest

from rashpa.data.stored.masked_stored import MaskedStored
from rashpa.data.stored.stored_piece import Piece

MASK = np.array([[0, 1], [1 << 16, 4]], np.uint32)  # bit 16 is of a pixel that is measured


class Stored:
    """Holds images in memory."""

    def __init__(self, images: np.ndarray) -> None:
        self.images = images
        self.pixel = images.dtype.name

    def read(self, first: int, count: int) -> Piece:
        return Piece(self.images[first : first + count])


def read(images: np.ndarray, mask: np.ndarray = MASK) -> np.ndarray:
    stored: Any = Stored(images)
    return MaskedStored(stored, mask).read(0, len(images)).images


@pytest.mark.parametrize(
    ("dtype", "value"), [("uint8", 255), ("uint16", 65535), ("int32", -(2**31)), ("float32", np.nan)]
)
def test_bad_pixels_hold_the_value_of_their_type(dtype: str, value: float) -> None:
    images = np.arange(8).reshape(2, 2, 2).astype(dtype)
    found = read(images)
    np.testing.assert_array_equal(found, np.array([[[0, value], [2, value]], [[4, value], [6, value]]], dtype))
    assert images[0, 0, 1] == 1  # the stored ones are as they were


def test_images_that_are_masked_already_are_not_copied() -> None:
    images = np.array([[[1, 65535], [2, 65535]]], np.uint16)
    assert np.shares_memory(read(images), images)
    assert np.shares_memory(read(images, np.zeros_like(MASK)), images)
