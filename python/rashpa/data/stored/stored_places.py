# SPDX-License-Identifier: Apache-2.0
"""Finds a run's images in its data files, and the absent images, for which the HDF5 library returns fill values without an error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rashpa.data.files.hdf5.layouts import Absence
from rashpa.data.files.hdf5.tree import Array, Group
from rashpa.data.parts.run_parts import StoredRunError

Part = Callable[[str], Array]
"""The images of a data file, by the name of its link. StoredRunError when they cannot be opened."""


GONE = {
    "file": "data file gone",
    "short": "data file cut",
    "unwritten": "receiver ended early",
}
"""By kind of absence: what has become of an image that was stored, in words that programs may look for."""
MASTER_GONE = "master gone"


@dataclass(frozen=True)
class StoredPlaces:
    """Holds, for stored images, the row in the tables, the name of the link to the data file, and the index in it."""

    row: NDArray[np.intp]
    part: tuple[str, ...]
    place: NDArray[np.intp]

    @classmethod
    def of(cls, rashpa: Group, names: Sequence[str], part: Part, rows: NDArray[np.intp]) -> StoredPlaces:
        """Read the places. Older files have no table of them; then count through the data files in order."""
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
    """Return, by row, the reason for each image that is absent in its data file."""
    found: dict[int, str] = {}
    names = np.array(places.part, dtype=str)
    for name in dict.fromkeys(places.part):
        here = np.flatnonzero(names == name)
        rows = places.row[here].tolist()
        if not name:
            found |= dict.fromkeys(
                rows, f"{master}: {GONE['short']}: its data files hold fewer images than it says; copy them again"
            )
            continue
        try:
            images = part(name)
            absences = images.absences()
        except StoredRunError as error:
            found |= dict.fromkeys(rows, f"{GONE['file']}: {error}")
            continue
        text = f"{master}: {{}}: image {{}} is not in its {name}: {{}}; copy it again"
        for row, place in zip(rows, places.place[here].tolist(), strict=True):
            if place >= len(images):
                found[row] = text.format(GONE["short"], row, "it holds fewer images than the master says")
            elif place in absences:
                found[row] = text.format(GONE[absences[place].kind], row, absences[place].text)
    return found


def absent_lists(master: Path, data: Group, frame_ptr: NDArray[np.uint64], rows: NDArray[np.intp]) -> dict[int, str]:
    """Return, by row, the reason for each image with an absent pixel list."""
    text = f"{master}: the list of image {{}} is not there: {{}}; copy it again"
    arrays = [data.find(name) for name in ("index", "intensity")]
    gone = next((one for one in arrays if isinstance(one, Absence)), None)
    if gone is not None:
        return {int(row): text.format(row, gone.text) for row in rows}
    lists = [one for one in arrays if isinstance(one, Array)]
    length = min((len(one) for one in lists), default=0) if len(lists) == len(arrays) else 0
    missing = next(filter(None, (one.layout.absent(((0, length),)) for one in lists)), None)
    ends = frame_ptr.tolist()
    found = {}
    for row, first, end in zip(rows.tolist(), ends[:-1], ends[1:], strict=False):
        if end > length:
            found[row] = text.format(row, "its data file was cut")
        elif missing is not None and (why := _absent_of(lists, first, end)):
            found[row] = text.format(row, why)
    return found


def _absent_of(lists: Sequence[Array], first: int, end: int) -> str:
    found = next(filter(None, (one.layout.absent(((first, end),)) for one in lists)), None)
    return found.text if found is not None else ""


def _length(part: Part, name: str) -> int:
    try:
        return len(part(name))
    except StoredRunError:
        return 0
