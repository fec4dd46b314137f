# SPDX-License-Identifier: Apache-2.0
"""Computes the books of each series of a run."""

import math
from dataclasses import dataclass

import numpy as np

from rashpa.control.books.accounting import COMPLETE, MISSING, PARTIAL
from rashpa.control.books.outcome import Outcome
from rashpa.control.plan.series import images_of_series
from rashpa.control.runfile import run_file as toml

_ACCEPTED, _VETOED, _ERRORED = 1, 2, 3  # of the table of decisions


@dataclass(frozen=True)
class SeriesBooks:
    """Holds the books of one buffer in one series. The written images are in the series' files."""

    buffer: str
    expected: int
    complete: int
    partial: int
    missing: int
    accepted: int
    vetoed: int
    errored: int


@dataclass(frozen=True)
class Series:
    """Describes one series, with numbers from 1; the last series may be shorter."""

    number: int
    first_frame: int
    frames: int
    books: tuple[SeriesBooks, ...]


def series_of(outcome: Outcome) -> tuple[Series, ...]:
    """Return the books of all series, from the receivers' tables; empty without series, or without tables."""
    length = outcome.plan.file.run.series_frames
    if length is None or not outcome.accounts:
        return ()
    numbers = range(math.ceil(outcome.frames / length))
    return tuple(
        Series(
            number + 1,
            number * length,
            min(length, outcome.frames - number * length),
            tuple(_books_of(outcome, buffer.section, number) for buffer in outcome.plan.buffers),
        )
        for number in numbers
    )


def _books_of(outcome: Outcome, buffer: toml.Buffer, number: int) -> SeriesBooks:
    images = images_of_series(outcome.plan.file, buffer)
    part = slice(number * images, (number + 1) * images)
    found = np.frombuffer(outcome.completeness[buffer.name], np.uint8)[part]
    decided = np.frombuffer(outcome.decisions[buffer.name], np.uint8)[part]
    counts = [int((found == state).sum()) for state in (COMPLETE, PARTIAL, MISSING)]
    decisions = [int((decided == decision).sum()) for decision in (_ACCEPTED, _VETOED, _ERRORED)]
    return SeriesBooks(buffer.name, found.size, *counts, *decisions)
