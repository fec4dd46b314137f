# SPDX-License-Identifier: Apache-2.0
"""Defines groups and arrays of HDF5 files, with the names of h5py. They follow links only into allowed folders, and report absent bytes as an error,
never as fill values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from rashpa.data.base.bad_file import BadFileError, blaming
from rashpa.data.base.closed import Closed
from rashpa.data.files.hdf5.files import Files, Held, folders_of
from rashpa.data.files.hdf5.layouts import Absence, Chunked, Contiguous, External, Layout, Place
from rashpa.data.files.hdf5.selection import Box, whole
from rashpa.data.files.hdf5.source_names import opened_by_hdf5
from rashpa.data.files.hdf5.virtual import Find, Virtual
from rashpa.data.files.regular_file import open_regular, reason

_MOST_LINKS = 16
_PIECE_BYTES = 64 << 20
_NAMES_SHOWN = 3


class Array:
    """Reads a dataset. It can report absent parts; reading an absent part raises an error."""

    def __init__(self, place: Place, find: Finder) -> None:
        self._place = place
        self._find = find
        self.depth = 0  # number of virtual datasets that lead to it
        self.shape: tuple[int, ...] = place.data.shape if place.data.shape is not None else (0,)
        self.dtype: np.dtype[Any] = place.data.dtype

    def __str__(self) -> str:
        return str(self._place)

    @property
    def attrs(self) -> h5py.AttributeManager:
        """Return the attributes as h5py has them; attributes link to no other file."""
        return self._place.data.attrs

    @property
    def file(self) -> Path:
        """Return the path of the array's file."""
        return self._place.held.path

    @property
    def name(self) -> str:
        """Return the array's name in its own file."""
        return str(self._place.data.name)

    @property
    def stored_bytes(self) -> int:
        """Return the number of bytes that the array takes in its own file."""
        return int(self._place.data.id.get_storage_size())

    @property
    def chunk_bytes(self) -> int:
        """Return the uncompressed size in bytes of the array's largest chunk; 0 when it has no chunks."""
        chunk = self._place.data.chunks
        return int(np.prod(chunk, dtype=np.int64)) * self.dtype.itemsize if chunk else 0

    def __len__(self) -> int:
        return self.shape[0]

    def __bool__(self) -> bool:
        return True  # it is there, also with no row or without rows

    @cached_property
    def layout(self) -> Layout:
        """Return the object that finds the array's bytes."""
        properties = self._place.data.id.get_create_plist()
        kind = properties.get_layout()
        if kind == h5py.h5d.CHUNKED:
            return Chunked(self._place)
        if kind == h5py.h5d.VIRTUAL:
            return Virtual(self._place, self._find.for_virtual(self._place.held, self.depth + 1))
        return External(self._place) if properties.get_external_count() else Contiguous(self._place)

    def refresh(self) -> None:
        """Read shape and places again, for a file that a process still writes."""
        with blaming(str(self._place), self._place.files.kind):
            self._place.data.refresh()
        self.shape = self._place.data.shape
        if isinstance(self.layout, Chunked):
            self.layout.refresh()

    def absence(self, row: int) -> Absence | None:
        """Return the reason why a row of the first axis is absent, None when it is present."""
        return self.layout.absent(((row, row + 1), *whole(self.shape[1:])))

    def absences(self) -> dict[int, Absence]:
        """Return the reason for each absent row, by its number."""
        if self.layout.absent(whole(self.shape)) is None:
            return {}
        found = ((row, self.absence(row)) for row in range(len(self)))
        return {row: absence for row, absence in found if absence is not None}

    def rows(self, first: int, end: int) -> NDArray[Any]:
        """Return rows of the first axis. Raise the file's error when one is absent."""
        return self._read(((first, end), *whole(self.shape[1:])))

    def gaps(self, first: int, end: int) -> NDArray[np.bool_] | None:
        """Return True for values of these rows that no source holds, for which HDF5 gives 0; None when there are none."""
        if not isinstance(self.layout, Virtual):
            return None
        return self.layout.gaps(((first, end), *whole(self.shape[1:])))

    def __getitem__(self, key: object) -> Any:
        """Return the whole array (`[()]`), a row, or a slice of rows."""
        if isinstance(key, int | np.integer):
            row = int(key) + (len(self) if key < 0 else 0)
            if not 0 <= row < len(self):
                raise IndexError(f"{self} has no row {key}")
            return self.rows(row, row + 1)[0]
        if isinstance(key, slice) and self.shape:
            first, end, step = key.indices(len(self))
            return self.rows(first, max(first, end))[::step]
        found = self._read(whole(self.shape))
        return found if self.shape else found[()]

    def _read(self, box: Box) -> NDArray[Any]:
        if (missing := self.layout.absent(box)) is not None:
            raise self._place.files.kind(f"{missing.text}{_rows(box)}; copy it again, or put it where it belongs")
        found: NDArray[Any] = self.layout.read(box)
        return found


