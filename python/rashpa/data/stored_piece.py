# SPDX-License-Identifier: Apache-2.0
"""Some stored images, and what reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

PIXELS = ("uint8", "uint16", "uint32", "int16", "int32", "float32")
LARGEST_SIDE = 65536
FACTS = {"frame_number": "uint64", "timestamp_ns": "uint64", "flags": "uint32", "completeness": "uint8"}
"""Of each image: fields of Piece, and their types."""
# What h5py and NumPy raise for a file that contradicts itself.
DAMAGED = (OSError, LookupError, RuntimeError, ValueError, TypeError, ArithmeticError, MemoryError)


class StoredError(ValueError):
    """The file cannot be read as images; the text says which, why and what to try."""


@dataclass(frozen=True)
class Piece:
    """Some images [image][row][column], and what the file says of each; None: it says nothing."""

    images: NDArray[Any]
    frame_number: NDArray[np.uint64] | None = None
    timestamp_ns: NDArray[np.uint64] | None = None
    flags: NDArray[np.uint32] | None = None
    completeness: NDArray[np.uint8] | None = None


class Stored(Protocol):
    """Images of one shape and type."""

    @property
    def frames(self) -> int: ...
    @property
    def shape(self) -> tuple[int, int]: ...  # rows, columns
    @property
    def pixel(self) -> str: ...  # NumPy name
    def read(self, first: int, count: int) -> Piece: ...

    """StoredError when they cannot be read."""

    def close(self) -> None: ...
