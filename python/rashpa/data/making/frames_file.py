# SPDX-License-Identifier: Apache-2.0
"""Writes a file with one row for every image of a run, stored or not, for programs that count triggers. It contains no images, but links to those of
the master."""

from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from rashpa.data.files.hdf5.tree import Hdf5File
from rashpa.data.parts.made_hdf5 import made_hdf5
from rashpa.data.parts.run_parts import StoredRunError
from rashpa.data.stored.stored_piece import no_value

IMAGES = "/entry/data/data"
COLUMNS = {"frame_number": "<u8", "decision": "|u1", "completeness": "|u1", "stored_index": "<i8"}
"""Beside the images, one value each; `stored_index`: where the image is in the master, -1 when it is not stored."""
COLUMN_CHUNK = 1024
_TABLES = "/entry/rashpa"


def frames_path(master: Path) -> Path:
    """Return the path of the frames file, beside the master."""
    return master.with_name(f"{master.name.removesuffix('_master.h5')}_frames.h5")


def write_frames_file(master: Path) -> Path:
    """Write the frames file beside the master of a finished run and return its path. Raise StoredRunError when the run has no images, or the file
    cannot be written."""
    out = frames_path(master)
    try:
        with Hdf5File(master, kind=StoredRunError) as run, made_hdf5(out) as file:
            if IMAGES not in run:
                raise StoredRunError(f"{master}: has no dense images; lists of pixels have no rows for frames")
            columns = {name: run[f"{_TABLES}/{name}"][()] for name in COLUMNS}
            images = run[IMAGES]
            layout = h5py.VirtualLayout((len(columns["stored_index"]), *images.shape[1:]), images.dtype)
            source = h5py.VirtualSource(master.name.replace("%", "%%"), IMAGES, images.shape)
            for row, end, place in _stretches(columns["stored_index"]):
                layout[row:end] = source[place : place + end - row]
            file.attrs["NX_class"], file.attrs["default"] = "NXroot", "entry"
            entry = file.create_group("entry")
            entry.attrs["NX_class"], entry.attrs["default"] = "NXentry", "data"
            data = entry.create_group("data")
            data.attrs["NX_class"], data.attrs["signal"] = "NXdata", "data"
            data.create_virtual_dataset("data", layout, fillvalue=no_value(images.dtype))
            for name, kind in COLUMNS.items():
                values = columns[name].astype(kind)
                column = data.create_dataset(name, data=values, maxshape=(None,), chunks=(COLUMN_CHUNK,))
                if (names := run[f"{_TABLES}/{name}"].attrs.get("names")) is not None:
                    column.attrs["names"] = names
            entry["master"] = h5py.ExternalLink(master.name, "/entry")
    except (OSError, KeyError) as error:
        raise StoredRunError(f"{out}: cannot be made from {master.name} ({error})") from error
    return out


def _stretches(stored: NDArray[np.int64]) -> list[tuple[int, int, int]]:
    """Return runs of rows that are consecutive also in the master: first row, end row, place of the first image."""
    rows = np.flatnonzero(stored >= 0)
    if not rows.size:
        return []
    places = stored[rows]
    breaks = np.flatnonzero((np.diff(rows) != 1) | (np.diff(places) != 1)) + 1
    return [(int(part[0]), int(part[-1]) + 1, int(stored[part[0]])) for part in np.split(rows, breaks)]
