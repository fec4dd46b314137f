# SPDX-License-Identifier: Apache-2.0
"""Reads and writes calibration files (HDF5): pedestals of all gains with their RMS and mask, of any number of modules, and their sources
(schema/calibration.md).

A file may be foreign: links to other files are not followed, and shape and type of an array are checked before it is read.
"""

import errno
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from rashpa.data.base.bad_file import BadFileError
from rashpa.data.files.hdf5.layouts import External
from rashpa.data.files.hdf5.tree import Array, Group, Hdf5File
from rashpa.data.files.hdf5.virtual import Virtual
from rashpa.data.parts.made_hdf5 import made_hdf5

FORMAT = "rashpa calibration"
VERSION = 1
GAINS = ("G0", "G1", "G2")
MOST_CELLS = 16
_LONGEST_TEXT = 1 << 20


@dataclass(frozen=True)
class ModuleMaps:
    """Holds the maps of one module: pedestal (ADU) and its RMS, float32 [3][height][width], NaN where there is none; mask, uint32 [height][width],
    NXmx pixel_mask bits; gain in ADU/keV, None when the file has none. With storage cells, pedestal and RMS are [cells][3][height][width], and frames
    [cells][3]."""

    pedestal: NDArray[np.float32]
    rms: NDArray[np.float32]
    mask: NDArray[np.uint32]
    gain: NDArray[np.float32] | None = None
    serial: str = ""
    frames: Sequence[int] | Sequence[Sequence[int]] = (0, 0, 0)  # of each gain
    sources: Sequence[Mapping[str, str]] = ()  # gain, file, sha256
    cells: Sequence[int] = ()  # storage cell of each set of pedestals


@dataclass(frozen=True)
class CalibrationFacts:
    """Holds the metadata of a calibration file."""

    version: int
    date: str  # ISO 8601
    detector: str
    modules: tuple[int, ...]
    serials: Mapping[int, str] = field(default_factory=dict)
    source: str = ""  # JSON: of each module the files of its frames, with SHA-256

    def age_days(self, now: datetime) -> float | None:
        """Return the age in days, None when the date cannot be read."""
        try:
            made = datetime.fromisoformat(self.date)
        except ValueError:
            return None
        return (now - (made if made.tzinfo else made.replace(tzinfo=UTC))).total_seconds() / 86400


class CalibrationFileError(BadFileError):
    """Reports a file that is no calibration file, or lacks an array; the text names the fault."""


def write_calibration(
    path: Path, modules: Mapping[int, ModuleMaps], detector: str, date: datetime, add: bool = False
) -> None:
    """Write a file or, with `add`, add modules to a file of the same detector. Raise OSError or CalibrationFileError; a failure leaves an existing
    file unchanged."""
    if not add and path.exists():
        raise FileExistsError(errno.EEXIST, "it exists; choose another name, or give --add", str(path))
    if add:
        known = read_facts(path)
        if known.detector != detector:
            raise CalibrationFileError(
                f"{path}: it is of detector {known.detector}, not {detector}; choose another file"
            )
        if taken := sorted(set(known.modules) & set(modules)):
            raise CalibrationFileError(f"{path}: it has module {taken[0]}; write a new file")
    with made_hdf5(path, path if add else None) as file:
        file.attrs["format"] = FORMAT
        file.attrs["version"] = VERSION
        file.attrs["date"] = date.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        file.attrs["detector"] = detector
        for number, maps in modules.items():
            group = file.create_group(f"module{number}")
            group.attrs["serial"] = maps.serial
            group.attrs["source"] = json.dumps(list(maps.sources))
            group["frames"] = np.asarray(maps.frames, np.uint32)
            group["mask"] = maps.mask.astype(np.uint32)
            if maps.cells:
                group["cells"] = np.asarray(maps.cells, np.uint32)
            for name, unit in (("pedestal", "ADU"), ("rms", "ADU"), ("gain", "ADU/keV")):
                values = getattr(maps, name)
                if values is not None:
                    group[name] = values.astype(np.float32)
                    group[name].attrs["units"] = unit


