# SPDX-License-Identifier: Apache-2.0
"""Reads raw dark frames of each module for calibration: from our own files, from foreign files, or from recordings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rashpa import _native
from rashpa.data.base.books import DataBooks, all_of
from rashpa.data.base.pixel_units import is_made
from rashpa.data.datasets.datasets import CELL_MASK, CELL_SHIFT, CELLS_DIFFER, dataset_from_spec
from rashpa.data.files.file_names import HEADERLESS, is_hdf5
from rashpa.data.parts.run_parts import StoredRunError
from rashpa.data.stored.stored_images import RawShape, open_stored
from rashpa.data.stored.stored_piece import Reading, StatedModule, Stored, StoredError

READING_ERRORS = (StoredRunError, StoredError, _native.ConfigError, _native.FileError, _native.ResourceError)
"""The errors of reading frames besides OSError."""
_PIECE_BYTES = 64 << 20


@dataclass(frozen=True)
class DarkFrames:
    """Holds dark frames. `modules`: for each module, its frames [frame][row][column] in readout order. `books`: counts of the frames that the files
    should have, over all modules."""

    modules: list[NDArray[np.uint16]]
    books: DataBooks
    cells: NDArray[np.uint32]  # storage cell of each frame, 0 where nobody says it

    @property
    def named(self) -> bool:
        """Return True when the frames name storage cells. Frames of cell 0 only may just lack the information."""
        return bool(self.cells.any())


def dark_frames(
    files: Sequence[Path], width: int = 0, height: int = 0, header_bytes: int = 0, follow: Sequence[Path] = ()
) -> DarkFrames:
    """Return dark frames. Files of `rashpa run` hold all modules, foreign files and recordings hold one. Absent frames are left out, and count as
    missing in the books. Raise FileError, ConfigError, StoredError or OSError."""
    if all(is_hdf5(file) for file in files):
        stored = [_of_hdf5(file, follow) for file in files]
        if len({len(one.modules) for one in stored}) > 1:
            raise _native.FileError(f"{files[0]}: the files have different numbers of modules; give them one by one")
        modules = [_joined(files, [one.modules[module] for one in stored]) for module in range(len(stored[0].modules))]
        return DarkFrames(modules, all_of(one.books for one in stored), np.concatenate([one.cells for one in stored]))
    shape = {"width": width, "height": height} if any(_headerless(file) for file in files) else {}
    loaded = dataset_from_spec(
        {"kind": "files", "files": [[str(file) for file in files]], "header_bytes": header_bytes, **shape}, Path.cwd()
    )
    data = loaded.dataset
    _check_raw(files[0], data.pixel)
    frames = np.stack([data.frame(0, number) for number in range(data.frames)])
    return DarkFrames([frames], DataBooks(len(frames), len(frames)), np.zeros(len(frames), np.uint32))


def _headerless(file: Path) -> bool:
    return file.name.lower().removesuffix(".zst").endswith(HEADERLESS)


def _check_raw(file: Path, pixel: str) -> None:
    if pixel != "uint16":
        raise _native.FileError(f"{file}: its pixels are {pixel}; raw words are uint16: run without kernels")


def _of_hdf5(file: Path, follow: Sequence[Path]) -> DarkFrames:
    """Return the frames of one HDF5 file; a separate process reads it, as for all HDF5 files."""
    stored = open_stored([file], RawShape(0, 0, "uint16"), Reading(follow=tuple(follow), allow_missing=True))
    try:
        run = stored.stated.run
        if run is not None and is_made(run.units):
            raise _native.FileError(f"{file}: it holds no raw words; run without kernels, and with keep_darks = true")
        _check_raw(file, stored.pixel)
        there = np.setdiff1d(np.arange(stored.frames, dtype=np.int64), stored.absent.images, assume_unique=True)
        if there.size == 0:
            raise _native.FileError(f"{file}: it holds no images; dark frames are stored with keep_darks = true")
        height, width = stored.shape
        modules = run.modules if run is not None and run.modules else (StatedModule(0, 0, width, height),)
        pieces = list(_pieces(stored, there))
        images = np.concatenate([one for one, _ in pieces])
        flags = np.concatenate([one for _, one in pieces])
        if (flags & CELLS_DIFFER).any():
            raise _native.FileError(
                f"{file}: modules of an image are of different storage cells; start them together, and record again"
            )
        cut = [images[:, one.y : one.y + one.height, one.x : one.x + one.width] for one in modules]
        gone = stored.frames - there.size
        said = (f"{file}: {stored.absent.said}",) if gone else ()
        books = run.books if run is not None else DataBooks(stored.frames, int(there.size), gone, 0, said)
        turned = [one.way.turned_back(part) for one, part in zip(modules, cut, strict=True)]
        return DarkFrames(turned, books, (flags >> CELL_SHIFT & CELL_MASK).astype(np.uint32))
    finally:
        stored.close()


def _pieces(stored: Stored, there: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.uint16], NDArray[np.uint32]]]:
    """Yield the present images and their flags, in pieces of several images."""
    most = max(1, _PIECE_BYTES // (2 * stored.shape[0] * stored.shape[1]))
    for first in range(0, stored.frames, most):
        count = min(most, stored.frames - first)
        wanted = there[(there >= first) & (there < first + count)] - first
        if wanted.size:
            piece = stored.read(first, count)
            flags = np.zeros(count, np.uint32) if piece.flags is None else np.asarray(piece.flags, np.uint32)
            yield np.asarray(piece.images[wanted], np.uint16), flags[wanted]


def _joined(files: Sequence[Path], parts: Sequence[NDArray[np.uint16]]) -> NDArray[np.uint16]:
    if len({part.shape[1:] for part in parts}) > 1:
        sides = ", ".join(f"{part.shape[2]} × {part.shape[1]}" for part in parts)
        raise _native.FileError(f"{files[0]}: the modules of the files have {sides} pixels; give files of one detector")
    return np.concatenate(parts)
