# SPDX-License-Identifier: Apache-2.0
"""One file for a run whose images lie in several: at several receivers, in several buffers. It holds no image, but leads to all of them."""

import itertools
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import h5py
import numpy as np

from rashpa.data.bad_file import BadFileError, blaming
from rashpa.data.hdf5.tree import Array, Hdf5File
from rashpa.data.run_parts import RunFileError
from rashpa.data.stored_piece import no_value

MARK = "rashpa_masters"
"""Attribute of the root: the masters, relative to the file's folder."""
_IMAGES = "/entry/data/data"
_ENTRY = "entry"
STATES = ("stored", "data_file_gone", "never_written", "data_file_cut")
"""Of each image of several masters, by its number in /NAME/data/state: whether its pixels could be reached when the file was made."""
_STATE_OF = {"file": 1, "unwritten": 2, "short": 3}
_LINKED = ("definition", "start_time", "end_time", "end_time_estimated", "instrument", "sample", "source")


def combine(parts: Mapping[str, Sequence[Path]], out: Path) -> Path:
    """Writes `out`: an entry by each name, of one master or of several that share its images, as members of a group do: these become one entry of all their
    images in the order of their frames. RunFileError when they do not fit one another, or something else than such a file has its name."""
    if out.exists() and not masters_of(out):
        raise RunFileError(f"{out}: exists, and is no combined master; move it, or choose another name")
    beside = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        with h5py.File(beside, "w") as file:
            masters = [_relative(master, out) for many in parts.values() for master in many]
            file.attrs[MARK] = masters
            file.attrs["NX_class"] = "NXroot"
            file.attrs["default"] = next(iter(parts))
            for name, many in parts.items():
                if len(many) == 1:
                    file[name] = h5py.ExternalLink(_relative(many[0], out), "/entry")
                else:
                    _write_entry(file, name, many, out)
            if _ENTRY not in parts:  # where programs look that know no other name
                file[_ENTRY] = h5py.SoftLink(f"/{next(iter(parts))}")
        beside.replace(out)
    except OSError as error:
        raise RunFileError(f"{out}: cannot be written ({error}); choose another folder") from error
    finally:
        beside.unlink(missing_ok=True)
    return out


def masters_of(path: Path) -> list[Path]:
    """To which a combined master leads; none when it is another file."""
    try:
        with Hdf5File(path) as file, blaming(str(path)):
            return [path.parent / str(name) for name in file.attrs.get(MARK, ())]
    except (OSError, BadFileError):
        return []


def _relative(master: Path, out: Path) -> str:
    """So that folders can be moved together."""
    return os.path.relpath(master.absolute(), out.absolute().parent)


def _write_entry(file: h5py.File, name: str, masters: Sequence[Path], out: Path) -> None:
    frames, shapes, kinds, states = [], [], [], []
    for master in masters:
        with Hdf5File(master, kind=RunFileError) as part:
            images = part.get(_IMAGES)
            if not isinstance(images, Array):
                raise RunFileError(f"{master}: has no dense images; lists of pixels are not combined")
            frames.append(part["/entry/data/frame_number"][()])
            states.append(np.zeros(len(images), np.uint8))
            for row, absence in images.absences().items():
                states[-1][row] = _STATE_OF[absence.kind]
            shapes.append(images.shape)
            kinds.append(images.dtype)
    if len({shape[1:] for shape in shapes}) > 1 or len(set(kinds)) > 1:
        said = ", ".join(
            f"{master.name}: {shape} {kind}" for master, shape, kind in zip(masters, shapes, kinds, strict=True)
        )
        raise RunFileError(f"images of another shape or type do not become one: {said}")
    numbers = np.concatenate(frames)
    order = np.argsort(numbers, kind="stable")
    layout = h5py.VirtualLayout((len(numbers), *shapes[0][1:]), kinds[0])
    sources = [
        h5py.VirtualSource(_relative(master, out).replace("%", "%%"), _IMAGES, shape)  # HDF5 formats these names
        for master, shape in zip(masters, shapes, strict=True)
    ]
    of = np.repeat(np.arange(len(masters)), [len(one) for one in frames])[order]
    place = np.concatenate([np.arange(len(one)) for one in frames])[order]
    for first, end in _runs(of, place):
        at = int(place[first])
        layout[first:end] = sources[int(of[first])][at : at + end - first]
    entry = file.create_group(name)
    entry.attrs["NX_class"], entry.attrs["default"] = "NXentry", "data"
    for linked in _LINKED:
        with Hdf5File(masters[0], kind=RunFileError) as part:
            if f"/entry/{linked}" in part:
                entry[linked] = h5py.ExternalLink(_relative(masters[0], out), f"/entry/{linked}")
    data = entry.create_group("data")
    data.attrs["NX_class"], data.attrs["signal"] = "NXdata", "data"
    data["frame_number"] = numbers[order]
    # what cannot be reached is no measurement, and never 0
    data.create_virtual_dataset("data", layout, fillvalue=no_value(kinds[0]))
    state = data.create_dataset("state", data=np.concatenate(states)[order])
    state.attrs["names"] = list(STATES)
    members = entry.create_group("rashpa")
    members.attrs["NX_class"] = "NXcollection"
    for number, master in enumerate(masters, start=1):
        # in different folders they may have the same name
        members[f"{number:03}_{master.name.removesuffix('_master.h5')}"] = h5py.ExternalLink(
            _relative(master, out), "/entry/rashpa"
        )


def _runs(of: np.ndarray, place: np.ndarray) -> list[tuple[int, int]]:
    """Images that follow one another also in their file."""
    if not of.size:
        return []
    breaks = np.flatnonzero((np.diff(of) != 0) | (np.diff(place) != 1)) + 1
    edges = [0, *breaks.tolist(), of.size]
    return list(itertools.pairwise(edges))
