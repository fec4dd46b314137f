# SPDX-License-Identifier: Apache-2.0
"""Where the images of a run lie in its data files, and which of them are not there: HDF5 itself gives fill values for them, and says nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from rashpa.data.run_parts import RunFileError

Part = Callable[[str], h5py.Dataset]
"""The images of a data file, by the name of its link. RunFileError when they cannot be opened."""


@dataclass(frozen=True)
class StoredPlaces:
    """Of stored images: row in the tables, name of the data file's link, place in it."""

    row: NDArray[np.intp]
    part: tuple[str, ...]
    place: NDArray[np.intp]

    @classmethod
    def of(cls, rashpa: h5py.Group, names: Sequence[str], part: Part, rows: NDArray[np.intp]) -> StoredPlaces:
        """Read the places; of files of before, which have no table of them, count through the data files in their order."""
        if "stored_file" in rashpa:
            parts = tuple(f"data_{number:06}" for number in rashpa["stored_file"][()][rows].tolist())
            return cls(rows, parts, rashpa["stored_place"][()][rows].astype(np.intp))
        order = rows[np.argsort(rashpa["stored_index"][()][rows], kind="stable")]
        lengths = [_length(part, name) for name in names]
        of = tuple(name for name, length in zip(names, lengths, strict=True) for _ in range(length))[: len(order)]
        place = np.concatenate([np.arange(length) for length in (0, *lengths)])[: len(order)].astype(np.intp)
        missing = len(order) - len(of)
        return cls(order, (*of, *[""] * missing), np.concatenate([place, np.zeros(missing, np.intp)]))


def absent_images(master: Path, part: Part, places: StoredPlaces) -> dict[int, str]:
    """Say of each image that its data file lacks, by row, what is wrong."""
    found: dict[int, str] = {}
    names = np.array(places.part, dtype=str)
    for name in dict.fromkeys(places.part):
        here = np.flatnonzero(names == name)
        rows = places.row[here].tolist()
        if not name:
            found |= dict.fromkeys(rows, f"{master}: its data files hold fewer images than it says; copy them again")
            continue
        try:
            there = _there(part(name), places.place[here])
        except RunFileError as error:
            found |= dict.fromkeys(rows, str(error))
            continue
        text = f"{master}: image {{}} is not in its {name}: it was never written, or the file was cut; copy it again"
        found |= {row: text.format(row) for row, held in zip(rows, there.tolist(), strict=True) if not held}
    return found


def absent_lists(
    master: Path, data: h5py.Group, frame_ptr: NDArray[np.uint64], rows: NDArray[np.intp]
) -> dict[int, str]:
    """Say of each image whose list of pixels is not there, by row, what is wrong."""
    try:
        length = min(len(data["index"]), len(data["intensity"]))
    except (KeyError, OSError):
        length = 0
    text = f"{master}: the list of image {{}} is not there: its data file is gone or was cut; copy it again"
    ends = frame_ptr[1:].tolist()
    return {int(row): text.format(row) for row, end in zip(rows, ends, strict=False) if end > length}


def _length(part: Part, name: str) -> int:
    try:
        return len(part(name))
    except RunFileError:
        return 0


def _there(images: h5py.Dataset, places: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Tell which places of a data file were written."""
    there = places < len(images)
    one_each = images.chunks is not None and images.chunks[0] == 1
    if not one_each or images.id.get_num_chunks() >= len(images) * _chunks_of_image(images):
        return there
    corner = (0,) * (images.ndim - 1)
    written = [
        bool(held) and images.id.get_chunk_info_by_coord((int(place), *corner)).byte_offset is not None
        for place, held in zip(places, there, strict=True)
    ]
    return np.asarray(written, np.bool_)


def _chunks_of_image(images: h5py.Dataset) -> int:
    sides = zip(images.shape[1:], images.chunks[1:], strict=True)
    return int(np.prod([-(-side // chunk) for side, chunk in sides]))
