# SPDX-License-Identifier: Apache-2.0
"""Reads an array of an HDF5 file: the only one that fits, or the named one. It refuses arrays in other files and arrays that were never written."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  registers the filters that arrays of others need
import numpy as np
from numpy.typing import NDArray

from rashpa.data.files.array_file import some_of
from rashpa.data.files.hdf5.files import Files, folders_of
from rashpa.data.files.hdf5.layouts import Place
from rashpa.data.files.hdf5.tree import Array, Finder

_MOST_LINKS = 32
_NUMBERS = "fiub"


def hdf5_array(path: Path, inner: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return the array `inner` of the file; with "", the only array of `shape`. Raise ValueError that lists the arrays and says how to name one."""
    files = Files(folders_of(path))
    try:
        held = files.open(path)
        file = held.handle
        data = _at(file, path, inner) if inner else _only(file, path, shape)
        if not isinstance(data, h5py.Dataset) or data.dtype.kind not in _NUMBERS:
            raise ValueError(f"{inner} is no array of numbers; it has {_listed(file, path) or 'none'}")
        if data.shape != shape:
            raise ValueError(f"{data.name} has the shape {list(data.shape)}; {list(shape)} is needed")
        if data.is_virtual or data.external:
            raise ValueError(f"{data.name} lies in other files; copy its values into one array")
        return np.asarray(Array(Place(files, held, data), Finder(files))[()])
    finally:
        files.close()


def _only(file: h5py.File, path: Path, shape: tuple[int, ...]) -> h5py.Dataset:
    fitting = [data for data in _arrays(file) if data.shape == shape]
    if len(fitting) == 1:
        return fitting[0]
    what = f"{len(fitting)} of its arrays have" if fitting else "none of its arrays has"
    named = _named(fitting, path) if fitting else _listed(file, path)
    raise ValueError(f"{what} the shape {list(shape)}; name one: {named or 'there is none'}")


def _arrays(group: h5py.Group) -> Iterator[h5py.Dataset]:
    """Yield every numeric array of the file itself once, however many links lead to it."""
    found: list[h5py.Dataset] = []

    def look(_name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and item.dtype.kind in _NUMBERS and item.ndim >= 2:
            found.append(item)

    group.visititems(look)
    yield from found


def _listed(file: h5py.File, path: Path) -> str:
    return _named(list(_arrays(file)), path)


def _named(arrays: list[h5py.Dataset], path: Path) -> str:
    return some_of([f"{path.name}:{data.name} {list(data.shape)} {data.dtype}" for data in arrays])


def _at(file: h5py.File, path: Path, inner: str, links: int = 0) -> Any:
    """Return the object at the path, following links inside the file only."""
    if links > _MOST_LINKS:
        raise ValueError(f"{inner} is a link to itself; copy the file again")
    place: Any = file
    walked = ""
    for name in filter(None, inner.split("/")):
        walked += f"/{name}"
        link = place.get(name, getlink=True) if isinstance(place, h5py.Group) else None
        if link is None:
            raise ValueError(f"there is no {walked}; it has {_listed(file, path)}")
        if (other := getattr(link, "filename", None)) is not None:
            raise ValueError(f"{walked} lies in another file, {other}; name that one")
        if isinstance(link, h5py.SoftLink):
            target = link.path if link.path.startswith("/") else f"{place.name}/{link.path}"
            place = _at(file, path, target, links + 1)
        else:
            place = place[name]
    return place
