# SPDX-License-Identifier: Apache-2.0
"""Draws images of a run as small PNGs for its report, with few colours and at the size of their display."""

import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rashpa.data.base.pixels import bad_pixels
from rashpa.data.figures.drawn_picture import DrawnPicture, Scale
from rashpa.data.figures.image_values import bounds_of, brightest_image, largest_of_blocks, unit_of
from rashpa.data.stored.reader import Run
from rashpa.data.stored.run_facts import COMPLETENESS

_LINEAR = (1.0, 99.8)  # percentiles


@dataclass(frozen=True)
class Picture:
    """Holds a picture. `values`: the largest of each block of `step` × `step` pixels, NaN where no pixel has a value; `lost`: x, y, width and height
    of lost lines; `peaks`: x, y of each peak; `rings`: x, y, radius in pixels of the detector, and name of each ring."""

    values: NDArray[np.float64]
    step: int
    unit: str
    lost: NDArray[np.float64]
    peaks: NDArray[np.float32] | None = None
    linear: bool = False
    rings: tuple[tuple[float, float, float, str], ...] = ()

    def png(self) -> bytes:
        """Return the picture as PNG: logarithmic colours unless `linear`, grey for pixels without a value, frames with hatching for lost lines."""
        drawn = DrawnPicture(self.values, self.step, self._scale(), self.unit)
        for x, y, width, height in self.lost.tolist():
            drawn.lost(x, y, width, height)
        for ring in self.rings:
            drawn.ring(*ring)
        for x, y in self.peaks[:2].T.tolist() if self.peaks is not None else ():
            drawn.peak(x + 0.5, y + 0.5)
        return drawn.png()

    def _scale(self) -> Scale:
        known = self.values[np.isfinite(self.values)]
        if not self.linear or not known.size:
            return Scale(*bounds_of(self.values), linear=False)
        low, high = np.percentile(known, _LINEAR)
        return Scale(float(low), max(float(high), float(low) + 1), linear=True)


@dataclass(frozen=True)
class StoredPicture:
    """Holds a picture of a stored run, and its description."""

    picture: Picture
    text: str


def brightest(run: Run, side: int) -> StoredPicture | None:
    """Return the stored image with the highest count of the pipeline, reduced to at most `side` values along a side; None when none is stored."""
    if len(run) == 0:
        return None
    index = brightest_image(run)
    row = run.row_of(index)
    pixels = run.image(index)
    values = np.where(run.invalid_of(pixels, index), np.nan, pixels.astype(np.float64))
    picture = reduced(values, side, unit_of(pixels.dtype.kind), _rectangles(run.lost_mask(row)))
    picture = replace(picture, peaks=_peaks_of(run, index))
    column = run.hit_column
    counted = "" if column is None else f", {run.tables.counted(column)[row]:g} {column.replace('_', ' ')}"
    state = COMPLETENESS[run.tables.completeness[row]]
    return StoredPicture(
        picture,
        f"frame {int(run.frame_numbers[index])}, {state}{counted}: the {'newest' if column is None else 'brightest'} stored image",
    )


def _peaks_of(run: Run, index: int) -> NDArray[np.float32] | None:
    """Return x and y of the peaks that the pipeline has found in a stored image, None without a peak finder."""
    try:
        found = run.peaks[index]
    except KeyError:
        return None
    return np.stack([found["x"], found["y"]]).astype(np.float32)


def summed(run: Run, side: int, patience_s: float) -> StoredPicture | None:
    """Return a kernel's accumulated image, or else the sum of stored images, spread over the run, that can be read within `patience_s` seconds."""
    for name, facts in run.accumulation_facts.items():
        quantity = next((known for known in ("sum", "mean") if known in facts.quantities), None)
        if quantity is None or not facts.windows or len(facts.shape) != 2:
            continue
        values = np.asarray(run.accumulated(name, quantity), np.float64)
        values[bad_pixels(run.pixel_mask)] = np.nan
        text = f"{quantity} of {facts.windows[-1].images:,} images, by kernel {name}"
        return StoredPicture(reduced(values, side, unit_of(run.dtype.kind)), text)
    if len(run) == 0:
        return None
    total, known, used = np.zeros(run.shape), np.zeros(run.shape, np.bool_), 0
    ends = time.monotonic() + patience_s
    for index in spread(len(run)):
        pixels = run.image(index)
        valid = ~run.invalid_of(pixels, index)
        np.add(total, pixels, out=total, where=valid)
        known |= valid
        used += 1
        if time.monotonic() > ends:
            break
    total[~known] = np.nan
    what = f"all {used:,} stored images" if used == len(run) else f"{used:,} of {len(run):,} stored images"
    return StoredPicture(reduced(total, side, unit_of(run.dtype.kind)), f"sum of {what}")


def spread(count: int) -> list[int]:
    """Return 0 … count - 1 in an order in which any first part is spread evenly over the range."""
    bits = max(1, (count - 1).bit_length())
    turned = (int(f"{number:0{bits}b}"[::-1], 2) for number in range(1 << bits))
    return [number for number in turned if number < count]


def reduced(values: NDArray[np.float64], side: int, unit: str, lost: NDArray[np.float64] | None = None) -> Picture:
    """Return a picture of `values` [row][column], reduced to at most `side` values along a side; NaN where there is no value. `lost`: rectangles of
    lost lines."""
    step = -(-max(values.shape) // side)
    return Picture(largest_of_blocks(values, step), step, unit, np.zeros((0, 4)) if lost is None else lost)


def _rectangles(lost: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return one rectangle for each group of adjacent rows that have lost the same columns."""
    found: list[list[int]] = []
    for row in np.flatnonzero(lost.any(axis=1)).tolist():
        columns = np.flatnonzero(lost[row])
        first, width = int(columns[0]), int(columns[-1] - columns[0] + 1)
        if found and found[-1][0] == first and found[-1][2] == width and found[-1][1] + found[-1][3] == row:
            found[-1][3] += 1
        else:
            found.append([first, row, width, 1])
    return np.array(found, np.float64).reshape(-1, 4)
