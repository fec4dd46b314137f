# SPDX-License-Identifier: Apache-2.0
"""Completes the master of a run whose receiver could not: the native module reads the journal and the data files."""

from dataclasses import dataclass
from pathlib import Path

from rashpa import _native
from rashpa.data.run_parts import MASTER, RunFileError


@dataclass(frozen=True)
class Repaired:
    """What became of it. `lost`: images that were stored and are not in their data file; `unknown`: images of which nothing is known."""

    master: Path
    was_complete: bool
    stored: int
    lost: int
    unknown: int


def repair_run(run: Path) -> Repaired:
    """`run`: the master, or the prefix of its name. RunFileError when it cannot be completed: the text says why and what to try."""
    prefix = str(run).removesuffix(MASTER)
    try:
        done = _native.repair(prefix)
    except (_native.FileError, OSError) as error:
        raise RunFileError(str(error)) from error
    return Repaired(Path(done.master), done.was_complete, done.books.written, done.lost, done.unknown)
