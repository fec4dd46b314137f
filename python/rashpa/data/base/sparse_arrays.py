# SPDX-License-Identifier: Apache-2.0
"""Turns lists of pixels into sparse arrays of SciPy, where it is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rashpa.data.base.extras import missing

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def csr_of(index: NDArray[np.uint32], value: NDArray[Any], shape: tuple[int, int]) -> csr_array:
    """Return listed pixels as an array [row][column] of `shape`, in which unlisted pixels are 0. `index`: row · width + column, in ascending order. Values
    are not copied. Raise MissingExtraError without SciPy, ValueError when the list is not in order or leaves the image."""
    try:
        from scipy.sparse import csr_array  # an extra, which takes 0.2 s to import
    except ImportError as error:
        raise missing("sparse", error) from None
    height, width = shape
    index = np.asarray(index)
    if index.size and (int(index[-1]) >= height * width or not (index[1:] > index[:-1]).all()):
        raise ValueError(
            f"a list of {index.size} pixels is not in ascending order within {width} × {height} pixels; take the list as it is"
        )
    row_ends = np.searchsorted(index, np.arange(height + 1, dtype=np.int64) * width).astype(np.int32)
    made = csr_array((np.asarray(value), (index % width).astype(np.int32), row_ends), shape=shape)
    made.has_canonical_format = True
    return made
