# SPDX-License-Identifier: Apache-2.0
"""Loads a stored run as a dataset: its images cut into modules, and the times at which they were taken."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rashpa import _native
from rashpa.data.base.books import DataBooks
from rashpa.data.datasets.dataset_spec import StoredSpec
from rashpa.data.geometry.orientation import UPRIGHT, Orientation
from rashpa.data.stored.masked_stored import MaskedStored
from rashpa.data.stored.run_facts import COMPLETENESS
from rashpa.data.stored.source_facts import read_source_facts
from rashpa.data.stored.stored_images import RawShape, open_stored
from rashpa.data.stored.stored_piece import Piece, Reading, Stored, StoredError

_PIECE_BYTES = 64 << 20
_KEPT_FLAGS = 1 | 2  # dark, laser: facts of the frame itself
_COMPLETE = COMPLETENESS.index("complete")


@dataclass(frozen=True)
class Times:
    """Holds the times at which frames are due, in ns after the first. `period_ns`: the time after which the first frame is due again."""

    due_ns: NDArray[np.int64]
    period_ns: int


@dataclass(frozen=True)
class Replay:
    """Holds a replayed dataset. `said`: a summary as text. `books`: counts of the stored images up to the last one that is played."""

    dataset: _native.Dataset
    times: Times | None
    said: str
    books: DataBooks


@dataclass(frozen=True)
class _Module:
    """Describes the place of a module in the stored images."""

    x: int
    y: int
    width: int
    height: int
    way: Orientation

    def cut(self, images: NDArray[np.generic]) -> NDArray[np.generic]:
        """Return the module's part of the images, in readout order."""
        width, height = self.way.sides(self.width, self.height)
        part = images[:, self.y : self.y + height, self.x : self.x + width]
        return np.ascontiguousarray(self.way.turned_back(part))


def load_replay(spec: StoredSpec, folders: tuple[Path, ...] = ()) -> Replay:
    """Load stored images in their order. Vetoed, lost and absent images leave gaps only in the times. `folders`: the folders to which links of the
    file may lead, by default its own and those of `follow`. Raise FileError or ConfigError."""
    path = Path(spec.path)
    with _reading():
        reading = Reading(folders, tuple(map(Path, spec.follow)), spec.allow_missing)
        stored: Stored = open_stored([path], RawShape(0, 0, "uint16"), reading)
        try:
            there = np.setdiff1d(np.arange(stored.frames, dtype=np.int64), stored.absent.images, assume_unique=True)
            if there.size == 0:
                raise _native.FileError(f"dataset: {path} holds no image; there is nothing to play")
            _check_masked(spec, stored)
            stored = _with_mask(spec, stored, reading)
            modules = _modules(spec, stored.shape)
            there = there[: spec.frames or there.size]
            count = int(there.size)
            width, height = modules[0].width, modules[0].height
            dataset = _native.MemoryDataset(width, height, stored.pixel, len(modules), count)
            facts = _fill(dataset, stored, modules, there)
        finally:
            stored.close()
    said = _said(path, facts, count, stored.frames)
    books = _books(path, stored, there, limited=spec.frames > 0)
    return Replay(dataset, _times(spec, facts), f"{said}; {stored.absent.said}" if stored.absent.said else said, books)


def _books(path: Path, stored: Stored, there: NDArray[np.int64], *, limited: bool) -> DataBooks:
    """Return the books; with `limited`, images after the last played one do not count."""
    due = int(there[-1]) + 1 if limited else stored.frames
    gone = due - int(there.size)
    return DataBooks(due, int(there.size), gone, 0, (f"{path}: {stored.absent.said}",) if gone else ())


@contextmanager
def _reading() -> Iterator[None]:
    try:
        yield
    except StoredError as error:
        raise _native.FileError(f"dataset: {error}") from None


def _with_mask(spec: StoredSpec, stored: Stored, reading: Reading) -> Stored:
    """Return the images with the file's mask applied, if `spec` asks for it and the file has one."""
    path = Path(spec.path)
    mask = read_source_facts(path, stored.shape, reading).mask if spec.bad_pixels == "masked" else None
    return stored if mask is None else MaskedStored(stored, mask)


def _check_masked(spec: StoredSpec, stored: Stored) -> None:
    """Check the file's masking against the run file, which tells a receiver the masking. Raise ConfigError when they differ."""
    if stored.stated.masked != spec.masked and np.dtype(stored.pixel).kind == "i":
        what = "all but the least value are measurements" if stored.stated.masked == "minimum" else "none is below zero"
        raise _native.ConfigError(
            f'dataset: {spec.path}: of its {stored.pixel} pixels {what}; set detector.masked = "{stored.stated.masked}"'
        )