def read_facts(path: Path) -> CalibrationFacts:
    """Return the metadata of a file. Raise OSError or CalibrationFileError."""
    with _opened(path) as file:
        return _facts(file, path)


def read_map(path: Path, module: int, name: str, shape: tuple[int, ...]) -> NDArray[Any] | None:
    """Return an array of a module, None when the file has none of that name. Raise CalibrationFileError when its shape or type is wrong."""
    with _opened(path) as file:
        facts = _facts(file, path)
        if module not in facts.modules:
            raise CalibrationFileError(
                f"it has no module {module}; it has {', '.join(map(str, facts.modules)) or 'none'}"
            )
        key = f"module{module}/{name}"
        data = _member(file, f"module{module}", Group)
        if name not in data:
            return None
        found = _member(data, name, Array)
        if found.shape != shape or found.dtype.kind not in "fiu":
            raise CalibrationFileError(f"{key}: {found.dtype} {list(found.shape)}; {list(shape)} is needed")
        if isinstance(found.layout, External | Virtual):
            raise CalibrationFileError(f"{key}: its values lie in another file; copy them into this one")
        return np.asarray(found[()])


def read_cells(path: Path, module: int) -> tuple[int, ...]:
    """Return the storage cell of each set of a module's pedestals; empty when one set serves all cells. Raise CalibrationFileError when the cells are
    wrong."""
    with _opened(path) as file:
        data = _member(file, f"module{module}", Group)
        if "cells" not in data:
            return ()
        found = _member(data, "cells", Array)
        if found.dtype.kind not in "iu" or len(found.shape) != 1 or not 0 < found.shape[0] <= MOST_CELLS:
            raise CalibrationFileError(
                f"module{module}/cells: {found.dtype} {list(found.shape)}; 1 to 16 cells are needed"
            )
        cells = tuple(int(cell) for cell in found[()])
        if len(set(cells)) < len(cells) or not all(0 <= cell < MOST_CELLS for cell in cells):
            raise CalibrationFileError(f"module{module}/cells: {list(cells)}; each of 0 to 15 once is needed")
        return cells


def _opened(path: Path) -> Hdf5File:
    try:
        return Hdf5File(path, kind=CalibrationFileError)
    except CalibrationFileError as error:
        raise CalibrationFileError(f"it is no HDF5 file that can be read ({error}); copy it again") from None


def _member(group: Group, name: str, kind: type) -> Any:
    if not isinstance(group.link_of(name), h5py.HardLink):
        raise CalibrationFileError(f"{name}: it is not there, or lies in another file")
    found = group[name]
    if not isinstance(found, kind):
        raise CalibrationFileError(f"{name}: it is no {'group' if kind is Group else 'dataset'}")
    return found


def _facts(file: Group, path: Path) -> CalibrationFacts:
    attributes = file.attrs
    if _text(attributes.get("format")) != FORMAT:
        raise CalibrationFileError(f"{path}: it is no calibration file; `rashpa calibrate pedestal` makes one")
    version = int(attributes.get("version", 0))
    if version != VERSION:
        raise CalibrationFileError(f"{path}: version {version}; this program reads version {VERSION}")
    numbers = sorted(
        int(name.removeprefix("module"))
        for name in file
        if name.startswith("module") and name.removeprefix("module").isdecimal()
    )
    groups = {number: _member(file, f"module{number}", Group) for number in numbers}
    return CalibrationFacts(
        version,
        _text(attributes.get("date")),
        _text(attributes.get("detector")),
        tuple(numbers),
        {number: _text(group.attrs.get("serial")) for number, group in groups.items()},
        "; ".join(f"module {number}: {_text(group.attrs.get('source'))}" for number, group in groups.items()),
    )


def _text(value: Any) -> str:
    text = value.decode(errors="replace") if isinstance(value, bytes) else value
    return text[:_LONGEST_TEXT] if isinstance(text, str) else ""
