# SPDX-License-Identifier: Apache-2.0
"""Reads the files of one buffer with h5py only."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  (registers the bitshuffle filter)
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
BOOKS = ("expected", "complete", "partial", "missing", "accepted", "vetoed", "errored", "written")
OPEN, COMPLETE, PARTIAL, MISSING = 0, 1, 2, 3
ACCEPTED, VETOED, ERRORED = 1, 2, 3
TABLES = (
    "frame_number",
    "flags",
    "completeness",
    "decision",
    "veto_reason",
    "stored_index",
)
COUNTS = ("bright_pixels", "masked_pixels", "saturated_pixels")  # there when a kernel of the pipeline counts them


@dataclass(frozen=True)
class Stored:
    """Holds the content of a closed master. Otherwise `problem` is the reason why it cannot be read, and `loose` are the images of the data files, in
    order."""

    problem: str = ""
    tables: dict[str, Array] = field(default_factory=dict)
    books: dict[str, int] = field(default_factory=dict)
    balanced: bool = False
    frame_number: Array = field(default_factory=lambda: np.zeros(0, np.uint64))
    images: Array | None = None
    sparse: tuple[Array, Array, Array] | None = None  # index, intensity, frame_ptr
    lost: tuple[Array, Array, Array, Array] | None = None  # ptr, dtp, first_line, lines
    dtps: dict[str, Array] = field(default_factory=dict)
    pixel_mask: Array | None = None
    loose: Array | None = None
    virtual: Array | None = None  # what the master's own dataset shows
    errors: Array | None = None  # reason of each row, 0 none
    repaired: bool = False  # the master was made of what the run had left
    unknown: int = 0  # images of which a repair could find nothing

    @property
    def closed(self) -> bool:
        return not self.problem

    @property
    def count(self) -> int:
        """Return the number of readable images."""
        if self.sparse is not None:
            return len(self.sparse[2]) - 1
        images = self.images if self.closed else self.loose
        return 0 if images is None else len(images)


def data_files(folder: Path, buffer: str) -> list[Path]:
    """Return the data files of a buffer, in order."""
    return sorted(folder.glob(f"chaos_{buffer}_data_*.h5"))


def read(folder: Path, buffer: str) -> Stored:
    """Read the files of a buffer. It never raises an error for their content."""
    master = folder / f"chaos_{buffer}_master.h5"
    loose, trouble = _loose(folder, buffer)
    try:
        with h5py.File(master, "r") as file:
            result = _read_master(file, folder, buffer, loose)
    except (OSError, KeyError, RuntimeError) as error:
        return Stored(problem=f"{master.name}: {str(error) or type(error).__name__}", loose=loose)
    return Stored(problem=trouble, loose=loose) if trouble and result.sparse is None else result


def _loose(folder: Path, buffer: str) -> tuple[Array | None, str]:
    """Return the images of all data files, and the reason why one cannot be read."""
    parts, trouble = [], ""
    for path in data_files(folder, buffer):
        try:
            with h5py.File(path, "r", swmr=True) as file:
                parts.append(file["/entry/data/data"][()])
        except (OSError, KeyError, RuntimeError) as error:
            trouble = trouble or f"{path.name}: {str(error) or type(error).__name__}"
    return (np.concatenate(parts) if parts else None), trouble


def _read_master(file: Any, folder: Path, buffer: str, loose: Array | None) -> Stored:
    data, own = file["/entry/data"], file["/entry/rashpa"]
    names = (*TABLES, *(name for name in COUNTS if name in own))
    tables = {name: own[name][()] for name in names}
    sparse = None
    if "frame_ptr" in data:
        sparse = (data["index"][()], data["intensity"][()], data["frame_ptr"][()])
    images = None
    if sparse is None:
        images = _placed(folder, buffer, own, tables["stored_index"]) if "stored_file" in own else loose
    return Stored(
        tables=tables,
        books={name: int(own["books"][name][()]) for name in BOOKS},
        balanced=bool(own["books/balanced"][()]),
        frame_number=data["frame_number"][()],
        images=images,
        sparse=sparse,
        lost=tuple(own["lost_runs"][name][()] for name in ("ptr", "dtp", "first_line", "lines")),
        dtps={name: own["dtps"][name][()] for name in ("id", "module", "x", "y", "width", "height")},
        pixel_mask=file["/entry/instrument/detector/pixel_mask"][()],
        loose=loose,
        virtual=None if sparse is not None else data["data"][()],
        errors=own["error_reason"][()] if "error_reason" in own else None,
        unknown=int(own["books/unknown"][()]) if "unknown" in own["books"] else 0,
    )


def _placed(folder: Path, buffer: str, own: Any, index: Array) -> Array | None:
    """Return the stored images, each from the data file and the index in the tables, because the virtual dataset shows fill values for absent images.
    Absent images are left out, and count as missing."""
    rows = np.flatnonzero(index >= 0)
    files, places = own["stored_file"][()], own["stored_place"][()]
    images = []
    for number in np.unique(files[rows]).tolist():
        path = folder / f"chaos_{buffer}_data_{number:06}.h5"
        if not path.exists():
            continue
        with h5py.File(path, "r", swmr=True) as file:
            data = file["/entry/data/data"]
            there = {data.id.get_chunk_info(chunk).chunk_offset[0] for chunk in range(data.id.get_num_chunks())}
            images += [data[place] for place in places[rows[files[rows] == number]].tolist() if place in there]
    return np.stack(images) if images else None
