# SPDX-License-Identifier: Apache-2.0
"""Writes an entry for the images of several masters of one run: the best copy of each frame, with sums and time spans over all masters."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from rashpa.data.files.hdf5.tree import Array, Group, Hdf5File
from rashpa.data.parts.older_files import MASTER
from rashpa.data.parts.run_parts import StoredRunError
from rashpa.data.stored.combined.combined_member import COUNTS, IMAGES, STATES, Member, differing
from rashpa.data.stored.stored_piece import no_value

_LINKED = ("definition", "sample", "source")
_DETECTOR = "instrument/detector"
_SPECIFIC = f"{_DETECTOR}/detectorSpecific"
_PIXELS = "pixel"
"""The images, where a detector is looked at."""
_OWN = ("instrument", _DETECTOR, _SPECIFIC)
"""Groups of the entry itself; all else of theirs is a link into the first master."""


def write_entry(file: h5py.File, name: str, members: Sequence[Member], relative: Callable[[Path], str]) -> None:
    """Write the group `name`. Raise StoredRunError when the members do not belong together."""
    _check_fit(members)
    first = members[0]
    entry = file.create_group(name)
    entry.attrs["NX_class"], entry.attrs["default"] = "NXentry", "data"
    chosen = _Chosen(members)
    _write_data(entry.create_group("data"), members, chosen, relative)
    for time, last in (("start_time", min), ("end_time", max), ("end_time_estimated", max)):
        if times := [one.times[time] for one in members if time in one.times]:
            entry[time] = last(times, key=_moment)
    counts = _counts(members, chosen)
    with Hdf5File(first.master, kind=StoredRunError) as master:
        _link(entry, master, ("entry",), _LINKED, relative(first.master))
        for group in _OWN:
            found = master.find(f"entry/{group}")
            if not isinstance(found, Group):
                break
            made = entry.create_group(group)
            made.attrs.update({key: value for key, value in found.attrs.items() if isinstance(value, str | int)})
            kept = {"detector", "detectorSpecific", "pixel_mask"} | (set(COUNTS) if group == _SPECIFIC else set())
            kept |= {one for one in found if _is_of_images(found, one, first.images)}
            _link(made, master, ("entry", group), [one for one in found if one not in kept], relative(first.master))
            if group == _DETECTOR and _PIXELS in found:
                made[_PIXELS] = h5py.SoftLink(f"/{name}/data/data")
    if _DETECTOR in entry:
        _write_mask(entry[_DETECTOR], members, relative(first.master))
    if _SPECIFIC in entry:
        for count, value in counts.items():
            entry[_SPECIFIC][count] = value
    _write_members(entry.create_group("rashpa"), members, chosen, relative)


def _moment(text: str) -> tuple[dt.datetime, str]:
    """Parse a time in any zone and precision. A time without a zone counts as UTC; a text that is no time sorts first."""
    try:
        found = dt.datetime.fromisoformat(text)
    except ValueError:
        return dt.datetime.min.replace(tzinfo=dt.UTC), text
    return (found if found.tzinfo else found.replace(tzinfo=dt.UTC)), text


def write_entry_of_one(file: h5py.File, name: str, master: Path, relative: str) -> None:
    """Write the group `name` with links to the members of the master's entry. A single link to that entry does not suffice: programs that build paths
    from names need groups in this file."""
    with Hdf5File(master, kind=StoredRunError) as found:
        entry = file.create_group(name)
        entry.attrs.update(_attributes(found["entry"]))
        _link(entry, found, ("entry",), [one for one in found["entry"] if one != "data"], relative)
        data = found.find("entry/data")
        if isinstance(data, Group):
            made = entry.create_group("data")
            made.attrs.update(_attributes(data))
            _link(made, found, ("entry", "data"), list(data), relative)


def _attributes(group: Group) -> dict[str, Any]:
    """Return the attributes that define a group's class and default view."""
    kept = {"NX_class", "default", "signal", "axes", "auxiliary_signals"}
    return {name: value for name, value in group.attrs.items() if name in kept or name.endswith("_indices")}


def _check_fit(members: Sequence[Member]) -> None:
    first = members[0]
    if any(one.form != "dense" for one in members):
        raise StoredRunError(
            f"{first.master}: lists of pixels and raw files are not combined; rashpa convert makes images"
        )
    if any((one.shape, one.dtype) != (first.shape, first.dtype) for one in members):
        said = ", ".join(f"{one.master.name}: {one.shape} {one.dtype}" for one in members)
        raise StoredRunError(f"images of another shape or type do not become one: {said}")
    for one in members:
        if places := differing(first, one):
            raise StoredRunError(
                f"{one.master}: it says something else of {', '.join(places)} than {first.master}; give them entries of their own"
            )