class Group:
    """Holds a group; members are accessed by their paths."""

    def __init__(self, held: Held, group: h5py.Group, find: Finder) -> None:
        self._held = held
        self._group = group
        self._find = find

    def __str__(self) -> str:
        return f"{self._held.path}: {self._group.name}"

    @property
    def attrs(self) -> h5py.AttributeManager:
        """Return the attributes as h5py has them."""
        return self._group.attrs

    @property
    def name(self) -> str:
        """Return the group's name in its own file."""
        return str(self._group.name)

    @property
    def file(self) -> Path:
        """Return the path of the group's file."""
        return self._held.path

    def __iter__(self) -> Iterator[str]:
        return iter(self._group)

    def __len__(self) -> int:
        return len(self._group)

    def __contains__(self, path: object) -> bool:
        """Return True for a member or a link of this name, even for a broken link."""
        parts = _parts(str(path))
        here: Group | Array | Absence | None = self
        for part in parts[:-1]:
            here = here.find(part) if isinstance(here, Group) else None
        return isinstance(here, Group) and bool(parts) and here.has_link(parts[-1])

    def has_link(self, name: str) -> bool:
        """Return True when a member is linked under exactly this name."""
        return self._find.link(self._held, self._group, name) is not None

    def link_of(self, name: str) -> Any:
        """Return the link in h5py's form: hard, soft or external; None when there is none."""
        return self._find.link(self._held, self._group, name)

    def find(self, path: str) -> Group | Array | Absence | None:
        """Return the object at the path, None when there is no such member, an Absence when a link is broken."""
        return self._find.walk(self._held, self._group, path, 0)

    def __getitem__(self, path: str) -> Any:
        """Return the group or array. Raise KeyError when there is no such member, and the file's error when a link to it is broken."""
        found = self.find(path)
        if found is None:
            raise KeyError(f"{self} has no {path}")
        if isinstance(found, Absence):
            raise self._find.files.kind(f"{found.text}; put it there")
        return found

    def get(self, path: str, default: Any = None) -> Any:
        """Return the group or array, `default` when there is no such member."""
        found = self.find(path)
        return default if found is None else self[path]

    def items(self) -> Iterator[tuple[str, Any]]:
        """Yield names and members."""
        return ((name, self[name]) for name in self)

    def values(self) -> Iterator[Any]:
        """Yield the members."""
        return (self[name] for name in self)


