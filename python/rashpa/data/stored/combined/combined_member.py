# SPDX-License-Identifier: Apache-2.0
"""Reads the part of a master that goes into a combined file: its images, its description of the experiment, and its run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from rashpa.data.base.bad_file import blaming
from rashpa.data.files.hdf5.files import folders_of
from rashpa.data.files.hdf5.tree import Array, Group, Hdf5File
from rashpa.data.parts.run_parts import StoredRunError
from rashpa.data.stored.reader import Run, open_run
from rashpa.data.stored.run_facts import COMPLETENESS
from rashpa.data.stored.stored_facts import text_of

IMAGES = "/entry/data/data"
STATES = ("stored", "data_file_gone", "never_written", "data_file_cut")
"""Of each image of several masters, by its number in /NAME/data/state: whether its pixels could be reached when the file was made."""
COUNTS = ("nimages", "nimages_collected", "nimages_written", "data_collection_efficiency")
"""Below detectorSpecific: what is of one master alone."""
_STATE_OF = {"file": 1, "unwritten": 2, "short": 3}
_OF_ONE = {*COUNTS, "pixel_mask"}
_FEW_VALUES = 4096  # of a dataset that is named by its values
_MOST_VALUES = 1 << 26  # of one that is compared
_MOST_DATASETS = 1000
_DEEPEST = 8


@dataclass(frozen=True)
class Identity:
    """Identifies the run of a master, and the master among the run's files. `run`: the run's id; for older files without one, made from name, number
    and run file."""

    run: str
    file: str

    def as_json(self) -> dict[str, str]:
        """Return the identity as a combined file stores it for each of its masters."""
        return {"run": self.run, "file_id": self.file}


def identity_of(master: Group) -> Identity:
    """Return the identity of an open master. Raise the file's error when it belongs to no run."""
    with blaming(f"{master.file}: what it says of its run cannot be read", StoredRunError):
        said = master["entry/rashpa"].attrs
        named = [text_of(said.get(name, "")) for name in ("run_name", "run_number", "run_file_sha256")]
        own = [text_of(said.get(name, "")) for name in ("buffer", "receiver")]
        began = master.get("entry/start_time")
        own.append(text_of(began[()]) if isinstance(began, Array) and began.shape == () else "")
        return Identity(text_of(said.get("run_id", "")) or json.dumps(named), json.dumps(own))


@dataclass(frozen=True)
class Member:
    """Describes one master. `said`: its description of the experiment, by path; `rows`: frame numbers of all images of the run that it lists. Other
    arrays have one value for each stored image."""

    master: Path
    identity: Identity
    form: str
    run_name: str
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    images: int
    said: Mapping[str, object]
    frames: NDArray[np.uint64]
    partial: NDArray[np.bool_]
    lost: NDArray[np.int64]
    state: NDArray[np.uint8]
    rows: NDArray[np.uint64]
    collected: NDArray[np.uint64]
    mask: NDArray[np.uint32]
    times: Mapping[str, str] = field(default_factory=dict)

    @property
    def kind(self) -> tuple[object, ...]:
        """Return the properties that members of one entry must share."""
        return (self.form, self.shape, self.dtype.str, *self.said.items())


def member_of(master: Path, follow: Iterable[Path] = ()) -> Member:
    """Read a master. Raise StoredRunError when it cannot be read as a run, or is incomplete."""
    folders = folders_of(master, follow)
    with (
        open_run(master, folders=folders) as run,
        Hdf5File(master, kind=StoredRunError, folders=folders) as file,
        blaming(f"{master}: it is damaged", StoredRunError),
    ):
        return _member(master, run, file)


def _member(master: Path, run: Run, file: Hdf5File) -> Member:
    tables = run.tables
    stored = np.flatnonzero(tables.stored_index >= 0)
    stored = stored[np.argsort(tables.stored_index[stored], kind="stable")]
    if len(stored) != len(run):
        raise StoredRunError(f"{master}: its tables and its images do not fit each other; copy it again")
    state = np.zeros(len(run), np.uint8)
    images = file.find(IMAGES)
    if run.form == "dense" and isinstance(images, Array):
        if images.shape != (len(run), *run.shape):
            raise StoredRunError(
                f"{master}: its images have another shape or type than it says: {images.shape}; copy it again"
            )
        for row, absence in images.absences().items():
            state[row] = _STATE_OF[absence.kind]
    came = np.isin(tables.completeness, [COMPLETENESS.index(name) for name in ("complete", "partial")])
    return Member(
        master,
        identity_of(file),
        run.form,
        run.facts.run_name,
        run.shape,
        images.dtype if isinstance(images, Array) else run.dtype,
        len(run),
        {
            "pixel_units": run.facts.pixel_units,
            "kernels": _as_text(run.facts.kernels),
            "masked values": _as_text([*run.masked, *sorted(run.special_values.items())]),
            **_said_of(file),
        },
        run.frame_numbers,
        np.asarray(tables.completeness[stored] == COMPLETENESS.index("partial")),
        run.lost_lines[stored],
        state,
        tables.frame_number,
        tables.frame_number[came],
        run.pixel_mask,
        {name: text for name in ("start_time", "end_time", "end_time_estimated") if (text := _text(file, name))},
    )


def _text(file: Hdf5File, name: str) -> str:
    found = file.find(f"entry/{name}")
    return text_of(found[()]) if isinstance(found, Array) and found.shape == () else ""


def _said_of(file: Hdf5File) -> dict[str, object]:
    """Return values and attributes that describe the experiment and not this file; attributes of axes hold the places of pixels."""
    found: dict[str, object] = {}
    for place in ("instrument", "sample", "source"):
        group = file.find(f"entry/{place}")
        for name, array in _datasets(group, f"{place}/") if isinstance(group, Group) else ():
            if len(found) >= _MOST_DATASETS:
                break
            count = int(np.prod(array.shape, dtype=np.int64))
            if count > _MOST_VALUES:
                continue
            values = np.asarray(array[()])
            found[name] = _as_text(values.tolist()) if count <= _FEW_VALUES else _digest(values)
            found |= {f"{name}@{key}": _as_text(np.asarray(said).tolist()) for key, said in array.attrs.items()}
    return found


def _digest(values: NDArray[Any]) -> str:
    return hashlib.sha256(repr((values.shape, values.dtype.str)).encode() + values.tobytes()).hexdigest()


def _datasets(group: Group, below: str, depth: int = 0) -> Iterator[tuple[str, Array]]:
    """Yield the datasets of the file itself, each once, with their paths."""
    for name in group:
        if name in _OF_ONE or depth > _DEEPEST or not isinstance(group.link_of(name), h5py.HardLink):
            continue
        found = group.find(name)
        if isinstance(found, Array):
            yield f"{below}{name}", found
        elif isinstance(found, Group):
            yield from _datasets(found, f"{below}{name}/", depth + 1)


def _as_text(values: object) -> str:
    return json.dumps(values, default=lambda one: text_of(one) if isinstance(one, bytes) else repr(one))


def differing(first: Member, other: Member) -> list[str]:
    """Return the first paths at which two members describe the experiment differently."""
    places = [*dict.fromkeys((*first.said, *other.said))]
    return [place for place in places if first.said.get(place) != other.said.get(place)][:3]
