# SPDX-License-Identifier: Apache-2.0
"""Reads stored images in pieces: our own runs, NXmx and EIGER files of other writers, recorded frames, CBF and TIFF.

HDF5 files are read in a separate process under limits (limited_stored.py), because a foreign file may crash the library, or make it loop.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashpa import _native
from rashpa.data.base.bad_file import advised
from rashpa.data.files.file_names import HDF5, IMAGES, absent, is_hdf5, raw_format
from rashpa.data.files.hdf5.tree import Hdf5File
from rashpa.data.files.images import is_image, read_images
from rashpa.data.files.regular_file import open_regular, reason
from rashpa.data.parts.run_parts import LEADS_TO, StoredRunError
from rashpa.data.stored.combined.combined import parts_in
from rashpa.data.stored.foreign_images import Foreign
from rashpa.data.stored.joined_run import JoinedRun, open_parts
from rashpa.data.stored.limited_stored import LimitedStored, Served, serve
from rashpa.data.stored.opened import leads_to
from rashpa.data.stored.reader import Run, open_run
from rashpa.data.stored.run_books import run_books
from rashpa.data.stored.stored_piece import (
    Absent,
    Piece,
    Reading,
    Stated,
    StatedModule,
    StatedRun,
    Stored,
    StoredError,
    no_value,
)

_REASONS = 3
RAW = (".bin", ".npy", ".zst", ".raw", ".dat")
_PART = re.compile(r"data_[0-9]{1,18}")


@dataclass(frozen=True)
class RawShape:
    """Describes files without a description of their own. `header_bytes`: bytes before each frame, 112 for the SLS receiver."""

    height: int
    width: int
    pixel: str
    header_bytes: int = 0


@dataclass(frozen=True)
class Description:
    """Describes the images of a file without their pixels."""

    frames: int
    shape: tuple[int, int]
    pixel: str
    absent: Absent = field(default_factory=Absent)
    stated: Stated = field(default_factory=Stated)


def describe(paths: Sequence[Path], raw: RawShape, reading: Reading | None = None) -> Description:
    """Describe files that belong together. Raise StoredError that names a fault or missing images."""
    with _closing(open_stored(paths, raw, reading)) as stored:
        if is_hdf5(paths[0]):
            # the first and the last: filters are there, and the file does not end early
            for image in {0, stored.frames - 1} if stored.frames else set():
                stored.read(image, 1)
        return Description(stored.frames, stored.shape, stored.pixel, stored.absent, stored.stated)


def open_stored(paths: Sequence[Path], raw: RawShape, reading: Reading | None = None) -> Stored:
    """Open files that belong together: one HDF5 file, or any number of raw files or of image files. Raise StoredError that names the fault."""
    first = paths[0]
    for path in paths:
        _check_regular(path)
    if is_image(first):
        return _ImageFiles(list(paths))
    if is_hdf5(first) and len(paths) == 1:
        return LimitedStored(first, reading)
    if all(path.suffix.lower() in RAW for path in paths):
        return _Raw(list(paths), raw)
    if len(paths) > 1:
        raise StoredError(f"{paths[1]}: only image files, or raw files, make one recording together")
    known = ", ".join((*HDF5, *RAW, ".cbf", ".tif", ".edf"))
    raise StoredError(f"{first}: no file of images by its name; there are {known}")


def _check_regular(path: Path) -> None:
    try:
        open_regular(path).close()
    except FileNotFoundError:
        raise StoredError(f"{path}: {absent(path, (*HDF5, *IMAGES))}") from None
    except (OSError, ValueError) as error:
        said = reason(error) if isinstance(error, OSError) else str(error)
        raise StoredError(advised(f"{path}: {said}", "give a file of images")) from None


class _closing:  # noqa: N801 (as contextlib's, for objects with close() by their protocol alone)
    def __init__(self, stored: Stored) -> None:
        self._stored = stored

    def __enter__(self) -> Stored:
        return self._stored

    def __exit__(self, *_: object) -> None:
        self._stored.close()


# ---- our own runs, NXmx and EIGER files of others --------------------------------------------------------------------------------


def _open_hdf5(path: Path, folders: Sequence[Path], allow_missing: bool) -> Served:
    try:
        stored = _opened(path, folders, allow_missing)
    except StoredRunError as error:
        raise StoredError(str(error)) from None
    except OSError as error:
        raise StoredError(f"{path}: {reason(error)}") from None
    if stored.absent.said and not allow_missing:
        raise StoredError(
            f"{path}: {stored.absent.said}; put there what is missing, or go on without: --allow-missing, dataset.allow_missing"
        )
    return stored


def _opened(path: Path, folders: Sequence[Path], allow_missing: bool) -> Served:
    with Hdf5File(path, folders=folders, kind=StoredError) as file:
        ours, leads = "entry/rashpa" in file, LEADS_TO in file.attrs
    if not leads:
        return _OurRun(open_run(path, folders=folders)) if ours else Foreign(path, folders)
    masters = parts_in(path, folders)
    if len(masters) > 1:
        raise StoredError(f"{path}: {leads_to(masters)}; give the file of one of them")
    if not all(one.exists() for many in masters.values() for one in many):
        return Foreign(path, folders)  # which knows how many images are gone
    (run,) = open_parts(path, folders=folders, whole=not allow_missing).values()
    return _OurRun(run)


class _OurRun:
    """Reads a run of rashpa: its stored images, with frame numbers and flags."""

    def __init__(self, run: Run | JoinedRun) -> None:
        self._run = run
        if run.form == "sparse":
            run.close()
            raise StoredError(
                f"{run.path}: it holds lists of pixels, not images; process the run that holds raw images"
            )
        self.frames = len(run)
        self.shape = run.shape
        self.pixel = run.dtype.name
        rows = np.flatnonzero(run.tables.stored_index >= 0)
        self._rows = rows[np.argsort(run.tables.stored_index[rows])]
        if len(self._rows) != self.frames:
            raise StoredError(f"{run.path}: its tables and its images do not fit each other; copy it again")
        self._absent = run.absent()
        images = np.flatnonzero(np.isin(self._rows, list(self._absent))).astype(np.int64)
        said = _said_of(list(self._absent.values()), images)
        self.absent = Absent(images, said)
        self.stated = Stated(
            "minimum" if run.masked.kind == "minimum" else "delivered",
            tuple(run.special_values.items()),
            _stated_run(run),
        )

    def bytes_of(self, count: int) -> int:
        return count * self.shape[0] * self.shape[1] * np.dtype(self.pixel).itemsize

    def read(self, first: int, count: int) -> Piece:
        rows = self._rows[first : first + count]
        tables = self._run.tables
        try:
            images = np.stack([self._image(first + n, int(row)) for n, row in enumerate(rows)])
        except StoredRunError as error:
            raise StoredError(f"{self._run.path}: images {first} … {first + count - 1}: {error}") from None
        return Piece(
            images,
            tables.frame_number[rows].astype(np.uint64),
            tables.timestamp_ns[rows].astype(np.uint64),
            tables.flags[rows].astype(np.uint32),
            tables.completeness[rows].astype(np.uint8),
        )

    def _image(self, index: int, row: int) -> NDArray[Any]:
        if row not in self._absent:
            return self._run.image(index)
        return np.full(self.shape, no_value(self._run.dtype), self._run.dtype)

    def close(self) -> None:
        self._run.close()


def _stated_run(run: Run | JoinedRun) -> StatedRun:
    one = run if isinstance(run, Run) else run.members[0]
    modules = zip(one.module_places, one.module_orientations, strict=True)
    return StatedRun(run.facts.pixel_units, tuple(StatedModule(*place, way) for place, way in modules), run_books(run))


def _said_of(texts: list[str], images: NDArray[np.int64]) -> str:
    """Return the number of absent images and the first reasons, as text."""
    if not texts:
        return ""
    first = "; ".join(list(dict.fromkeys(texts))[:_REASONS])
    return f"{len(images)} image{'' if len(images) == 1 else 's'} of it {'is' if len(images) == 1 else 'are'} absent: {first}"


# ---- recorded frames, image files ------------------------------------------------------------------------------------------------


class _Raw:
    """Reads frames in sequence, as a receiver wrote them: .bin, .npy, .zst of either."""

    def __init__(self, paths: list[Path], raw: RawShape) -> None:
        says = all(".npy" in map(str.lower, path.suffixes) for path in paths)  # its own shape
        known = all(path.suffix.lower() in (".bin", ".npy", ".zst") for path in paths)
        try:
            self._data = _native.raw_dataset(
                [[str(path) for path in paths]],
                width=0 if says else raw.width,
                height=0 if says else raw.height,
                pixel=raw.pixel,
                format=raw_format([str(path) for path in paths], "auto" if known else "bin"),
                header_bytes=0 if says else raw.header_bytes,
            )
        except (_native.NativeError, ValueError) as error:
            said = str(error).removeprefix("dataset: ")
            raise StoredError(advised(said, "give files of frames that can be read")) from None
        self.frames = self._data.frames
        self.shape = (self._data.height, self._data.width)
        self.pixel = self._data.pixel
        self.absent = Absent()
        self.stated = Stated()

    def read(self, first: int, count: int) -> Piece:
        return Piece(np.stack([self._data.frame(0, first + n) for n in range(count)]))

    def close(self) -> None:
        """Do nothing: no file is open."""


@dataclass
class _ImageFiles:
    """Reads a series of image files of one frame each, or one file of several frames, which stay in memory."""

    paths: list[Path]
    frames: int = field(init=False)
    shape: tuple[int, int] = field(init=False)
    pixel: str = field(init=False)
    absent: Absent = field(default_factory=Absent)
    stated: Stated = field(default_factory=Stated)

    def __post_init__(self) -> None:
        first = self._images(self.paths[:1])
        if len(first) != 1 and len(self.paths) > 1:
            raise StoredError(
                f"{self.paths[0]}: it holds {len(first)} frames; give it alone, or files of one frame each"
            )
        self._several = first if len(first) != 1 else None
        self.frames = max(len(first), len(self.paths))
        self.shape = (int(first.shape[1]), int(first.shape[2]))
        self.pixel = first.dtype.name

    def read(self, first: int, count: int) -> Piece:
        if self._several is not None:
            return Piece(np.ascontiguousarray(self._several[first : first + count]))
        images = self._images(self.paths[first : first + count])
        if images.shape != (count, *self.shape) or images.dtype.name != self.pixel:
            raise StoredError(f"{self.paths[first]}: other frames than those of {self.paths[0].name}")
        return Piece(np.ascontiguousarray(images))

    def _images(self, paths: Sequence[Path]) -> NDArray[Any]:
        try:
            return read_images(paths)
        except _native.FileError as error:
            raise StoredError(str(error).removeprefix("dataset: ")) from None

    def close(self) -> None:
        """Do nothing: no file is open."""


if __name__ == "__main__":
    with os.fdopen(int(sys.argv[2]), encoding="ascii") as asked:
        folders, allow_missing = json.loads(sys.argv[3])
        serve(
            Path(sys.argv[1]), asked, lambda path: _open_hdf5(path, [Path(one) for one in folders], bool(allow_missing))
        )
