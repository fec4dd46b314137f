# SPDX-License-Identifier: Apache-2.0
"""Reads stored images with the bad pixels of the file's pixel_mask set to the masked value, so that no kernel counts them."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashpa.data.base.pixels import bad_pixels
from rashpa.data.stored.stored_piece import Absent, Piece, Stated, Stored, no_value


class MaskedStored:
    """Reads images of `stored`, and masks the bad pixels."""

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
        """Return the images that have no bytes."""
        return self._stored.absent

    @property
    def stated(self) -> Stated:
        """Return the facts that the file states about its pixels."""
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
        """Return the images with bad pixels masked as detectors do; the same array when they already are."""
        value = no_value(images.dtype)
        found = images.reshape(len(images), -1)[:, self._bad]
        if (np.isnan(found) if images.dtype.kind == "f" else found == value).all():
            return images
        changed = images.copy()
        changed.reshape(len(images), -1)[:, self._bad] = value
        return changed
