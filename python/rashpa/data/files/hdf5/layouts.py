# SPDX-License-Identifier: Apache-2.0
"""Finds the bytes of an array: in its own file, contiguous or in chunks, in files of plain bytes, or in other arrays. Each layout reports absent
parts, and reads present ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol

import h5py
import numpy as np
from numpy.typing import NDArray

from rashpa.data.base.bad_file import BadFileError, blaming
from rashpa.data.files.hdf5.files import Files, Held
from rashpa.data.files.hdf5.filters import ChunkError, filters_of, unpacked
from rashpa.data.files.hdf5.selection import Box, size_of, slices

Kind = Literal["file", "short", "unwritten"]


@dataclass(frozen=True)
class Absence:
    """Gives the reason why bytes are absent: their file is missing, it ends early, or they were never written. `text` names the file."""

    kind: Kind
    text: str


class Layout(Protocol):
    """Declares the access to the bytes of one array. A box is a range of indices for each axis."""

    def absent(self, box: Box) -> Absence | None:
        """Return the reason why a part of the box has no bytes, None when all are present."""

    def read(self, box: Box) -> NDArray[Any]:
        """Return the values of a box; its bytes must be present."""


@dataclass(frozen=True)
class Place:
    """Holds a dataset and its file."""

    files: Files
    held: Held
    data: h5py.Dataset

    def __str__(self) -> str:
        return f"{self.held.path}: {self.data.name}"

    def wrong(self, why: str) -> BadFileError:
        """Return the error that names the dataset and the fault `why`."""
        return self.files.kind(f"{self}: {why}")

    def behind(self, box: Box) -> Absence | None:
        """Return an absence when the box exceeds the dataset, otherwise None."""
        if all(end <= size for (_, end), size in zip(box, self.data.shape, strict=True)):
            return None
        return Absence("short", f"{self}: it has {len(self.data)} images, and the file that leads to it says more")


class Contiguous:
    """Reads an array that is contiguous in its file."""

    def __init__(self, place: Place) -> None:
        self._place = place

    def absent(self, box: Box) -> Absence | None:
        if short := self._place.behind(box):
            return short
        data = self._place.data
        if data.id.get_create_plist().get_layout() == h5py.h5d.COMPACT or 0 in size_of(box):
            return None
        offset = data.id.get_offset()
        if offset is None:
            return Absence("unwritten", f"{self._place}: never written")
        if offset + data.id.get_storage_size() > self._place.held.size:
            return Absence("short", f"{self._place}: behind the end of the file")
        return None

    def read(self, box: Box) -> NDArray[Any]:
        with blaming(str(self._place), self._place.files.kind):
            return np.asarray(self._place.data[slices(box)])


class Chunked:
    """Reads an array stored in chunks of its file. Their places are read once; refresh() reads them again."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._chunk: tuple[int, ...] = place.data.chunks
        self._filters = filters_of(place.data.id.get_create_plist())
        # numbers lie in memory as they do in the file
        self._plain = (
            not place.data.dtype.hasobject and place.data.id.get_type().get_size() == place.data.dtype.itemsize
        )

    def refresh(self) -> None:
        """Read the places of chunks again, for a file that a process still writes."""
        self.__dict__.pop("_ends", None)

    def absent(self, box: Box) -> Absence | None:
        if short := self._place.behind(box):
            return short
        if 0 in size_of(box):
            return None
        ends = self._ends[self._grid(box)]
        if not ends.all():
            return Absence("unwritten", f"{self._place}: never written")
        if int(ends.max()) > self._place.held.size:
            return Absence("short", f"{self._place}: behind the end of the file")
        return None

    def read(self, box: Box) -> NDArray[Any]:
        data = self._place.data
        if not self._filters or not self._plain:
            with blaming(str(self._place), self._place.files.kind):
                return np.asarray(data[slices(box)])
        found = np.empty(size_of(box), data.dtype)
        for at in np.ndindex(*(one.stop - one.start for one in self._grid(box))):
            self._read_chunk(box, at, found)
        return found

    def _read_chunk(self, box: Box, at: tuple[int, ...], into: NDArray[Any]) -> None:
        grid = self._grid(box)
        corner = tuple((one.start + n) * size for one, n, size in zip(grid, at, self._chunk, strict=True))
        part = tuple(
            (max(first, low), min(end, low + size))
            for (first, end), low, size in zip(box, corner, self._chunk, strict=True)
        )
        where = tuple(slice(a - first, b - first) for (a, b), (first, _) in zip(part, box, strict=True))
        data = self._place.data
        with blaming(f"{self._place}: {self._where(part)}", self._place.files.kind):
            try:
                mask, raw = data.id.read_direct_chunk(corner)
                values = unpacked(self._filters, mask, raw, self._chunk, data.dtype)
            except ChunkError as error:
                raise ValueError(f"is damaged: {error}") from None
            if values is None:
                into[where] = data[slices(part)]
            else:
                into[where] = values[tuple(slice(a - low, b - low) for (a, b), low in zip(part, corner, strict=True))]

    def _grid(self, box: Box) -> tuple[slice, ...]:
        return tuple(slice(first // size, -(-end // size)) for (first, end), size in zip(box, self._chunk, strict=True))

    @cached_property
    def _ends(self) -> NDArray[np.int64]:
        """Return the end offset of each chunk in the file, 0 for an absent chunk."""
        data = self._place.data
        counts = tuple(-(-size // chunk) for size, chunk in zip(data.shape, self._chunk, strict=True))
        if np.prod(counts, dtype=float) > _MOST_CHUNKS:
            raise self._place.wrong(f"it has more than {_MOST_CHUNKS} chunks; copy it again")
        ends = np.zeros(counts, np.int64)

        def look(chunk: h5py.h5d.StoreInfo) -> None:
            place = tuple(at // size for at, size in zip(chunk.chunk_offset, self._chunk, strict=True))
            if all(at < count for at, count in zip(place, counts, strict=True)) and chunk.byte_offset is not None:
                ends[place] = chunk.byte_offset + chunk.size

        with blaming(str(self._place), self._place.files.kind):
            data.id.chunk_iter(look)
        return ends

    def _where(self, box: Box) -> str:
        return f"image {box[0][0]}" if len(box) == _IMAGES else f"row {box[0][0]}" if box else "its value"


_MOST_CHUNKS = 1 << 28
_IMAGES = 3  # axes of a dataset of images


class External:
    """Reads an array from a sequence of files of plain bytes, without the HDF5 library."""

    def __init__(self, place: Place) -> None:
        self._place = place
        properties = place.data.id.get_create_plist()
        self._parts: list[tuple[str, int, int]] = []
        for n in range(properties.get_external_count()):
            name, offset, size = properties.get_external(n)
            self._parts.append((name.decode("utf-8", "surrogateescape"), offset, size))

    def absent(self, box: Box) -> Absence | None:
        if short := self._place.behind(box):
            return short
        first, end = self._bytes_of(box)
        known = 0
        for name, offset, size in self._parts:
            low, high = max(first, known), min(end, known + size)
            if low < high and (missing := self._missing(name, offset + high - known)) is not None:
                return missing
            known += size
        return None if end <= known else Absence("short", f"{self._place}: its files have no room for all of it")

    def _missing(self, name: str, needed: int) -> Absence | None:
        path = self._place.files.source(name, self._place.held)
        try:
            with self._place.files.open_bytes(path, self._place.held) as file:
                size = file.seek(0, 2)
        except FileNotFoundError:
            return Absence("file", f"{path}, with pixels of {self._place}, is not there")
        return Absence("short", f"{path}, with pixels of {self._place}, ends early") if size < needed else None

    def read(self, box: Box) -> NDArray[Any]:
        data = self._place.data
        rows = (box[0], *((0, size) for size in data.shape[1:])) if box else ()
        first, end = self._bytes_of(rows)
        found = bytearray(end - first)
        known = 0
        for name, offset, size in self._parts:
            low, high = max(first, known), min(end, known + size)
            if low < high:
                path = self._place.files.source(name, self._place.held)
                with self._place.files.open_bytes(path, self._place.held) as file:
                    file.seek(offset + low - known)
                    if file.readinto(memoryview(found)[low - first : high - first]) != high - low:
                        raise self._place.wrong(f"{path} ends early; copy it again")
            known += size
        values = np.frombuffer(found, data.dtype).reshape(size_of(rows))
        return values[(slice(None), *slices(box)[1:])] if box else values

    def _bytes_of(self, box: Box) -> tuple[int, int]:
        data = self._place.data
        row = int(np.prod(data.shape[1:], dtype=np.int64)) * data.dtype.itemsize
        return (box[0][0] * row, box[0][1] * row) if box else (0, row)
