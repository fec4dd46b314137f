# SPDX-License-Identifier: Apache-2.0
"""How run files name calibration files. Reading one needs HDF5, naming one does not."""

_SUFFIX = ".h5"


def split_reference(reference: str) -> tuple[str, int | None] | None:
    """Return the file of `FILE.h5` or `FILE.h5:MODULE`, and the module when it is said; None when it is no calibration file."""
    name, separator, module = reference.rpartition(":")
    if separator and name.endswith(_SUFFIX) and module.isdecimal():
        return name, int(module)
    return (reference, None) if reference.endswith(_SUFFIX) else None