def _is_of_images(group: Group, name: str, images: int) -> bool:
    """Return True when the dataset is an array over the images of the first master only; readers would assume that it covers all masters."""
    found = group.find(name)
    return name == _PIXELS or (isinstance(found, Array) and len(found.shape) > 2 and found.shape[0] == images)


class _Chosen:
    """Chooses the best copy of each frame: a reachable one first, then a complete one, then fewer lost lines, then the order of the masters."""

    def __init__(self, members: Sequence[Member]) -> None:
        frames = np.concatenate([one.frames for one in members])
        self.of = np.repeat(np.arange(len(members)), [one.images for one in members])
        self.place = np.concatenate([np.arange(one.images) for one in members])
        self.state = np.concatenate([one.state for one in members])
        self.partial = np.concatenate([one.partial for one in members])
        lost = np.concatenate([one.lost for one in members])
        order = np.lexsort((self.place, self.of, lost, self.partial, self.state != 0, frames))
        best = np.ones(len(order), np.bool_)
        best[1:] = np.diff(frames[order]) != 0
        self.frames: NDArray[np.uint64] = frames
        self.best: NDArray[np.intp] = order[best]
        self.copies: NDArray[np.intp] = order[~best]


def _write_data(data: h5py.Group, members: Sequence[Member], chosen: _Chosen, relative: Callable[[Path], str]) -> None:
    first = members[0]
    layout = h5py.VirtualLayout((len(chosen.best), *first.shape), first.dtype)
    sources = [
        h5py.VirtualSource(
            relative(one.master).replace("%", "%%"), IMAGES, (one.images, *one.shape)
        )  # HDF5 formats these
        for one in members
    ]
    of, place = chosen.of[chosen.best], chosen.place[chosen.best]
    for begin, end in _runs(of, place):
        at = int(place[begin])
        layout[begin:end] = sources[int(of[begin])][at : at + end - begin]
    data.attrs["NX_class"], data.attrs["signal"] = "NXdata", "data"
    data.attrs["axes"] = ["frame_number", ".", "."]
    data["frame_number"] = chosen.frames[chosen.best]
    # an unreachable image is no measurement, and never 0
    data.create_virtual_dataset("data", layout, fillvalue=no_value(first.dtype))
    state = data.create_dataset("state", data=chosen.state[chosen.best])
    state.attrs["names"] = list(STATES)


def _write_mask(detector: h5py.Group, members: Sequence[Member], first: str) -> None:
    mask = np.bitwise_or.reduce([one.mask for one in members])
    if (mask == members[0].mask).all():
        detector["pixel_mask"] = h5py.ExternalLink(first, f"/entry/{_DETECTOR}/pixel_mask")
    else:
        detector.create_dataset("pixel_mask", data=mask, chunks=mask.shape, compression="gzip")


def _counts(members: Sequence[Member], chosen: _Chosen) -> dict[str, Any]:
    rows = np.unique(np.concatenate([one.rows for one in members] + [chosen.frames])).size
    collected = np.unique(np.concatenate([one.collected for one in members] + [chosen.frames])).size
    counted = (np.uint64(rows), np.uint64(collected), np.uint64(len(chosen.best)), collected / rows if rows else 0.0)
    return dict(zip(COUNTS, counted, strict=True))


def _write_members(
    group: h5py.Group, members: Sequence[Member], chosen: _Chosen, relative: Callable[[Path], str]
) -> None:
    """Write the facts of each master, and the copies of frames that are not used as images."""
    group.attrs["NX_class"] = "NXcollection"
    for number, one in enumerate(members, start=1):
        # in different folders they may have the same name
        name = f"{number:03}_{one.master.name.removesuffix(MASTER)}"
        group[name] = h5py.ExternalLink(relative(one.master), "/entry/rashpa")
    copies = group.create_group("copies")
    copies.attrs["NX_class"] = "NXcollection"
    copies.attrs["description"] = (
        "images that are not in /data: of their frames another master has a copy as good or better"
    )
    copies["frame_number"] = chosen.frames[chosen.copies]
    copies["master"] = chosen.of[chosen.copies].astype(np.uint32) + np.uint32(1)
    copies["place"] = chosen.place[chosen.copies].astype(np.uint64)
    copies["partial"] = chosen.partial[chosen.copies].astype(np.uint8)


def _link(made: h5py.Group, master: Hdf5File, path: Sequence[str], names: Sequence[str], file: str) -> None:
    """Link to members of a group of the master."""
    at = "/".join(path)
    for name in names:
        if f"{at}/{name}" in master:
            made[name] = h5py.ExternalLink(file, f"/{at}/{name}")


def _runs(of: NDArray[np.intp], place: NDArray[np.intp]) -> list[tuple[int, int]]:
    """Return runs of images that are consecutive also in their file."""
    if not of.size:
        return []
    breaks = np.flatnonzero((np.diff(of) != 0) | (np.diff(place) != 1)) + 1
    edges = [0, *breaks.tolist(), of.size]
    return list(itertools.pairwise(edges))
