# SPDX-License-Identifier: Apache-2.0
"""Decompresses chunks to no more than they declare. The declared size of a chunk is checked before any HDF5 filter allocates memory for it."""

from __future__ import annotations

import bz2
import os
import struct
import threading
import zlib
from dataclasses import dataclass
from functools import cache
from typing import Any

import h5py
import numpy as np
import zstandard
from numpy.typing import NDArray

from rashpa.data.base.rashpa_error import RashpaError

try:
    from rashpa import _native
except ImportError:  # where nothing is compiled HDF5's filter does it
    _native = None  # type: ignore[assignment]

_DEFLATE, _SHUFFLE, _FLETCHER32, _SZIP, _NBIT, _SCALEOFFSET = 1, 2, 3, 4, 5, 6
_BZIP2, _BLOSC, _LZ4, _BITSHUFFLE, _ZSTD, _BLOSC2 = 307, 32001, 32004, 32008, 32015, 32026
_BITSHUFFLE_LZ4, _BITSHUFFLE_ZSTD = 2, 3
_SPARE = 4096
"""Bytes that filters may add to a chunk: checksums, headers."""
_MOST_THREADS = 8
_SIZES = {_SZIP: ("<I", 0), _BLOSC: ("<I", 4), _LZ4: (">Q", 0), _BITSHUFFLE: (">Q", 0), _BLOSC2: (">Q", 30)}
"""The places in a filter's output that state its unpacked size."""
_busy = threading.Lock()


class ChunkError(RashpaError, ValueError):
    """Reports a chunk that does not decompress to its declared size; the text gives the reason."""


@dataclass(frozen=True)
class Filter:
    """Describes one filter of a dataset's filter pipeline, which is in the order of writing."""

    number: int
    values: tuple[int, ...]


def filters_of(properties: h5py.h5p.PropDCID) -> tuple[Filter, ...]:
    """Return the filter pipeline of a dataset."""
    found = (properties.get_filter(n) for n in range(properties.get_nfilters()))
    return tuple(Filter(number, tuple(values)) for number, _, values, _ in found)


def unpacked(
    pipeline: tuple[Filter, ...], mask: int, chunk: bytes, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> NDArray[Any] | None:
    """Return the values of a chunk of `shape`, None when the HDF5 library must decompress it and is known to take no more memory than declared. Raise
    ChunkError when it is damaged, or would expand too far."""
    wanted = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    most = wanted + _SPARE
    used = [one for n, one in enumerate(pipeline) if not mask >> n & 1]
    if len(chunk) > wanted + wanted // 2 + 16 * _SPARE:
        raise ChunkError(f"it has {len(chunk)} bytes, and declares {wanted}")
    if len(used) == 1 and (image := _bitshuffle_lz4(used[0], chunk, shape, dtype)) is not None:
        return image
    data = chunk
    by_hdf5 = False
    for one in reversed(used):
        if one.number == _DEFLATE:
            data = _inflated(zlib.decompressobj(), data, most)
        elif one.number == _BZIP2:
            data = _inflated(bz2.BZ2Decompressor(), data, most)
            by_hdf5 = True
        elif one.number == _SHUFFLE and not by_hdf5:
            data = _unshuffled(data, one.values[0] if one.values else dtype.itemsize)
        elif one.number == _FLETCHER32:
            data = data[:-4]
            by_hdf5 = True  # which compares the checksum
        else:
            _check_said(one, data, most)
            return None
    if by_hdf5:
        return None
    if len(data) != wanted:
        raise ChunkError(f"it unpacks to {len(data)} bytes, and declares {wanted}")
    return np.frombuffer(data, dtype).reshape(shape)


def _inflated(unpacker: Any, data: bytes, most: int) -> bytes:
    try:
        out: bytes = unpacker.decompress(data, most + 1)
    except (OSError, ValueError, zlib.error) as error:
        raise ChunkError(f"it does not unpack ({error})") from None
    if len(out) > most:
        raise ChunkError(f"it unpacks to more than the {most - _SPARE} bytes that it declares")
    if not unpacker.eof:
        raise ChunkError("it ends early")
    return out


def _unshuffled(data: bytes, size: int) -> bytes:
    whole = len(data) // size if size > 0 else 0
    if size < 2 or whole < 2:
        return data
    values = np.frombuffer(data, np.uint8, whole * size).reshape(size, whole)
    return values.T.tobytes() + data[whole * size :]


def _check_said(one: Filter, data: bytes, most: int) -> None:
    """Check that the filter takes no more memory than the chunk declares. Raise ChunkError."""
    if one.number in (_NBIT, _SCALEOFFSET):  # they take what the dataset says of itself
        said = one.values[2] * one.values[4] if len(one.values) > 4 else most + 1
    elif one.number == _ZSTD:
        said = _zstd_size(data)
    elif one.number in _SIZES:
        if one.number == _BITSHUFFLE and (
            len(one.values) < 5 or one.values[4] not in (_BITSHUFFLE_LZ4, _BITSHUFFLE_ZSTD)
        ):
            return  # only shuffled
        form, at = _SIZES[one.number]
        if len(data) < at + struct.calcsize(form):
            raise ChunkError("it ends early")
        said = struct.unpack_from(form, data, at)[0]
    else:  # unknown here: readers of strangers' files are under limits
        return
    if said > most:
        raise ChunkError(f"it would unpack to {said} bytes, and declares {most - _SPARE}")


def _zstd_size(data: bytes) -> int:
    try:
        return max(0, zstandard.frame_content_size(data))
    except zstandard.ZstdError as error:
        raise ChunkError(f"it does not unpack ({error})") from None


@cache
def _codec(element_bytes: int) -> Any:
    return _native.BitshuffleLz4(element_bytes, min(_MOST_THREADS, len(os.sched_getaffinity(0))))


def _bitshuffle_lz4(one: Filter, chunk: bytes, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any] | None:
    """Decompress on all threads, while HDF5's filter uses one. Return None for another filter, or when HDF5 is to report the fault."""
    if _native is None or one.number != _BITSHUFFLE or len(one.values) < 5 or one.values[4] != _BITSHUFFLE_LZ4:
        return None
    if dtype.itemsize not in (1, 2, 4, 8) or dtype.byteorder not in "<|=" or dtype.kind not in "iufb":
        return None
    image = np.empty(shape, dtype)
    with _busy:
        good = _codec(dtype.itemsize).decompress(np.frombuffer(chunk, np.uint8), image.reshape(-1).view(np.uint8))
    return image if good else None
