# SPDX-License-Identifier: Apache-2.0
"""Finds the images of a run in raw files (docs/reference/raw_files.md), and reads their pixels with a check of their CRC32C."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rashpa.data.files.hdf5.files import Files
from rashpa.data.files.hdf5.tree import Group
from rashpa.data.files.regular_file import reason
from rashpa.data.parts.run_parts import StoredRunError, data_file

try:
    from rashpa import _native
except ImportError:  # where nothing is compiled images are read unchecked
    _native = None  # type: ignore[assignment]

_PIXELS = ("uint8", "uint16", "uint32", "int16", "int32", "float32")
_MOST_PIXELS = 1 << 30


class RawPlaces:
    """Finds raw images by row of the run's tables. The files may be foreign."""

    def __init__(self, rashpa: Group, master: Path, folders: tuple[Path, ...]) -> None:
        group = rashpa["raw"]
        pixel = group.attrs["pixel"]
        name = pixel.decode("ascii", "replace") if isinstance(pixel, bytes) else str(pixel)
        self._shape = cast("tuple[int, int]", tuple(int(side) for side in group.attrs["image_shape"]))
        if name not in _PIXELS or len(self._shape) != 2 or not 0 < self._shape[0] * self._shape[1] <= _MOST_PIXELS:
            raise StoredRunError(
                f"{master}: it says images of {self._shape} {name}, which is impossible; copy it again"
            )
        self.dtype: np.dtype[Any] = np.dtype(name).newbyteorder("<")
        self._master = master
        self._files = Files(folders, StoredRunError)
        self._file: NDArray[np.uint32] = rashpa["stored_file"][()]
        columns = {column: group[column][()] for column in ("offset", "length", "crc32c")}
        if any(len(values) != len(self._file) for values in columns.values()):
            raise StoredRunError(
                f"{master}: /entry/rashpa/raw has another number of rows than the tables; copy it again"
            )
        self._offset, self._length, self._crc = columns["offset"], columns["length"], columns["crc32c"]
        self.stored_bytes = int(self._length.sum(dtype=np.uint64))

    def absent(self, rows: NDArray[np.intp]) -> dict[int, str]:
        """Return, by row, the reason for each image that is beyond the end of its file; pixels are not read."""
        found: dict[int, str] = {}
        for number in np.unique(self._file[rows]):
            path = data_file(self._master, int(number), "raw")
            of_file = rows[self._file[rows] == number]
            try:
                with self._files.opened(path)[0] as file:
                    size = os.fstat(file.fileno()).st_size
            except (OSError, ValueError) as error:
                why = reason(error) if isinstance(error, OSError) else str(error)
                found |= dict.fromkeys(of_file.tolist(), f"{path}: {why}")
                continue
            # in this order: offsets of a file may be more than 64 bits hold
            short = (self._offset[of_file] > size) | (
                self._length[of_file] > size - np.minimum(self._offset[of_file], size)
            )
            found |= {row: f"{path}: it ends before image {row} does" for row in of_file[short].tolist()}
        return found

    def image(self, row: int) -> NDArray[Any]:
        """Read the image of a stored row. Raise StoredRunError when it is absent or damaged."""
        path = data_file(self._master, int(self._file[row]), "raw")
        wanted = self._shape[0] * self._shape[1] * self.dtype.itemsize
        try:
            with self._files.opened(path)[0] as file:
                file.seek(int(self._offset[row]))
                data = file.read(wanted)
        except FileNotFoundError:
            raise StoredRunError(f"{path}: this part of {self._master.name} is not there; put it beside it") from None
        except (OSError, OverflowError, ValueError) as error:
            why = reason(error) if isinstance(error, OSError) else error
            raise StoredRunError(f"{path}: {why}") from None
        whole = len(data) == wanted == int(self._length[row])
        if not whole or (_native is not None and _native.crc32c(data) != int(self._crc[row])):
            raise StoredRunError(f"{path}: the image of row {row} is not what was written; copy the file again")
        return np.frombuffer(data, self.dtype).reshape(self._shape).copy()
