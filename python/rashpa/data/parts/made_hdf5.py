# SPDX-License-Identifier: Apache-2.0
"""Writes small HDF5 files from memory, when they are complete. The HDF5 library ends the process when it cannot write to a full disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import h5py

from rashpa.data.parts.staged_files import staged_file


@contextmanager
def made_hdf5(path: Path, base: Path | None = None) -> Iterator[h5py.File]:
    """Yield an HDF5 file in memory, empty or with the content of `base`; write it to `path` when the block ends without an error. Raise OSError when
    writing fails; then `path` is unchanged."""
    mode = "w" if base is None else "r+"
    with h5py.File(base or path, mode, driver="core", backing_store=False) as file:
        yield file
        file.flush()
        image = file.id.get_file_image()
    try:
        with staged_file(path) as made:
            made.write_bytes(image)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
