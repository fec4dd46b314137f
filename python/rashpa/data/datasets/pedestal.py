# SPDX-License-Identifier: Apache-2.0
"""Computes pedestals of a JUNGFRAU module from dark frames of one forced gain: robust means, their RMS, and the pixels to mask."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rashpa.data.base.rashpa_error import RashpaError

CODES = (0, 1, 3)  # of G0, G1, G2 in bits 15:14
DEAD = 2  # NXmx pixel_mask bit 1
NOISY = 16  # bit 4
LEAST_FRAMES = 20
_ADU = 0x3FFF
_READOUT_ERRORS = (0xFFFF, 0x4000)
_ROWS = 16  # at once: bounded memory, whatever the number of frames
_OUTLIER = 6.0  # robust σ from the median of a pixel: a cosmic ray, a fluorescence photon
_MOST_OUTLIERS = 0.5  # of the frames of a pixel
_MOST_WRONG = 0.05  # of the pixels; the gain was not forced, or the files are those of another one
_NOISY = 10.0  # robust σ above the median RMS of the module
_MAD = 1.4826


class PedestalError(RashpaError):
    """Reports frames from which no pedestal can be computed; the text gives the reason."""


@dataclass(frozen=True)
class PedestalMap:
    """Holds the pedestal map of one gain in ADU, NaN where there is none. `bad`: NXmx pixel_mask bits."""

    pedestal: NDArray[np.float32]
    rms: NDArray[np.float32]
    bad: NDArray[np.uint32]
    outliers: int  # values that were left out, of all


def pedestal_of(
    words: NDArray[np.uint16],
    gain: int,
    what: str,
    least: int = LEAST_FRAMES,
    is_at: Callable[[float], object] = float,
) -> PedestalMap:
    """Compute the pedestal from `words` [frame][row][column] of a module in gain 0, 1 or 2; `what` names the frames in messages. Each pixel gets mean
    and standard deviation of its values within 6 robust σ (1.4826 · median absolute deviation) of their median. Words of another gain are left out. A
    pixel with values in less than half of the frames has no pedestal. `is_at` is called with the share of finished rows. Raise PedestalError when
    there are too few frames, or when most are of another gain."""
    frames, height, width = words.shape
    if frames < least:
        raise PedestalError(f"{what}: {frames} frames; at least {least} are needed, {least - frames} are lacking")
    pedestal, rms = (np.full((height, width), np.nan, np.float32) for _ in range(2))
    usable = np.zeros((height, width), np.intp)
    other = np.zeros(4, np.int64)
    outliers = 0
    for rows in _blocks(height):
        is_at(rows.start / height)
        block = np.ascontiguousarray(words[:, rows])
        right = (block >> 14) == CODES[gain]
        for error in _READOUT_ERRORS:
            right &= block != error
        other += np.bincount((block >> 14).ravel(), minlength=4)
        values = np.where(right, (block & _ADU).astype(np.float32), np.float32(np.nan))
        usable[rows] = right.sum(axis=0)
        found, outliers_here = _robust(values)
        pedestal[rows], rms[rows] = found
        outliers += outliers_here
    trusted = usable >= frames * _MOST_OUTLIERS
    if (wrong := 1 - trusted.mean()) > _MOST_WRONG:
        shares = ", ".join(
            f"{100 * other[code] / other.sum():.0f} % {name}"
            for code, name in zip((0, 1, 3, 2), ("G0", "G1", "G2", "the illegal code"), strict=True)
            if other[code]
        )
        raise PedestalError(
            f"{what}: {100 * wrong:.0f} % of the pixels are not in G{gain} (words: {shares}); give frames with G{gain} forced"
        )
    pedestal[~trusted] = rms[~trusted] = np.nan
    bad = np.where(trusted & (rms > 0), 0, DEAD).astype(np.uint32)
    good = rms[bad == 0]
    if good.size:
        middle = np.median(good)
        spread = _MAD * np.median(np.abs(good - middle))
        with np.errstate(invalid="ignore"):
            bad[rms > middle + _NOISY * max(spread, 0.05 * middle)] |= NOISY
    return PedestalMap(pedestal, rms, bad, outliers)


def _blocks(height: int) -> Iterator[slice]:
    for first in range(0, height, _ROWS):
        yield slice(first, min(first + _ROWS, height))


def _robust(values: NDArray[np.float32]) -> tuple[tuple[NDArray[np.float32], NDArray[np.float32]], int]:
    """Return mean and standard deviation over the frames, without NaN and outliers, and the number of outliers."""
    count = np.isfinite(values).sum(axis=0)
    order = np.sort(values, axis=0)  # NaN last
    middle = _median_of_sorted(order, count)
    deviation = np.sort(np.abs(values - middle), axis=0)
    spread = np.maximum(_MAD * _median_of_sorted(deviation, count), np.float32(1.0))
    with np.errstate(invalid="ignore"):
        kept = np.abs(values - middle) <= _OUTLIER * spread
    left = np.maximum(kept.sum(axis=0), 1)
    far = np.where(kept, values - middle, 0).astype(np.float64)
    mean = far.sum(axis=0) / left
    variance = (far * far).sum(axis=0) / left - mean * mean
    rms = np.sqrt(np.maximum(variance, 0) * left / np.maximum(left - 1, 1))
    empty = count == 0
    result = ((middle + mean).astype(np.float32), rms.astype(np.float32))
    for one in result:
        one[empty] = np.nan
    return result, int(np.isfinite(values).sum() - kept.sum())


def _median_of_sorted(order: NDArray[np.float32], count: NDArray[np.intp]) -> NDArray[np.float32]:
    """Return the median of the first `count` values of each column."""
    low = np.maximum(count - 1, 0) // 2
    high = np.minimum(count // 2, np.maximum(count - 1, 0))
    pair = [np.take_along_axis(order, at[np.newaxis], axis=0)[0] for at in (low, high)]
    middle: NDArray[np.float32] = ((pair[0] + pair[1]) * np.float32(0.5)).astype(np.float32)
    return middle
