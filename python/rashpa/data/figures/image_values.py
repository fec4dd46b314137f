# SPDX-License-Identifier: Apache-2.0
"""Prepares values of images for display, for any drawing program."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashpa.data.stored.joined_run import JoinedRun
from rashpa.data.stored.reader import Run

MASKED_COLOUR = "#5c6670"


def brightest_image(run: Run | JoinedRun) -> int:
    """Return the index of the stored image with the most bright pixels, or the highest of the pipeline's last counts. Without such counts, return the
    newest image."""
    stored = run.tables.stored_index
    if run.hit_column is not None:
        bright = np.zeros(len(run), dtype=np.float64)
        bright[stored[stored >= 0]] = run.tables.counted(run.hit_column)[stored >= 0].clip(min=0)
        return int(bright.argmax())
    return max(0, len(run) - 1)


def unit_of(kind: str, arriving: bool = False) -> str:
    """Return the unit of pixels. `kind`: the kind of their type, in NumPy's letters; unsigned pixels are the detector's own counts."""
    return "counts as they arrived" if arriving else {"i": "photons", "f": "keV", "u": "counts"}[kind]


def blocks(values: NDArray[Any], step: int, fill: Any) -> NDArray[Any]:
    """Return the values in blocks, [row][column][step · step]; incomplete blocks at the edges are filled with `fill`."""
    rows, columns = (-(-n // step) for n in values.shape)
    padded = np.full((rows * step, columns * step), fill, dtype=values.dtype)
    padded[: values.shape[0], : values.shape[1]] = values
    return padded.reshape(rows, step, columns, step).swapaxes(1, 2).reshape(rows, columns, step * step)


def largest_of_blocks(values: NDArray[np.float64], step: int) -> NDArray[np.float64]:
    """Return the largest value of each block of `step` × `step` values, NaN for a block without values."""
    if step == 1:
        return values
    largest = np.max(np.nan_to_num(blocks(values, step, np.nan), nan=-np.inf, posinf=np.inf), axis=2)
    largest[np.isneginf(largest)] = np.nan
    return np.asarray(largest)


def bounds_of(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the limits of a logarithmic colour scale: about the smallest positive value, and the largest value except for a few outliers."""
    positive = values[np.isfinite(values) & (values > 0)]
    if positive.size == 0:
        return 0.5, 1.0
    low, high = np.percentile(positive, [1, 99.98])
    high = max(float(high), 2 * float(low))
    # Counts start at 1: room below makes single photons well visible on black. Raw images have a pedestal, keV a noise near 0.
    return max(float(low) / (5 if low < 20 else 1.1), high / 1e4), high