def _modules(spec: StoredSpec, shape: tuple[int, int]) -> list[_Module]:
    rows, columns = shape
    width, height = spec.width or columns, spec.height or rows
    places = spec.places or [(0, 0)]
    ways = [Orientation(*way) for way in spec.orientations] or [UPRIGHT] * len(places)
    if len(places) == 1 and ways[0].sides(width, height) == (columns, rows):
        places = [(0, 0)]  # wherever the image lay in a larger one
    modules = [_Module(x, y, width, height, way) for (x, y), way in zip(places, ways, strict=True)]
    for number, one in enumerate(modules):
        wide, high = one.way.sides(width, height)
        if one.x + wide > columns or one.y + high > rows:
            raise _native.ConfigError(
                f"dataset: {spec.path}: its images have {columns} × {rows} pixels, and module {number} of {wide} × {high} at {one.x}, {one.y} is not "
                "wholly in them; let [detector] say where the modules are in these images, or be one module of their size"
            )
    return modules


@dataclass
class _Facts:
    """Holds the facts of the images that are played, None for facts that the file lacks."""

    frame_number: NDArray[np.uint64] | None
    timestamp_ns: NDArray[np.uint64] | None
    partial: int


def _fill(dataset: _native.MemoryDataset, stored: Stored, modules: list[_Module], there: NDArray[np.int64]) -> _Facts:
    """Fill the dataset with the images `there` of the file, in order."""
    image_bytes = stored.shape[0] * stored.shape[1] * np.dtype(stored.pixel).itemsize
    step = max(1, _PIECE_BYTES // image_bytes)
    pieces: list[Piece] = []
    partial = 0
    for first, read_first, count in _reads(there, step):
        piece = stored.read(read_first, count)
        images = piece.images.astype(np.dtype(stored.pixel), copy=False)
        for number, module in enumerate(modules):
            dataset.fill(number, first, module.cut(images))
        if piece.flags is not None:
            for n, flags in enumerate(piece.flags.tolist()):
                dataset.set_flags(first + n, flags & _KEPT_FLAGS)
        if piece.completeness is not None:
            partial += int((piece.completeness != _COMPLETE).sum())
        pieces.append(Piece(images[:0], piece.frame_number, piece.timestamp_ns))
    return _Facts(
        _joined([piece.frame_number for piece in pieces]), _joined([piece.timestamp_ns for piece in pieces]), partial
    )


def _reads(there: NDArray[np.int64], most: int) -> Iterator[tuple[int, int, int]]:
    """Yield runs of consecutive images: first frame in the dataset, first image in the file, and the number of images, at most `most`."""
    breaks = np.flatnonzero(np.diff(there) != 1) + 1
    for first, end in pairwise([0, *breaks.tolist(), there.size]):
        for at in range(first, end, most):
            yield at, int(there[at]), min(most, end - at)


def _joined(parts: list[NDArray[np.uint64] | None]) -> NDArray[np.uint64] | None:
    known = [part for part in parts if part is not None]
    return np.concatenate(known) if known and len(known) == len(parts) else None


def _times(spec: StoredSpec, facts: _Facts) -> Times | None:
    if spec.speed == 0:
        return None
    taken = facts.timestamp_ns
    if taken is None or not (taken > 0).all():
        raise _native.ConfigError(
            f"dataset: {spec.path} does not say when each frame was taken; leave dataset.speed out, and set detector.rate_hz"
        )
    since = (taken - taken.min()).astype(np.float64) / spec.speed
    due = np.maximum.accumulate(np.rint(since).astype(np.int64))
    due -= due[0]
    interval = int(due[-1]) // (len(due) - 1) if len(due) > 1 else 0
    return Times(due, int(due[-1]) + max(1, interval))


def _said(path: Path, facts: _Facts, count: int, stored: int) -> str:
    text = f"{path.name}: {count} of {stored} stored images are played"
    if facts.frame_number is not None and count > 0:
        numbers = facts.frame_number
        every = int(np.diff(numbers).min()) if count > 1 else 1
        span = (int(numbers[-1]) - int(numbers[0])) // max(1, every) + 1
        if span > count:
            text += f"; {span - count} frames between them are not in the file and are left out: they were vetoed, lost or missing"
    if facts.partial:
        text += f"; {facts.partial} of them had lost lines, which are played as they were filled"
    return text
