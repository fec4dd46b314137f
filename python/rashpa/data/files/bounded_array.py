# SPDX-License-Identifier: Apache-2.0
"""Reads arrays from foreign files: the expected shape limits reading and decompression, whatever the file states."""

import contextlib
import io
import math
import os
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
import zstandard
from numpy.typing import NDArray

from rashpa.data.files.file_names import HEADERLESS, ArrayName
from rashpa.data.files.regular_file import open_regular

_LONGEST_HEADER = 10_000
_MOST_ENTRIES = 1000  # of an archive that are looked at
_NUMBERS = "fiub"
_ZIP_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # those of numpy.savez; others may ask for gigabytes
_MOST_NAMES = 10
_PACKED = ".zst"


def is_plain(file: str) -> bool:
    """Return True when the name is that of a NumPy file or of a headerless file."""
    return file.lower().removesuffix(_PACKED).endswith((".npy", ".npz", *HEADERLESS)) or not Path(file).suffix


def read_array(name: ArrayName, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return the array of `shape` in a `.npy` or headerless file, a `.zst` of either, or an `.npz` (the named array, or the only one that fits).
    Headerless bytes are `dtype`; other files may have another number type. Raise the errors of the operating system, zip and zstd, and ValueError for
    other faults."""
    lower = name.file.lower()
    with open_regular(name.file) as file:
        if lower.endswith(".npz"):
            with zipfile.ZipFile(file) as archive, _member(archive, name, shape) as member:
                return _read_npy(member, shape)
        inner = lower.removesuffix(_PACKED)
        if inner == lower:
            return _read(file, inner, dtype, shape)
        with zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True) as unpacked:
            return _read(unpacked, inner, dtype, shape)


def _read(file: Any, name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    if name.endswith(".npy"):
        return _read_npy(file, shape)
    if isinstance(file, io.BufferedReader):
        _check_size(os.fstat(file.fileno()).st_size, dtype, shape)
    return _read_numbers(file, dtype, shape, "C")


def _check_size(size: int, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    """Raise ValueError for a file of a wrong size. The text says so when the size fits the same number of values of another type."""
    count = math.prod(shape)
    if size == count * dtype.itemsize:
        return
    others = {1: "8 bits", 2: "16 bits", 4: "32 bits", 8: "float64"}
    other = others.get(size // count) if size % count == 0 else None
    hint = (
        f"; that is one number of {other} a pixel: save it as {dtype.name}, or by numpy.save as .npy" if other else ""
    )
    raise ValueError(f"it has {size} bytes; {dtype.name} {list(shape)} has {count * dtype.itemsize}{hint}")


def _member(archive: zipfile.ZipFile, name: ArrayName, shape: tuple[int, ...]) -> IO[bytes]:
    entries = {entry.filename.removesuffix(".npy"): entry for entry in archive.infolist()}
    key = name.inner or _only(archive, entries, shape, Path(name.file).name)
    if key not in entries:
        named = ", ".join(list(entries)[:_MOST_NAMES]) + (", …" if len(entries) > _MOST_NAMES else "")
        raise ValueError(f"no array '{key}'; the archive has {named}")
    return _opened(archive, key, entries[key])


def _opened(archive: zipfile.ZipFile, key: str, entry: zipfile.ZipInfo) -> IO[bytes]:
    if entry.compress_type not in _ZIP_METHODS:
        raise ValueError(f"'{key}' is compressed by zip method {entry.compress_type}; numpy.savez_compressed deflates")
    return archive.open(entry)


def _only(archive: zipfile.ZipFile, entries: dict[str, zipfile.ZipInfo], shape: tuple[int, ...], file: str) -> str:
    """Return the key of the only numeric array of that shape. Raise ValueError when there is none, or several."""
    shapes = {}
    for key, entry in list(entries.items())[:_MOST_ENTRIES]:
        with _opened(archive, key, entry) as member, contextlib.suppress(ValueError):
            shapes[key] = _header(member)[0]
    fitting = [key for key, found in shapes.items() if found == shape]
    if len(fitting) == 1 and len(entries) <= _MOST_ENTRIES:
        return fitting[0]
    named = [f"{file}:{key} {list(found)}" for key, found in shapes.items()][:_MOST_NAMES]
    raise ValueError(
        f"{len(fitting)} of its arrays have the shape {list(shape)}; name one: {', '.join(named) or 'there is none'}"
    )


def _header(file: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, order and type of a `.npy` file of numbers."""
    version = np.lib.format.read_magic(file)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f".npy version {version[0]}.{version[1]} is not read; save plain numbers with numpy.save")
    found, fortran, dtype = readers[version](file, max_header_size=_LONGEST_HEADER)
    if dtype.kind not in _NUMBERS:
        raise ValueError(f"it holds {dtype}, not numbers")
    return found, fortran, dtype


def _read_npy(file: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    found, fortran, dtype = _header(file)
    if found != shape:
        raise ValueError(f"its shape is {list(found)}; {list(shape)} is needed")
    return _read_numbers(file, dtype, shape, "F" if fortran else "C")


def _read_numbers(file: Any, dtype: np.dtype[Any], shape: tuple[int, ...], order: Any) -> NDArray[Any]:
    """Read exactly the bytes of the array. Raise ValueError when there are fewer or more; at most one more is decompressed."""
    data = np.empty(shape, dtype, order)
    bytes_ = data.reshape(-1, order="A").view(np.uint8).data
    at = 0
    while at < len(bytes_) and (got := file.readinto(bytes_[at:])):
        at += got
    if at < len(bytes_) or file.read(1):
        found = f"{at}" if at < len(bytes_) else f"more than {at}"
        raise ValueError(f"{found} bytes; {dtype.name} {list(shape)} has {len(bytes_)}")
    return data
