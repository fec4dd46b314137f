# SPDX-License-Identifier: Apache-2.0
"""Parses the names of calibration files, and of other files of arrays, in run files. It needs no HDF5 library."""

from rashpa.data.files.file_names import array_name

_SUFFIXES = (".h5", ".hdf5")


def split_reference(reference: str) -> tuple[str, int | None] | None:
    """Return the file of `FILE.h5` or `FILE.h5:MODULE`, and the module or None. Return None when the reference names no calibration file."""
    name, separator, module = reference.rpartition(":")
    if separator and name.lower().endswith(_SUFFIXES) and module.isdecimal():
        return name, int(module)
    return (reference, None) if reference.lower().endswith(_SUFFIXES) else None


def file_of(reference: str) -> str:
    """Return the file that holds the named array."""
    split = split_reference(reference)
    return split[0] if split else array_name(reference).file
