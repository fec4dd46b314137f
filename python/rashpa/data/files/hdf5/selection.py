# SPDX-License-Identifier: Apache-2.0
"""Maps selections of virtual datasets: rows of the virtual dataset to the rows of the source that hold them."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import h5py
import numpy as np
from numpy.typing import NDArray

from rashpa.data.base.rashpa_error import RashpaError

Box = tuple[tuple[int, int], ...]
"""The first index of each axis, and the one behind the last."""
_MOST_INDICES = 1 << 27
_UNLIMITED = 2**63


class SelectionError(RashpaError, ValueError):
    """Refuses a mapping that is not supported; the text gives the reason."""


def whole(shape: tuple[int, ...]) -> Box:
    """Return the box of a whole array of this shape."""
    return tuple((0, size) for size in shape)


def slices(box: Box) -> tuple[slice, ...]:
    """Return the box as an index for NumPy and h5py."""
    return tuple(slice(first, end) for first, end in box)


def size_of(box: Box) -> tuple[int, ...]:
    """Return the shape of a box."""
    return tuple(end - first for first, end in box)


@dataclass(frozen=True)
class Axes:
    """Describes a selection that is a product of indices for each axis."""

    indices: tuple[NDArray[np.int64], ...]

    @property
    def counts(self) -> tuple[int, ...]:
        """Return the number of indices of each axis."""
        return tuple(len(one) for one in self.indices)


def everything(shape: tuple[int, ...]) -> Axes:
    """Return the selection of a whole array of this shape."""
    return Axes(tuple(_numbers([(0, size)]) for size in shape))


def axes_of(space: h5py.h5s.SpaceID) -> Axes | None:
    """Return the axes of a selection, None when it selects nothing. Raise SelectionError when it is no product of indices."""
    kind = space.get_select_type()
    if kind == h5py.h5s.SEL_NONE:
        return None
    if kind == h5py.h5s.SEL_ALL:
        return everything(space.get_simple_extent_dims())
    if kind != h5py.h5s.SEL_HYPERSLABS:
        raise SelectionError("it maps single points")
    if space.is_regular_hyperslab():
        return Axes(tuple(_regular(*axis) for axis in zip(*space.get_regular_hyperslab(), strict=True)))
    blocks = np.asarray(space.get_select_hyper_blocklist(), np.int64)
    edges = [np.unique(blocks[:, :, axis], axis=0) for axis in range(blocks.shape[2])]
    axes = Axes(tuple(np.unique(_numbers([(int(a), int(b) + 1) for a, b in one])) for one in edges))
    if math.prod(axes.counts) != space.get_select_npoints():
        raise SelectionError("it maps parts that are no product of rows and columns")
    return axes


def is_unlimited(count: int) -> bool:
    """Return True when a count of a selection means unlimited."""
    return count >= _UNLIMITED


def _regular(start: int, stride: int, count: int, block: int) -> NDArray[np.int64]:
    if is_unlimited(count) or is_unlimited(block):
        raise SelectionError("it has no fixed number of images")
    if count * block > _MOST_INDICES:
        raise SelectionError("it maps too many indices")
    if count > 1 and stride == block:
        return _numbers([(start, start + count * block)])
    steps = start + np.arange(count, dtype=np.int64) * stride
    return (steps[:, np.newaxis] + np.arange(block, dtype=np.int64)).reshape(-1)


def _numbers(ranges: list[tuple[int, int]]) -> NDArray[np.int64]:
    if sum(end - first for first, end in ranges) > _MOST_INDICES:
        raise SelectionError("it maps too many indices")
    return np.concatenate([np.arange(first, end, dtype=np.int64) for first, end in ranges] or [np.empty(0, np.int64)])


@dataclass(frozen=True)
class Piece:
    """Holds some rows of the virtual dataset, and the box of the source that contains them. `inside`: the indices within that box, for each axis."""

    rows: NDArray[np.int64]
    box: Box
    inside: tuple[NDArray[np.int64], ...]


class Mapping:
    """Maps rows of the virtual dataset (indices of its first axis) to their places in the source."""

    def __init__(self, target: Axes) -> None:
        self.rows = target.indices[0]
        self._trailing = target.indices[1:]
        self.pixels = math.prod(target.counts[1:])  # of each row

    def lead_to_all(self, shape: tuple[int, ...]) -> None:
        """Map the rows to a whole array of this shape. Its number of images may have changed since the mapping was written."""
        counts = (len(self.rows), *shape[1:])
        self.lead_to(everything(counts if math.prod(counts[1:]) == self.pixels else shape))

    def lead_to(self, source: Axes) -> None:
        """Map the rows to the selection `source`. Raise SelectionError when its parts are no whole rows."""
        if len(self.rows) * self.pixels != math.prod(source.counts):
            raise SelectionError("it maps parts of different sizes")
        counts = source.counts
        splits = [
            axis
            for axis in range(len(counts) + 1)
            if math.prod(counts[:axis]) == len(self.rows) and math.prod(counts[axis:]) == self.pixels
        ]
        if not splits:
            raise SelectionError("its parts are no whole images of the source")
        self._leading = source.indices[: splits[-1]]
        self._inner = source.indices[splits[-1] :]

    def has(self, first: int, end: int) -> bool:
        """Return True when the mapping contains some of the rows `first` … `end` of the virtual dataset."""
        low, high = np.searchsorted(self.rows, (first, end))
        return bool(low < high)

    def pieces(self, first: int, end: int) -> list[Piece]:
        """Return the rows `first` … `end` in pieces; rows that are consecutive in both datasets form one piece."""
        low, high = np.searchsorted(self.rows, (first, end))
        if low == high:
            return []
        if len(self._leading) != 1:
            return [self._piece(n, n + 1) for n in range(int(low), int(high))]
        places = self._leading[0][low:high]
        breaks = np.flatnonzero(np.diff(places) != 1) + 1 + low
        edges = [int(low), *breaks.tolist(), int(high)]
        return [self._piece(a, b) for a, b in itertools.pairwise(edges)]

    def _piece(self, low: int, high: int) -> Piece:
        sizes = tuple(len(one) for one in self._leading)
        places = np.unravel_index(np.arange(low, high), sizes) if sizes else ()
        used = [axis[place] for axis, place in zip(self._leading, places, strict=True)]
        indices = [np.unique(one) for one in used] + list(self._inner)
        box = tuple((int(one[0]), int(one[-1]) + 1) for one in indices)
        return Piece(self.rows[low:high], box, tuple(one - one[0] for one in indices))

    def place(
        self, piece: Piece, values: NDArray[np.generic], into: NDArray[np.generic], first: int, columns: Box
    ) -> None:
        """Copy `values`, the box of `piece`, into `into`, which holds rows of the virtual dataset from `first` on, and `columns` of its other axes."""
        picked = _picked(values, piece.inside).reshape(len(piece.rows), *(len(one) for one in self._trailing))
        inner = [(one >= low) & (one < high) for one, (low, high) in zip(self._trailing, columns, strict=True)]
        if not all(mask.all() for mask in inner):
            picked = _picked(picked, (np.arange(len(piece.rows)), *(np.flatnonzero(mask) for mask in inner)))
        target = [one[mask] - low for one, mask, (low, _) in zip(self._trailing, inner, columns, strict=True)]
        indices = [piece.rows - first, *target]
        if all(_steps_by_one(one) for one in indices):
            into[tuple(slice(int(one[0]), int(one[-1]) + 1) if len(one) else slice(0, 0) for one in indices)] = picked
        else:
            into[np.ix_(*indices)] = picked


def _picked(values: NDArray[np.generic], indices: tuple[NDArray[np.int64], ...]) -> NDArray[np.generic]:
    if all(len(one) == size for one, size in zip(indices, values.shape, strict=True)):
        return values
    return values[np.ix_(*indices)]


def _steps_by_one(indices: NDArray[np.int64]) -> bool:
    return len(indices) == 0 or int(indices[-1]) - int(indices[0]) == len(indices) - 1
