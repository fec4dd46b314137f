# SPDX-License-Identifier: Apache-2.0
"""Images as they are stored: our own runs, NXmx and EIGER files of others, recorded frames, CBF and TIFF. Read a piece at a time.

HDF5 files are read in a process of their own, under limits (limited_stored.py): a stranger's may crash the library, or make it run for ever.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  registers the filters that images of others need
import numpy as np
from numpy.typing import NDArray

from rashpa import _native
from rashpa.data.file_names import HDF5, NumberingError, in_order, is_hdf5, raw_format
from rashpa.data.images import is_image, read_images
from rashpa.data.limited_stored import LimitedStored, serve
from rashpa.data.reader import Run, open_run
from rashpa.data.regular_file import open_regular, reason
from rashpa.data.run_parts import RunFileError
from rashpa.data.stored_piece import DAMAGED, LARGEST_SIDE, PIXELS, Piece, Stored, StoredError

RAW = (".bin", ".npy", ".zst", ".raw", ".dat")
_PART = re.compile(r"data_[0-9]{1,18}")


@dataclass(frozen=True)
class RawShape:
    """Of files that do not say it themselves. `header_bytes`: before each frame; 112: SLS receiver."""

    height: int
    width: int
    pixel: str
    header_bytes: int = 0


@dataclass(frozen=True)
class Description:
    """What a file holds, without its pixels."""

    frames: int
    shape: tuple[int, int]
    pixel: str


def describe(paths: Sequence[Path], raw: RawShape) -> Description:
    """Of files that belong together. StoredError says what is wrong with them."""
    with _closing(open_stored(paths, raw)) as stored:
        if is_hdf5(paths[0]):
            # the first and the last: filters are there, and the file does not end early
            for image in {0, stored.frames - 1} if stored.frames else set():
                stored.read(image, 1)
        return Description(stored.frames, stored.shape, stored.pixel)


def open_stored(paths: Sequence[Path], raw: RawShape) -> Stored:
    """Files that belong together: one HDF5 file, or any number of raw files or of image files. StoredError says what is wrong."""
    first = paths[0]
    for path in paths:
        _check_regular(path)
    if is_image(first):
        return _ImageFiles(list(paths))
    if is_hdf5(first) and len(paths) == 1:
        return LimitedStored(first)
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
        raise StoredError(f"{path}: no such file") from None
    except (OSError, ValueError) as error:
        raise StoredError(f"{path}: {reason(error) if isinstance(error, OSError) else error}") from None


def _checked_kind(path: Path, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    if len(shape) != 3 or dtype.name not in PIXELS or not all(1 <= side <= LARGEST_SIDE for side in shape[1:]):
        text = " × ".join(map(str, shape)) or "one value"
        raise StoredError(f"{path}: {text} of {dtype} are no images of pixels [image][row][column]")


class _closing:  # noqa: N801 (as contextlib's, for what has close() by its protocol alone)
    def __init__(self, stored: Stored) -> None:
        self._stored = stored

    def __enter__(self) -> Stored:
        return self._stored

    def __exit__(self, *_: object) -> None:
        self._stored.close()


# ---- our own runs, NXmx and EIGER files of others --------------------------------------------------------------------------------


def _open_hdf5(path: Path) -> Stored:
    try:
        with h5py.File(path, "r") as file:
            ours = "entry/rashpa" in file
    except DAMAGED as error:
        raise StoredError(f"{path}: cannot be opened ({error}); is it an HDF5 file, and complete?") from None
    try:
        return _OurRun(open_run(path)) if ours else _Foreign(path)
    except RunFileError as error:
        raise StoredError(str(error)) from None


class _OurRun:
    """A run of rashpa: what was stored, with its frame numbers and flags."""

    def __init__(self, run: Run) -> None:
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

    def read(self, first: int, count: int) -> Piece:
        rows = self._rows[first : first + count]
        tables = self._run.tables
        try:
            images = np.stack([self._run.image(first + n) for n in range(count)])
        except (*DAMAGED, RunFileError) as error:
            raise StoredError(f"{self._run.path}: images {first} … {first + count - 1}: {error}") from None
        return Piece(
            images,
            tables.frame_number[rows].astype(np.uint64),
            tables.timestamp_ns[rows].astype(np.uint64),
            tables.flags[rows].astype(np.uint32),
            tables.completeness[rows].astype(np.uint8),
        )

    def close(self) -> None:
        self._run.close()


@dataclass
class _Part:
    """A dataset of images, and how many lie before it."""

    data: h5py.Dataset
    before: int


class _Foreign:
    """NXmx of others: /entry/data/data, or data_000001 and so on behind links of a master file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = h5py.File(path, "r")
        try:
            self._parts = self._find()
        except BaseException:
            self._file.close()
            raise
        first = self._parts[0].data
        self.shape: tuple[int, int] = (int(first.shape[1]), int(first.shape[2]))
        self.pixel = first.dtype.name
        self.frames = self._parts[-1].before + len(self._parts[-1].data)

    def _find(self) -> list[_Part]:
        group = self._file.get("entry/data")
        if not isinstance(group, h5py.Group):
            raise StoredError(
                f"{self._path}: it has no /entry/data; give an NXmx file, or the master file of a detector"
            )
        names = ["data"] if "data" in group else self._numbered(group)
        parts: list[_Part] = []
        before = 0
        for name in names:
            data = self._dataset(group, name)
            _checked_kind(self._path, data.shape, data.dtype)
            if parts and (data.shape[1:] != parts[0].data.shape[1:] or data.dtype != parts[0].data.dtype):
                raise StoredError(
                    f"{self._path}: /entry/data/{name} has images of another shape or type than the first"
                )
            parts.append(_Part(data, before))
            before += len(data)
        if before == 0:
            raise StoredError(f"{self._path}: it holds no image")
        return parts

    def _numbered(self, group: h5py.Group) -> list[str]:
        """The parts data_1, data_2 … in the order of their numbers."""
        try:
            names = in_order(name for name in group if _PART.fullmatch(name))
        except NumberingError as error:
            raise StoredError(f"{self._path}: /entry/data: {error}; copy the master file again") from None
        if not names:
            raise StoredError(f"{self._path}: there are no images in /entry/data; give the master file")
        if int(names[0].removeprefix("data_")) > 1:
            raise StoredError(
                f"{self._path}: /entry/data begins with {names[0]}, what is before it is missing; give a complete master file"
            )
        return names

    def _dataset(self, group: h5py.Group, name: str) -> h5py.Dataset:
        try:
            data = group[name]
        except (KeyError, OSError) as error:
            link = group.get(name, getlink=True)
            missing = f" {link.filename}" if isinstance(link, h5py.ExternalLink) else ""
            raise StoredError(
                f"{self._path}: /entry/data/{name}: the file{missing} cannot be opened ({error}); put it beside it"
            ) from None
        if not isinstance(data, h5py.Dataset):
            raise StoredError(f"{self._path}: /entry/data/{name} is no dataset")
        return data

    def read(self, first: int, count: int) -> Piece:
        images = np.empty((count, *self.shape), np.dtype(self.pixel))
        try:
            for part in self._parts:
                start, end = max(first, part.before), min(first + count, part.before + len(part.data))
                if start < end:
                    part.data.read_direct(
                        images, np.s_[start - part.before : end - part.before], np.s_[start - first : end - first]
                    )
        except DAMAGED as error:
            raise StoredError(
                f"{self._path}: images {first} … {first + count - 1} cannot be read ({error}); copy it again"
            ) from None
        return Piece(images)

    def close(self) -> None:
        self._file.close()


