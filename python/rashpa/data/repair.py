# SPDX-License-Identifier: Apache-2.0
"""Completes the master of a run whose receiver could not: the native module reads the journal and the data files."""

from dataclasses import dataclass, replace
from pathlib import Path

from rashpa import _native
from rashpa.data.books import DataBooks
from rashpa.data.older_files import JOURNAL, MASTER
from rashpa.data.reader import Run, open_run
from rashpa.data.run_books import run_books
from rashpa.data.run_parts import RunFileError, prefix_of


@dataclass(frozen=True)
class Repaired:
    """What became of it. `lost`: images that were stored and are not in their data file; `unknown`: images of which nothing is known."""

    master: Path
    was_complete: bool
    stored: int
    lost: int
    unknown: int
    books: DataBooks


def repair_run(run: Path) -> Repaired:
    """`run`: the master, or the prefix of its name. RunFileError when it cannot be completed: the text says why and what to try."""
    prefix = str(run).removesuffix(MASTER)
    try:
        done = _native.repair(prefix)
    except (_native.FileError, OSError) as error:
        raise RunFileError(str(error)) from error
    with open_run(done.master) as made:
        books = run_books(made)
        if done.was_complete and made.form == "raw":
            books = _indexed(books, made, done.books.expected - done.unknown)
    return Repaired(Path(done.master), done.was_complete, done.books.written, done.lost, done.unknown, books)


def _indexed(books: DataBooks, run: Run, rows: int) -> DataBooks:
    """Count as missing what the index of a raw run lacks and its master has: `rashpa convert` finds images by the index."""
    lacking = min(books.made, max(0, run.books["expected"] - rows))
    if not lacking:
        return books
    index = prefix_of(run.path).name + JOURNAL
    text = f"{run.path}: its index {index} is cut, and lacks {lacking} images that the master has; copy it again"
    return replace(books, made=books.made - lacking, missing=books.missing + lacking, troubles=(text, *books.troubles))