class Finder:
    """Finds objects by following links, also into other files."""

    def __init__(self, files: Files) -> None:
        self.files = files

    def root(self, held: Held) -> Group:
        """Return the root of a file."""
        return Group(held, held.handle["/"], self)

    def link(self, held: Held, group: h5py.Group, name: str) -> Any:
        """Return the link in h5py's form, None when there is none."""
        with blaming(f"{held.path}: {group.name}/{name}", self.files.kind):
            return group.get(name, getlink=True)

    def walk(self, held: Held, group: h5py.Group, path: str, links: int) -> Group | Array | Absence | None:
        """Find an object as Group.find() does; `links`: the number of links followed so far."""
        if links > _MOST_LINKS:
            raise self.files.kind(
                f"{held.path}: {path}: more than {_MOST_LINKS} links lead from one to the next; copy it again"
            )
        parts = _parts(path)
        for n, part in enumerate(parts):
            link, rest = self.link(held, group, part), "/".join(parts[n + 1 :])
            if link is None:
                return None
            if isinstance(link, h5py.SoftLink):
                start = held.handle["/"] if link.path.startswith("/") else group
                led = self.walk(held, start, link.path, links + 1)
                said = f"{held.path}: {part} leads to {link.path}, which is not there"
                return self._below(Absence("unwritten", said) if led is None else led, rest, links + 1)
            if isinstance(link, h5py.ExternalLink):
                return self._below(self.external(held, link.filename, link.path, links + 1), rest, links + 1)
            with blaming(f"{held.path}: {group.name}/{part}", self.files.kind):
                found = group[part]
                if isinstance(found, h5py.Dataset) and not rest:
                    return self._array(held, found)
            if not isinstance(found, h5py.Group):
                return None
            group = found
        return Group(held, group, self)

    def _below(self, led: Group | Array | Absence, rest: str, links: int) -> Group | Array | Absence | None:
        """Return the object at `rest` below the target of a link; None when the target has no such member."""
        if not rest or isinstance(led, Absence):
            return led
        return self.walk(led._held, led._group, rest, links) if isinstance(led, Group) else None

    def external(self, held: Held, name: str, path: str, links: int) -> Group | Array | Absence:
        """Return the object at `path` in another file."""
        real = self.files.source(name, held)
        try:
            other = self.files.open_source(real, held)
        except FileNotFoundError:
            return Absence("file", f"{real}, a part of {held.path.name}, is not there")
        except self.files.kind as error:
            if not isinstance(error.__cause__, OSError):
                raise
            return Absence("short", str(error))  # HDF5 cannot open it: its rest is no whole file
        found = self.walk(other, other.handle["/"], path, links)
        return Absence("unwritten", f"{other.path} has no {path}") if found is None else found

    def for_virtual(self, held: Held, depth: int) -> Find:
        """Return a function that finds the sources of a file's virtual datasets."""
        if depth > _MOST_LINKS:
            raise self.files.kind(f"{held.path}: virtual datasets lead from one to the next, and back; copy it again")

        def find(file: str, name: str) -> Array | Absence:
            if file == ".":
                found = self.walk(held, held.handle["/"], name, 0)
                if found is None:
                    found = Absence("unwritten", f"{held.path} has no {name}")
            else:
                found = self.external(held, file, name, 0)
            if isinstance(found, Group):
                raise self.files.kind(f"{found}: it is a group, and {held.path} takes it for images; copy it again")
            if isinstance(found, Array):
                found.depth = depth
            return found

        return find

    def _array(self, held: Held, data: h5py.Dataset) -> Array:
        with blaming(f"{held.path}: {data.name}", self.files.kind):
            self._check_opened_by_hdf5(held, data)
        return Array(Place(self.files, held, data), self)

    def _check_opened_by_hdf5(self, held: Held, data: h5py.Dataset) -> None:
        """Check that files which the HDF5 library opens itself are regular and in allowed folders. Raise the files' error otherwise."""
        here = Path.cwd()
        for path in opened_by_hdf5(data, (held.path.parent, held.real.parent, here)):
            if path.parent != here and not self.files.allows(path):
                raise self.files.outside(path, held)
            try:
                open_regular(path).close()
            except (OSError, ValueError) as error:
                why = reason(error) if isinstance(error, OSError) else error
                raise self.files.kind(f"{held.path}: {data.name}: it leads to {path}: {why}") from None


class Hdf5File(Closed, Group):
    """Holds an open file; a context manager. `folders`: the folders to which its links may lead, by default its own."""

    def __init__(
        self,
        path: Path | str,
        *,
        folders: Iterable[Path] = (),
        kind: type[BadFileError] = BadFileError,
        **options: Any,
    ) -> None:
        """Open the file. Raise OSError when it is no readable regular file, `kind` when it is no HDF5 file."""
        path = Path(path)
        self.path = path
        self._files = Files(tuple(folders) or folders_of(path), kind, options)
        held = self._files.open(path)
        super().__init__(held, held.handle["/"], Finder(self._files))

    @property
    def folders(self) -> tuple[Path, ...]:
        """Return the folders to which links of the file may lead."""
        return self._files.folders

    def source(self, name: str) -> Path:
        """Return the path of a file that this one names as text. Raise the file's error when it may not be read."""
        return self._files.source(name, self._held)

    def close(self) -> None:
        """Close the file, and all files opened through its links."""
        self._files.close()


def _rows(box: Box) -> str:
    """Return the requested rows as text."""
    if not box or box[0][1] - box[0][0] < 1:
        return ""
    first, end = box[0]
    return f" (of rows {first} … {end - 1})" if end - first > 1 else f" (row {first})"


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


def told(absences: dict[int, Absence]) -> str:
    """Return absent rows as text: their number, the first ones, and each reason."""
    reasons: dict[str, list[int]] = {}
    for row, absence in absences.items():
        reasons.setdefault(absence.text, []).append(row)
    rows = sorted(absences)
    first = ", ".join(map(str, rows[:_NAMES_SHOWN])) + (" …" if len(rows) > _NAMES_SHOWN else "")
    why = list(reasons)
    more = f"; and {len(why) - _NAMES_SHOWN} more reasons" if len(why) > _NAMES_SHOWN else ""
    return f"{len(rows)} image{'' if len(rows) == 1 else 's'} ({first}) {'is' if len(rows) == 1 else 'are'} absent: {'; '.join(why[:_NAMES_SHOWN])}{more}"
