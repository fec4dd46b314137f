# SPDX-License-Identifier: Apache-2.0
"""Computes the values of the `pattern` dataset with NumPy, independently of the code that sends them."""

import numpy as np
from numpy.typing import NDArray

_VALUES = {
    "uint8": 0xFE,
    "uint16": 0xFFFE,
    "uint32": 0xFFFFFFFE,
    "int16": 0x7FFE,
    "int32": 0x7FFFFFFE,
    "float32": 0xFFFFFE,
}
PIXELS = tuple(_VALUES)


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    with np.errstate(over="ignore"):
        x = x + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


def pattern_frame(pixel: str, module: int, frame: int, height: int, width: int) -> NDArray[np.generic]:
    """Return the expected frame [height][width] of the pattern: values from 1 to the type's largest − 1, a hash of module, frame, row and column
    (src/rashpa/dataset/pattern_dataset.hpp). `frame`: the frame number modulo the number of frames in the dataset."""
    rows = np.arange(height, dtype=np.uint64) | np.uint64(module << 32)
    lines = _mix(_mix(np.array([frame], np.uint64)) ^ rows)
    with np.errstate(over="ignore"):
        positions = np.add.outer(lines, np.arange(width, dtype=np.uint64)).astype(np.uint64)
    scaled = (_mix(positions) >> np.uint64(32)) * np.uint64(_VALUES[pixel])
    return (np.uint64(1) + (scaled >> np.uint64(32))).astype(pixel)
