# SPDX-License-Identifier: Apache-2.0
"""Reads a master's facts about the pixels of all images: values that are no counts, pixels that never hold one, and the places of lost lines. They
are valid also while the file is written."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rashpa.data.base.pixels import Masking, Pixels, bad_pixels, delivered, with_masking
from rashpa.data.files.hdf5.tree import Group
from rashpa.data.stored.densify import masked_value
from rashpa.data.stored.run_facts import LostRun
from rashpa.data.stored.stored_facts import text_of


class ImageFacts:
    """Reads the facts of a master's entry. Most arrays are read at once, rarely used ones on demand."""

    def __init__(self, entry: Group) -> None:
        """Read the entry. Raise LookupError or ValueError when it is not that of a run."""
        self._rashpa: Group = entry["rashpa"]
        detector = entry["instrument/detector"]
        self.pixel_mask: NDArray[np.uint32] = detector["pixel_mask"][()]
        self.shape = cast("tuple[int, int]", self.pixel_mask.shape)
        self.least, self.most = (
            detector[name][()] if name in detector else None for name in ("underload_value", "saturation_value")
        )
        """The least and the largest value of a measurement; None where the file names none."""
        self.special_values = self._special()

    def _special(self) -> dict[int, str]:
        group = self._rashpa.get("special_values")
        if group is None:
            return {}
        names = (text_of(name) for name in group["meaning"][()])
        return dict(zip(group["value"][()].tolist(), names, strict=True))

    def masked(self, dtype: np.dtype[Any]) -> Masking:
        """Return the masking that the file states for pixels of `dtype`."""
        if dtype.kind == "i" and self.least is not None and self.least < 0:
            return Masking("minimum")
        if dtype.kind == "f":
            return delivered(dtype)
        special = [value for value in self.special_values if value > 0]
        return delivered(dtype)._replace(largest_count=min(special) - 1 if special else None)

    @cached_property
    def gap_or_bad(self) -> NDArray[np.bool_]:
        """Return True for pixels at which no image holds a measurement."""
        return bad_pixels(self.pixel_mask)

    def lost(self, runs: Iterable[LostRun]) -> NDArray[np.bool_]:
        """Return True for the pixels of lost lines. Without the table of DTPs their places are unknown, and all values are False."""
        lost = np.zeros(self.shape, dtype=np.bool_)
        for run in runs if "dtps" in self._rashpa else ():
            places, line_rows = self._dtp_places
            x, y, width = places[run.dtp]
            first, end = run.first_line, run.first_line + run.lines
            top, bottom = (line_rows[run.dtp][first], line_rows[run.dtp][end]) if line_rows else (y + first, y + end)
            lost[top:bottom, x : x + width] = True
        return lost

    @cached_property
    def _dtp_places(self) -> tuple[dict[int, tuple[int, int, int]], dict[int, Any]]:
        """Return two dicts by DTP id: x, y and width; and the row of each line, for DTPs with lines that are not in sequence."""
        dtps = self._rashpa["dtps"]
        columns = (dtps[name][()].tolist() for name in ("id", "x", "y", "width"))
        places = {number: (x, y, width) for number, x, y, width in zip(*columns, strict=True)}
        line_rows = dict(zip(places, dtps["line_rows"][()].tolist(), strict=True)) if "line_rows" in dtps else {}
        return places, line_rows

    def described(self, pixels: NDArray[Any]) -> Pixels:
        """Return a dense image as Pixels, with its masking."""
        return with_masking(pixels, self.masked(pixels.dtype))

    def expanded(self, index: NDArray[np.uint32], values: NDArray[Any], runs: Iterable[LostRun]) -> Pixels:
        """Return an image from listed pixels: unlisted pixels are 0, masked and lost ones hold the masked value."""
        image = np.zeros(self.shape, values.dtype)
        image.ravel()[index] = values
        return self.described(self.without_measurement(image, runs))

    def without_measurement(self, image: NDArray[Any], runs: Iterable[LostRun]) -> NDArray[Any]:
        """Return the image with unmeasured pixels set to the masked value."""
        value = masked_value(image.dtype)
        image[self.gap_or_bad] = value
        image[self.lost(runs)] = value
        return image
