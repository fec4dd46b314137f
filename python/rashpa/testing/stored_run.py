# SPDX-License-Identifier: Apache-2.0
"""Makes files in the layout of the `hdf5` sink with h5py only, so that the reader is tested without compiled code."""

from pathlib import Path

import h5py
import hdf5plugin
import numpy as np
from numpy.typing import NDArray

ROWS, COLUMNS, IMAGES, PER_FILE = 40, 64, 20, 4
VETOED, MISSING, PARTIAL = (3, 4, 9), 7, 11  # frames that are not stored, and one that lacks lines 2 and 3 of DTP 5
ACCEPTED = tuple(frame for frame in range(IMAGES) if frame not in (*VETOED, MISSING))


def pixels(frame: int) -> NDArray[np.int16]:
    """Return the photons of a frame; column 10 is masked, and so are the lost lines of the partial frame."""
    image = np.random.default_rng(frame).poisson(0.1, (ROWS, COLUMNS)).astype(np.int16)
    image[5, 20] = 100 + frame
    image[:, 10] = np.iinfo(np.int16).min
    if frame == PARTIAL:
        image[22:24, 8:40] = np.iinfo(np.int16).min
    return image


def make_run(folder: Path, sparse: bool = False) -> Path:
    """Write a run of IMAGES frames, and return the master's path."""
    master = folder / "run_master.h5"
    with h5py.File(master, "w") as file:
        entry = file.create_group("entry")
        entry["definition"] = "NXmx"
        entry["start_time"] = "2026-01-01T00:00:00.000Z"
        entry["sample/name"] = "lysozyme"
        detector = entry.create_group("instrument/detector")
        detector["description"] = "JUNGFRAU (emulated)"
        mask = np.zeros((ROWS, COLUMNS), np.uint32)
        mask[:, 10] = 2
        detector["pixel_mask"] = mask
        data = entry.create_group("data")
        data["frame_number"] = np.array(ACCEPTED, np.uint64)
        (_write_sparse if sparse else _write_dense)(folder, data)
        _write_tables(entry.create_group("rashpa"))
    return master


def member(folder: Path, first: int, run: str = "one") -> Path:
    """Make a run in which every second image, from `first` on, belongs to this member: its frame numbers are 2 n + first."""
    folder.mkdir()
    master = make_run(folder)
    with h5py.File(master, "r+") as file:
        entry = file["entry"]
        entry.attrs["NX_class"] = "NXentry"
        entry["data/frame_number"][...] = 2 * np.array(ACCEPTED, np.uint64) + first
        entry["rashpa/frame_number"][...] = 2 * np.arange(IMAGES, dtype=np.uint64) + first
        entry["rashpa"].attrs["run_id"] = run
        entry["rashpa"].attrs["receiver"] = folder.name
        del entry["start_time"]
        entry["start_time"] = f"2026-01-01T00:00:0{first}.000Z"
        entry["end_time"] = f"2026-01-01T00:01:0{first}.000Z"
        entry["instrument/detector/beam_center_y"] = 20.25
        for name in ("nimages", "nimages_collected", "nimages_written"):
            entry[f"instrument/detector/detectorSpecific/{name}"] = np.uint64(IMAGES)
    return master


def _write_dense(folder: Path, data: h5py.Group) -> None:
    whole = h5py.VirtualLayout((len(ACCEPTED), ROWS, COLUMNS), np.int16)
    for number, first in enumerate(range(0, len(ACCEPTED), PER_FILE), start=1):
        name = f"run_data_{number:06}.h5"
        images = np.stack([pixels(frame) for frame in ACCEPTED[first : first + PER_FILE]])
        with h5py.File(folder / name, "w") as part:
            chunks = (1, ROWS, COLUMNS)
            part.create_dataset("entry/data/data", data=images, chunks=chunks, compression=hdf5plugin.Bitshuffle())
        data[f"data_{number:06}"] = h5py.ExternalLink(name, "/entry/data/data")
        whole[first : first + len(images)] = h5py.VirtualSource(name, "/entry/data/data", images.shape)
    data.create_virtual_dataset("data", whole)


def _write_sparse(_folder: Path, data: h5py.Group) -> None:
    lists = [np.flatnonzero(pixels(frame).ravel() > 0) for frame in ACCEPTED]
    data["index"] = np.concatenate(lists).astype(np.uint32)
    data["intensity"] = np.concatenate([pixels(f).ravel()[i] for f, i in zip(ACCEPTED, lists, strict=True)])
    data["frame_ptr"] = np.cumsum([0, *(len(i) for i in lists)]).astype(np.uint64)


def _write_tables(group: h5py.Group) -> None:
    frames = np.arange(IMAGES, dtype=np.uint64)
    stored = np.full(IMAGES, -1, np.int64)
    stored[list(ACCEPTED)] = np.arange(len(ACCEPTED))
    completeness, decision, reason = (np.full(IMAGES, value, np.uint8) for value in (1, 1, 0))
    completeness[MISSING], completeness[PARTIAL] = 3, 2
    decision[list(VETOED)], decision[MISSING] = 2, 0
    reason[list(VETOED)] = [1, 1, 3]
    bright = np.where(stored >= 0, 10 + frames, 0).astype(np.uint32)
    lost = np.where(frames == PARTIAL, 1, 0)
    columns = {
        "frame_number": frames,
        "timestamp_ns": np.where(frames == MISSING, 0, 10**9 + frames * 500_000),  # 2 kHz
        "flags": np.zeros(IMAGES, np.uint32),
        "completeness": completeness,
        "decision": decision,
        "veto_reason": reason,
        "bright_pixels": bright,
        "masked_pixels": np.full(IMAGES, ROWS, np.uint32),
        "saturated_pixels": np.zeros(IMAGES, np.uint32),
        "stored_index": stored,
        "lost_runs/ptr": np.cumsum([0, *lost]).astype(np.uint64),
        "lost_runs/dtp": np.array([5], np.uint32),
        "lost_runs/first_line": np.array([2], np.uint32),
        "lost_runs/lines": np.array([2], np.uint32),
        "dtps/id": np.array([4, 5], np.uint32),
        "dtps/module": np.array([0, 1], np.uint32),
        "dtps/x": np.array([0, 8], np.uint32),
        "dtps/y": np.array([0, 20], np.uint32),
        "dtps/width": np.array([64, 32], np.uint32),
        "dtps/height": np.array([20, 20], np.uint32),
    }
    for name, values in columns.items():
        group[name] = values
    accepted = len(ACCEPTED)
    books = {"expected": IMAGES, "complete": IMAGES - 2, "partial": 1, "missing": 1, "accepted": accepted}
    books |= {"vetoed": len(VETOED), "errored": 0, "written": accepted, "balanced": 1}
    for name, value in books.items():
        group[f"books/{name}"] = value
    group.attrs["labels"] = np.array([b"synthetic data"])
    group.attrs["proof"] = np.bytes_(b"lines")
