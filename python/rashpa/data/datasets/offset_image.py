# SPDX-License-Identifier: Apache-2.0
"""Reads the offset image that an emulator subtracts from the frames of a module."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashpa.data.files.array_file import read_array_file


def read_offset(name: str, pixel: str, shape: tuple[int, int]) -> NDArray[Any]:
    """Return the image of `shape`, (height, width), with the pixel type of the frames. Raise OSError, or ValueError that begins with the name."""
    dtype = np.dtype(pixel)
    found = read_array_file(name, dtype, shape)
    if found.dtype.newbyteorder("=") != dtype:
        raise ValueError(
            f"{name}: holds {found.dtype.name}, and the detector's pixels are {pixel}; store it as {pixel}"
        )
    return np.ascontiguousarray(found, dtype)
