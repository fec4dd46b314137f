# SPDX-License-Identifier: Apache-2.0
"""Reads virtual datasets from the arrays that hold their images. This module opens the sources, each after a check; the HDF5 library opens none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
from numpy.typing import NDArray

from rashpa.data.base.bad_file import blaming
from rashpa.data.files.hdf5.layouts import Absence, Place
from rashpa.data.files.hdf5.selection import Axes, Box, Mapping, SelectionError, axes_of, size_of
from rashpa.data.files.hdf5.source_names import check_gap, sources_of

if TYPE_CHECKING:
    from rashpa.data.files.hdf5.tree import Array

Find = Callable[[str, str], "Array | Absence"]
"""The array of a file by both names."""


@dataclass
class _Part:
    """Holds the rows of the virtual dataset that one source has."""

    mapping: Mapping
    file: str
    name: str
    find: Find
    axes: Axes | None  # None: all of the source
    _found: Array | Absence | None = field(default=None)

    @property
    def source(self) -> Array | Absence:
        if self._found is None:
            self._found = self.find(self.file, self.name)
            if self.axes is not None:
                self.mapping.lead_to(self.axes)
            elif not isinstance(self._found, Absence):
                self.mapping.lead_to_all(self._found.shape)
        return self._found

    def missing(self, first: int, end: int) -> Absence | None:
        """Return the reason why rows of this part in `first` … `end` have no bytes, None when all have some."""
        if not self.mapping.has(first, end):
            return None
        source = self.source
        if isinstance(source, Absence):
            return source
        return next(filter(None, (source.layout.absent(piece.box) for piece in self.mapping.pieces(first, end))), None)


class Virtual:
    """Reads a dataset that is composed of other arrays."""

    def __init__(self, place: Place, find: Find) -> None:
        self._place = place
        properties = place.data.id.get_create_plist()
        self._parts: list[_Part] = []
        with blaming(str(place), place.files.kind):
            for n in range(properties.get_virtual_count()):
                file = properties.get_virtual_filename(n)
                with self._mapped(file):
                    space = properties.get_virtual_srcspace(n)
                    source = None if space.get_select_type() == h5py.h5s.SEL_ALL else axes_of(space)
                    sources = list(sources_of(properties, n, place.data.shape))
                    check_gap(place.held.path.parent, file, len(sources))
                self._parts += [_Part(Mapping(one.target), one.file, one.name, find, source) for one in sources]
            self._fill = place.data.fillvalue
        self._covered = self._coverage(place.data.shape)

    def _coverage(self, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Return, for each row, the number of its values that the parts hold."""
        if not shape:
            return np.array([sum(part.mapping.pixels for part in self._parts)])
        if shape[0] > _MOST_ROWS:
            raise self._place.wrong(f"{shape[0]} images are impossible; copy it again")
        covered = np.zeros(shape[0], np.int64)
        for part in self._parts:
            rows = part.mapping.rows
            covered[rows[rows < shape[0]]] += part.mapping.pixels
        return covered

    def absent(self, box: Box) -> Absence | None:
        if short := self._place.behind(box):
            return short
        if 0 in size_of(box):
            return None
        first, end = box[0] if box else (0, 1)
        if int(self._covered[first:end].min()) < max(1, int(self._covered.max(initial=0))):
            return Absence("unwritten", f"{self._place}: no file is named for it")
        for part in self._parts:
            with self._mapped(part.file):
                if (missing := part.missing(first, end)) is not None:
                    return missing
        return None

    @contextmanager
    def _mapped(self, file: str) -> Iterator[None]:
        try:
            yield
        except SelectionError as error:
            raise self._place.wrong(f"it leads to {file}: {error}; copy its images into one dataset") from None

    def read(self, box: Box) -> NDArray[Any]:
        found = np.full(size_of(box), self._fill, self._place.data.dtype)
        first, end = box[0] if box else (0, 1)
        for part in self._parts:
            if not part.mapping.has(first, end):
                continue
            source = part.source
            if isinstance(source, Absence):
                raise self._place.wrong(source.text)
            for piece in part.mapping.pieces(first, end):
                part.mapping.place(piece, source.layout.read(piece.box), found, first, box[1:])
        return found

    def gaps(self, box: Box) -> NDArray[np.bool_] | None:
        """Return True for values of a box that no part holds and that are therefore fill values. Return None when there are none, or when the file
        defines its own fill value."""
        if not box or self._fill != 0:
            return None
        found = np.ones(size_of(box), np.bool_)
        first, end = box[0]
        for part in self._parts:
            if not part.mapping.has(first, end) or isinstance(part.source, Absence):
                continue
            layout = part.source.layout
            for piece in part.mapping.pieces(first, end):
                inner = layout.gaps(piece.box) if isinstance(layout, Virtual) else None
                values = np.zeros(size_of(piece.box), np.bool_) if inner is None else inner
                part.mapping.place(piece, values, found, first, box[1:])
        return found if found.any() else None


_MOST_ROWS = 1 << 27
