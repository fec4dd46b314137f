# SPDX-License-Identifier: Apache-2.0
"""Oracles of kernels that count and add pixels: plain loops over integers, by the formulas in docs/kernels.

`good` is True for each pixel that holds a value; other pixels are never read.
"""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.generic]
Good = NDArray[np.bool_]


def values_of(image: Image, good: Good) -> list[int]:
    """Return the good pixels as Python integers, row by row."""
    return [int(value) for value, counts in zip(image.ravel().tolist(), good.ravel().tolist(), strict=True) if counts]


def bragg_count(
    image: Image, good: Good, threshold: int, min_pixels: int, max_pixels: int = 4294967295
) -> tuple[int, str]:
    """Return the number of pixels at or above the threshold, and the reason of the veto, empty when the image is accepted."""
    bright = sum(1 for value in values_of(image, good) if value >= threshold)
    if bright < min_pixels:
        return bright, "too_few"
    return bright, "too_many" if bright > max_pixels else ""


def csr(image: Image, good: Good, threshold: int) -> tuple[list[int], list[int]]:
    """Return indices and values of the pixels at or above the threshold."""
    rows, columns = image.shape
    index, found = [], []
    for row in range(rows):
        for column in range(columns):
            if good[row, column] and int(image[row, column]) >= threshold:
                index.append(row * columns + column)
                found.append(int(image[row, column]))
    return index, found


def total_counts(
    image: Image, good: Good, min_counts: int = 0, max_counts: int = 10**15, max_masked: float = 1
) -> tuple[int, int, str]:
    """Return the sum, the number of masked pixels, and the reason of the veto, empty when the image is accepted."""
    values = values_of(image, good)
    total, masked = sum(values), good.size - len(values)
    if Fraction(masked, good.size) > Fraction(max_masked):
        return total, masked, "too_many_masked"
    if total < min_counts:
        return total, masked, "too_few_counts"
    return total, masked, "too_many_counts" if total > max_counts else ""


def roi_stats(image: Image, good: Good, x: int, y: int, width: int, height: int) -> dict[str, float]:
    """Return sum, mean, least and largest value, and number of pixels of a rectangle. An empty one has no least and largest value."""
    inside = [(row, column) for row in range(y, y + height) for column in range(x, x + width)]
    values = [int(image[place]) for place in inside if good[place]]
    found: dict[str, float] = {"sum": sum(values), "pixels": len(values)}
    found["mean"] = float(Fraction(sum(values), len(values))) if values else math.nan
    if values:
        found |= {"min": min(values), "max": max(values)}
    return found


def accumulate(values: list[Fraction]) -> dict[str, float]:
    """Return the accumulated quantities of one pixel from its values in the images in which it is not masked. Without values there is no `max`."""
    count, total = len(values), sum(values, Fraction(0))
    found = {"sum": float(total), "counted": float(count), "mean": float(total / count) if count else math.nan}
    if count:
        found["max"] = float(max(values))
    squares = sum((one * one for one in values), Fraction(0))
    found["variance"] = float((count * squares - total * total) / (count * (count - 1))) if count > 1 else math.nan
    return found
