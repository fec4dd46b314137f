# SPDX-License-Identifier: Apache-2.0
"""Images straight from their compressed chunks, on all threads: what HDF5's filter does on one."""

from __future__ import annotations

import os
import threading
from functools import cache
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

try:
    from rashpa import _native
except ImportError:  # where nothing is compiled the filter does it
    _native = None  # type: ignore[assignment]

_FILTER, _LZ4 = 32008, 2
_MOST_THREADS = 8
_busy = threading.Lock()


@cache
def _codec(element_bytes: int) -> Any:
    return _native.BitshuffleLz4(element_bytes, min(_MOST_THREADS, len(os.sched_getaffinity(0))))


def decoded_chunk(images: h5py.Dataset, place: int) -> NDArray[Any] | None:
    """Image `place` of [image][row][column]; None when it is not stored as one bitshuffle-LZ4 chunk, or the chunk is damaged: HDF5 then reads it, or
    says why not."""
    if _native is None or images.chunks != (1, *images.shape[1:]) or not _is_bitshuffled(images):
        return None
    dtype = images.dtype
    if dtype.itemsize not in (1, 2, 4, 8) or dtype.byteorder not in "<|=" or not 0 <= place < len(images):
        return None
    try:
        mask, chunk = images.id.read_direct_chunk((place, *(0 for _ in images.shape[1:])))
    except (OSError, RuntimeError, ValueError):  # no such chunk
        return None
    image = np.empty(images.shape[1:], dtype)
    with _busy:
        good = mask == 0 and _codec(dtype.itemsize).decompress(
            np.frombuffer(chunk, np.uint8), image.reshape(-1).view(np.uint8)
        )
    return image if good else None


def _is_bitshuffled(images: h5py.Dataset) -> bool:
    properties = images.id.get_create_plist()
    if properties.get_nfilters() != 1:
        return False
    number, _, values, _ = properties.get_filter(0)
    return number == _FILTER and len(values) >= 5 and values[4] == _LZ4
