# SPDX-License-Identifier: Apache-2.0
"""HDF5 files of ours that are small: made in memory, and written when they are whole. HDF5 itself cannot let go of a file for which the disk has no room, and ends the process
that made it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import h5py

from rashpa.data.parts.staged_files import staged_file


@contextmanager
def made_hdf5(path: Path, base: Path | None = None) -> Iterator[h5py.File]:
    """Give a file to be filled, empty or as `base` is; it has the name `path` when the block ends well. Raise OSError, and then nothing has changed."""
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
