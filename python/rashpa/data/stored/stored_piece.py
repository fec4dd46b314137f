# SPDX-License-Identifier: Apache-2.0
"""Pieces of stored images, and the interface of their readers."""

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
    """Return the value of pixels without a measurement; absent and unstored images hold it everywhere."""
    if dtype.kind == "f":
        return float("nan")
    limits = np.iinfo(dtype)
    return int(limits.max if dtype.kind == "u" else limits.min)


class StoredError(BadFileError):
    """Reports a file that cannot be read as images; the text says which, why and what to try."""


@dataclass(frozen=True)
class Reading:
    """Describes how stored images are read. `folders`: to which a file may lead, links followed; by default its own folder. `follow`: folders besides.
    `allow_missing`: go on with the images that are there."""

    folders: tuple[Path, ...] = ()
    follow: tuple[Path, ...] = ()
    allow_missing: bool = False

    def folders_for(self, file: Path) -> tuple[Path, ...]:
        """Return the folders of one file."""
        return self.folders or folders_of(file, self.follow)


@dataclass(frozen=True)
class Piece:
    """Holds some images [image][row][column], and the file's facts of each; None: it has none. Absent images hold no_value()."""

    images: NDArray[Any]
    frame_number: NDArray[np.uint64] | None = None
    timestamp_ns: NDArray[np.uint64] | None = None
    flags: NDArray[np.uint32] | None = None
    completeness: NDArray[np.uint8] | None = None


@dataclass(frozen=True)
class Absent:
    """Holds images of a file that have no bytes. `images`: their places; `said`: how many they are, and why, by name."""

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
    """Holds the facts of a run of rashpa. `units`: of pixels that a kernel has made; empty: they are as the detector sent them. `books`: of the run beside
    the content of its files."""

    units: str = ""
    modules: tuple[StatedModule, ...] = ()
    books: DataBooks = field(default_factory=lambda: DataBooks(0, 0))


@dataclass(frozen=True)
class Stated:
    """Holds a file's facts beside its pixels. `masked`: the pixels that hold no count: "delivered", as detectors mask, or "minimum", the least value of a
    signed type alone; `special`: values and their meanings; `run`: None where it is none of ours."""

    masked: MaskedName = "delivered"
    special: tuple[tuple[int, str], ...] = ()
    run: StatedRun | None = None


class Stored(Protocol):
    """Declares images of one shape and type."""

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
