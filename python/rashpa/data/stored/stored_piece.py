# SPDX-License-Identifier: Apache-2.0
"""Defines pieces of stored images, and the interface of their readers."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rashpa.data.base.bad_file import BadFileError
from rashpa.data.base.books import DataBooks
from rashpa.data.base.masking_names import MaskedName
from rashpa.data.files.hdf5.files import folders_of
from rashpa.data.geometry.orientation import UPRIGHT, Orientation

PIXELS = ("uint8", "uint16", "uint32", "int16", "int32", "float32")
LARGEST_SIDE = 65536
FACTS = {"frame_number": "uint64", "timestamp_ns": "uint64", "flags": "uint32", "completeness": "uint8"}
"""The fields of Piece for each image, and their types."""


def no_value(dtype: np.dtype[Any]) -> float:
    """Return the value of pixels without a measurement; absent and unstored images consist of it."""
    if dtype.kind == "f":
        return float("nan")
    limits = np.iinfo(dtype)
    return int(limits.max if dtype.kind == "u" else limits.min)


class StoredError(BadFileError):
    """Reports a file that cannot be read as images; the text names file, reason and remedy."""


@dataclass(frozen=True)
class Reading:
    """Describes how stored images are read. `folders`: the folders to which a file may lead, with links resolved, by default its own; `follow`:
    further folders. `allow_missing`: read the present images when some are absent."""

    folders: tuple[Path, ...] = ()
    follow: tuple[Path, ...] = ()
    allow_missing: bool = False

    def folders_for(self, file: Path) -> tuple[Path, ...]:
        """Return the folders to which one file may lead."""
        return self.folders or folders_of(file, self.follow)


@dataclass(frozen=True)
class Piece:
    """Holds some images [image][row][column], and for each the facts that the file has, None for others. Absent images hold no_value()."""

    images: NDArray[Any]
    frame_number: NDArray[np.uint64] | None = None
    timestamp_ns: NDArray[np.uint64] | None = None
    flags: NDArray[np.uint32] | None = None
    completeness: NDArray[np.uint8] | None = None


@dataclass(frozen=True)
class Absent:
    """Holds the images of a file that have no bytes. `images`: their indices; `said`: their number and the reason, by name."""

    images: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    said: str = ""


@dataclass(frozen=True)
class StatedModule:
    """Describes the place of a module in the stored images, in pixels, and its orientation there."""

    x: int
    y: int
    width: int
    height: int
    way: Orientation = UPRIGHT


@dataclass(frozen=True)
class StatedRun:
    """Holds the facts of a run of rashpa. `units`: those of pixels made by a kernel; empty for pixels as the detector sent them. `books`: those of
    the run, compared with the content of its files."""

    units: str = ""
    modules: tuple[StatedModule, ...] = ()
    books: DataBooks = field(default_factory=lambda: DataBooks(0, 0))


@dataclass(frozen=True)
class Stated:
    """Holds the facts that a file states about its images. `masked`: the pixels without a count: "delivered", as detectors mask, or "minimum", only
    the least value of a signed type. `special`: values with their meanings; `run`: None for a file of another writer."""

    masked: MaskedName = "delivered"
    special: tuple[tuple[int, str], ...] = ()
    run: StatedRun | None = None


class Stored(Protocol):
    """Declares a reader of images of one shape and type."""

    @property
    def frames(self) -> int: ...
    @property
    def shape(self) -> tuple[int, int]: ...  # rows, columns
    @property
    def pixel(self) -> str: ...  # NumPy name
    @property
    def absent(self) -> Absent: ...
    @property
    def stated(self) -> Stated: ...
    def read(self, first: int, count: int) -> Piece: ...

    """StoredError when they cannot be read."""

    def close(self) -> None: ...
