# SPDX-License-Identifier: Apache-2.0
"""Arrays from files that may come from anywhere: the shape that is expected bounds what is read and unpacked, whatever the file says."""

import zipfile
from typing import IO, Any

import numpy as np
import zstandard
from numpy.typing import NDArray

from rashpa.data.regular_file import open_regular

_LONGEST_HEADER = 10_000
_NUMBERS = "fiub"
_ZIP_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # what numpy.savez writes; others may ask for gigabytes
_MOST_NAMES = 10


def read_array(reference: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """The array of `shape` that `reference` names: `.npy`, headerless, `.zst` of either, or `archive.npz:key`. Headerless bytes are `dtype`;
    `.npy` and `.npz` may have another type of numbers. Raises what the operating system, zip and zstd raise, ValueError for the rest."""
    name, separator, key = reference.rpartition(":")
    if separator and name.endswith(".npz"):
        with open_regular(name) as file, zipfile.ZipFile(file) as archive, _member(archive, key) as member:
            return _read_npy(member, shape)
    if reference.endswith(".npz"):
        raise ValueError("say which array of the archive: file.npz:key")
    with open_regular(reference) as file:
        inner = reference.removesuffix(".zst")
        if inner == reference:
            return _read(file, inner, dtype, shape)
        with zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True) as unpacked:
            return _read(unpacked, inner, dtype, shape)


def _read(file: Any, name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    return _read_npy(file, shape) if name.endswith(".npy") else _read_numbers(file, dtype, shape, "C")


def _member(archive: zipfile.ZipFile, key: str) -> IO[bytes]:
    entries = {entry.filename.removesuffix(".npy"): entry for entry in archive.infolist()}
    if key not in entries:
        named = ", ".join(list(entries)[:_MOST_NAMES]) + (", …" if len(entries) > _MOST_NAMES else "")
        raise ValueError(f"no array '{key}'; the archive has {named}")
    entry = entries[key]
    if entry.compress_type not in _ZIP_METHODS:
        raise ValueError(f"'{key}' is compressed by zip method {entry.compress_type}; numpy.savez_compressed deflates")
    return archive.open(entry)


def _read_npy(file: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    version = np.lib.format.read_magic(file)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f".npy version {version[0]}.{version[1]} is not read; save plain numbers with numpy.save")
    found, fortran, dtype = readers[version](file, max_header_size=_LONGEST_HEADER)
    if dtype.kind not in _NUMBERS:
        raise ValueError(f"it holds {dtype}, not numbers")
    if found != shape:
        raise ValueError(f"its shape is {list(found)}; {list(shape)} is needed")
    return _read_numbers(file, dtype, shape, "F" if fortran else "C")


def _read_numbers(file: Any, dtype: np.dtype[Any], shape: tuple[int, ...], order: Any) -> NDArray[Any]:
    """Exactly the bytes of the array: one more is an error, and what follows it is never unpacked."""
    data = np.empty(shape, dtype, order)
    bytes_ = data.reshape(-1, order="A").view(np.uint8).data
    at = 0
    while at < len(bytes_) and (got := file.readinto(bytes_[at:])):
        at += got
    if at < len(bytes_) or file.read(1):
        found = f"{at}" if at < len(bytes_) else f"more than {at}"
        raise ValueError(f"{found} bytes; {dtype.name} {list(shape)} has {len(bytes_)}")
    return data
