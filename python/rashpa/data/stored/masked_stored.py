# SPDX-License-Identifier: Apache-2.0
"""Stored images whose bad pixels, by the pixel_mask of their file, hold the value of masked ones: then no kernel of any unit counts them."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashpa.data.base.pixels import bad_pixels
from rashpa.data.stored.stored_piece import Absent, Piece, Stated, Stored, no_value


class MaskedStored:
    """Reads as `stored` does, but for these pixels."""

    def __init__(self, stored: Stored, mask: NDArray[np.uint32]) -> None:
        """Mask the images of `stored`. `mask`: NXmx bits [row][column]."""
        self._stored = stored
        self._bad = np.flatnonzero(bad_pixels(mask))

    @property
    def frames(self) -> int:
        """Return the number of images."""
        return self._stored.frames

    @property
    def shape(self) -> tuple[int, int]:
        """Return rows and columns."""
        return self._stored.shape

    @property
    def pixel(self) -> str:
        """Return the name of the type."""
        return self._stored.pixel

    @property
    def absent(self) -> Absent:
        """Return the images without bytes."""
        return self._stored.absent

    @property
    def stated(self) -> Stated:
        """Return the file's facts beside its pixels."""
        return self._stored.stated

    def read(self, first: int, count: int) -> Piece:
        """Read images. Raise StoredError as `stored` does."""
        piece = self._stored.read(first, count)
        images = piece.images.astype(np.dtype(self.pixel), copy=False)
        return replace(piece, images=self._masked(images)) if self._bad.size else piece

    def close(self) -> None:
        """Close the file."""
        self._stored.close()

    def _masked(self, images: NDArray[Any]) -> NDArray[Any]:
        """Return the same array where its bad pixels are masked already, as detectors do it."""
        value = no_value(images.dtype)
        found = images.reshape(len(images), -1)[:, self._bad]
        if (np.isnan(found) if images.dtype.kind == "f" else found == value).all():
            return images
        changed = images.copy()
        changed.reshape(len(images), -1)[:, self._bad] = value
        return changed