# ---- recorded frames, image files ------------------------------------------------------------------------------------------------


class _Raw:
    """Frames one after the other, as a receiver wrote them: .bin, .npy, .zst of either."""

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
            raise StoredError(str(error).removeprefix("dataset: ")) from None
        self.frames = self._data.frames
        self.shape = (self._data.height, self._data.width)
        self.pixel = self._data.pixel

    def read(self, first: int, count: int) -> Piece:
        return Piece(np.stack([self._data.frame(0, first + n) for n in range(count)]))

    def close(self) -> None:
        """Nothing is open."""


@dataclass
class _ImageFiles:
    """A series of image files of a frame each."""

    paths: list[Path]
    frames: int = field(init=False)
    shape: tuple[int, int] = field(init=False)
    pixel: str = field(init=False)

    def __post_init__(self) -> None:
        first = self._images(self.paths[:1])
        if len(first) != 1:
            raise StoredError(
                f"{self.paths[0]}: it holds {len(first)} frames; files of one frame each make a recording"
            )
        self.frames = len(self.paths)
        self.shape = (int(first.shape[1]), int(first.shape[2]))
        self.pixel = first.dtype.name

    def read(self, first: int, count: int) -> Piece:
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
        """Nothing is open."""


if __name__ == "__main__":
    with os.fdopen(int(sys.argv[2]), encoding="ascii") as asked:
        serve(Path(sys.argv[1]), asked, _open_hdf5)
