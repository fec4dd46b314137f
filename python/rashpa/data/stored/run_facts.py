# SPDX-License-Identifier: Apache-2.0
"""Describes the facts of a stored run that the reader returns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

COMPLETENESS = ("open", "complete", "partial", "missing")
DECISIONS = ("none", "accepted", "vetoed", "errored")
OF_METHOD = frozenset({"empty_rings"})
"""Columns of kernels that tell of their method, and of no hit."""
OF_HEADER = frozenset({"detector_frame", "bunch_id", "detector_time", "exposure", "daq_info", "module_id", "real_time"})
"""Columns that a detector tells with its packets or messages (src/rashpa/link/sls/header.cpp, src/rashpa/link/stream2/receiver.cpp)."""
ERROR_REASONS = ("none", "unit", "overwritten", "storage", "dropped")


@dataclass(frozen=True)
class LostRun:
    """Describes consecutive lines of one DTP's region that did not arrive."""

    dtp: int
    first_line: int
    lines: int


@dataclass(frozen=True)
class RunTables:
    """Holds the tables of a run, with one value for each image, stored or not."""

    frame_number: NDArray[np.uint64]
    timestamp_ns: NDArray[np.uint64]  # TAI; 0: no frame record arrived
    flags: NDArray[np.uint32]
    completeness: NDArray[np.uint8]  # index into COMPLETENESS
    decision: NDArray[np.uint8]  # index into DECISIONS
    veto_reason: NDArray[np.uint8]  # index into Run.veto_reasons
    stored_index: NDArray[np.int64]  # place among the stored images; -1: not stored
    error_reason: NDArray[np.uint8]  # index into ERROR_REASONS; all "none" in files of before it was kept
    scalars: dict[str, NDArray[Any]]  # results of the kernels, in the order of the pipeline

    def stored_at(self, frame: int) -> int:
        """Return the index of a detector's frame among the stored images. Raise IndexError with the reason when there is none."""
        rows = np.flatnonzero(self.frame_number == frame).tolist() if frame >= 0 else []
        for row in rows:
            if self.stored_index[row] >= 0:
                return int(self.stored_index[row])
        if not rows:
            known = (
                f"; its frames are {self.frame_number.min()} to {self.frame_number.max()}"
                if len(self.frame_number)
                else ""
            )
            raise IndexError(f"the run has no frame {frame}{known}")
        completeness, decision = COMPLETENESS[self.completeness[rows[0]]], DECISIONS[self.decision[rows[0]]]
        raise IndexError(f"frame {frame} is not stored: it is {completeness} and {decision}")

    def counted(self, name: str) -> NDArray[Any]:
        """Return a number of every image; -1 where nothing was counted, as for dark, refused and missing images, and without the kernel."""
        if name not in self.scalars:
            return np.full(len(self.decision), -1, np.int64)
        column = self.scalars[name]
        if column.dtype.kind == "f":
            return np.where(np.isnan(column), -1, column)
        limits = np.iinfo(column.dtype)
        none = limits.max if column.dtype.kind == "u" else limits.min
        return np.where(column == none, -1, column.astype(np.int64))


@dataclass(frozen=True)
class RunFacts:
    """Holds a file's facts about its run; empty in files of versions that did not store them."""

    run_number: int | None
    run_name: str
    run_file: str  # its path, as the manager knew it
    run_file_sha256: str
    run_id: str  # common to all files of one run; empty in files of before
    pixel_units: str  # "photons", "keV", "raw words"; empty: as the detector sent them
    kernels: tuple[tuple[str, dict[str, Any]], ...]  # in order: name, parameters
    calibration: dict[
        str, tuple[str, str]
    ]  # "pedestal_0": file, SHA-256 of the file or, where there is none, of the values
    calibration_made: dict[str, tuple[str, str, str]]  # the same, of calibration files: version, date, source


@dataclass(frozen=True)
class TableFacts:
    """Describes a table that a kernel has filled: rows of named columns, with any number of rows for an image."""

    columns: tuple[str, ...]
    capacity: int  # most rows of an image
    rows: int  # of all stored images


@dataclass(frozen=True)
class ProfileFacts:
    """Describes arrays of fixed length that a kernel has made from each image: their names with units, and their axes, the slow one first."""

    arrays: dict[str, str]
    axes: dict[str, NDArray[np.float64]]
    units: dict[str, str]  # of the axes

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(values) for values in self.axes.values())


@dataclass(frozen=True)
class AccumulatedWindow:
    """Describes a range of consecutive images, some of which a kernel has added up."""

    number: int
    first_image: int  # row in the tables
    end_image: int  # behind the last one
    images: int  # that were added up


@dataclass(frozen=True)
class AccumulationFacts:
    """Describes arrays that a kernel has accumulated over the run, or over windows of it."""

    quantities: tuple[str, ...]
    shape: tuple[int, ...]  # of each
    windows: tuple[AccumulatedWindow, ...]
    images_added: str  # "accepted", or "reached": all that the kernels before it let through


@dataclass(frozen=True)
class ChangedLimit:
    """Describes a change of a veto's limit during the run."""

    time: str  # UTC, ISO 8601
    kernel: int  # place in the pipeline, from 0 on
    step: str
    key: str
    old: Any
    new: Any
    first_image: int  # row of the first image that was decided by the new one
    by: str


@dataclass(frozen=True)
class IncompleteImage:
    """Describes an image that lost some or all of its lines."""

    row: int
    frame_number: int
    completeness: str
    lost: tuple[LostRun, ...]


@dataclass(frozen=True)
class RunSummary:
    """Holds the summary that `rashpa inspect` shows."""

    file: Path
    form: Literal["dense", "sparse", "raw"]
    stored: int
    shape: tuple[int, int]  # rows, columns
    dtype: str
    books: dict[str, int]
    balanced: bool
    vetoes: dict[str, int]
    errors: dict[str, int]
    unknown: int  # images of which nothing is known, because the receiver ended early
    incomplete: int
    first_incomplete: tuple[IncompleteImage, ...]
    frame_rate_hz: float | None  # by the frames' own timestamps
    dense_bytes: int  # of the stored images, every pixel
    stored_bytes: int
    judged: bool = True  # whether the pipeline held a kernel with a verdict
    tables: dict[str, TableFacts] = field(default_factory=dict)
    profiles: dict[str, ProfileFacts] = field(default_factory=dict)
    accumulations: dict[str, AccumulationFacts] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)  # detector, sample, start_time, end_time, proof, labels, …

    @property
    def compression_ratio(self) -> float | None:
        """Return the ratio of the uncompressed bytes of the stored images to their bytes on disk."""
        return self.dense_bytes / self.stored_bytes if self.stored_bytes else None

    @property
    def hit_rate(self) -> float | None:
        """Return the share of accepted images among the decided ones, None when no kernel decided on images."""
        if not self.judged:
            return None
        decided = self.books["accepted"] + self.books["vetoed"] + self.books["errored"]
        return self.books["accepted"] / decided if decided else None


def hit_column_of(scalars: Iterable[str]) -> str | None:
    """Return the name of the number that a hit curve shows: the pipeline's last one that counts hits, which belongs to the verdict if there is one."""
    return next((name for name in reversed(list(scalars)) if name not in OF_METHOD | OF_HEADER), None)
