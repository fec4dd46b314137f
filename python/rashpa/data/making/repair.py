# SPDX-License-Identifier: Apache-2.0
"""Completes the master of a run that its receiver could not complete: the native module reads the journal and the data files.

A separate process under limits does the work, because the run may be foreign.
"""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rashpa import _native
from rashpa.data.base.books import DataBooks
from rashpa.data.files.file_names import is_hdf5
from rashpa.data.files.hdf5.files import folders_of
from rashpa.data.files.images import Patience
from rashpa.data.files.limited_process import Limits
from rashpa.data.parts.older_files import JOURNAL, MASTER, leaders_of
from rashpa.data.parts.run_parts import StoredRunError, prefix_of, size_of_parts
from rashpa.data.stored.combined.combined import is_combined, left_out_in, remake
from rashpa.data.stored.limited_answer import answer_of, give_answer
from rashpa.data.stored.reader import Run, open_run
from rashpa.data.stored.run_books import run_books


@dataclass(frozen=True)
class Repaired:
    """Holds the result of a repair. `lost`: stored images that are absent in their data file; `unknown`: images of unknown fate."""

    master: Path
    was_complete: bool
    stored: int
    lost: int
    unknown: int
    books: DataBooks


@dataclass(frozen=True)
class _Counts:
    """Holds the process's counts. `expected`: images of the run, as far as its journal shows."""

    master: str
    was_complete: bool
    written: int
    lost: int
    unknown: int
    expected: int


def repair_run(run: Path, *, follow: Iterable[Path] = (), patience: Patience | None = None) -> Repaired:
    """Repair a run. `run`: the master, or the prefix of its name; `follow`: folders to which names of its files may lead. Raise StoredRunError, with
    reason and remedy, when it cannot be completed."""
    prefix = Path(str(run).removesuffix(MASTER))
    folders = tuple(follow)
    _check_single(run)
    size = size_of_parts(prefix, folders)
    allowed = math.ceil((patience or Patience(seconds=300.0)).of(size))
    limits = Limits(seconds=allowed)
    limits = replace(limits, file_bytes=max(limits.file_bytes, 4 * size))
    said = answer_of("rashpa.data.making.repair", [str(prefix)], limits, allowed, run)
    if "error" in said:
        text = str(said["error"])
        raise StoredRunError(text if str(prefix) in text else f"{run}: {text}")
    try:
        done = _Counts(**said)
    except TypeError:
        raise StoredRunError(f"{run}: the process that repairs it gave an impossible answer; copy it again") from None
    with open_run(done.master, folders=folders_of(Path(done.master), folders)) as made:
        books = run_books(made)
        if done.was_complete and made.form == "raw":
            books = _indexed(books, made, done.expected - done.unknown)
    for leading in leaders_of(prefix):
        if leading.name.endswith(MASTER):
            remake(leading, folders)
    return Repaired(Path(done.master), done.was_complete, done.written, done.lost, done.unknown, books)


def _check_single(run: Path) -> None:
    """Raise StoredRunError when the file links to other masters. These are repaired one by one, and each repair makes the linking file again."""
    leading = run if is_hdf5(run) else Path(f"{run}{MASTER}")
    if not is_combined(leading):
        return
    lacking = left_out_in(leading)
    if not lacking:
        raise StoredRunError(f"{leading}: it leads to other files, which are complete; there is nothing to do")
    commands = ", ".join(f"`rashpa repair {leading.parent / name}`" for name in lacking)
    raise StoredRunError(
        f"{leading}: it leads to other files, of which {len(lacking)} are not complete; repair those, and it is made again: {commands}"
    )


def _repair(asked: list[Any]) -> dict[str, Any]:
    done = _native.repair(*asked)
    books = done.books
    return asdict(_Counts(done.master, done.was_complete, books.written, done.lost, done.unknown, books.expected))


def _indexed(books: DataBooks, run: Run, rows: int) -> DataBooks:
    """Return the books with images as missing that the master lists and the raw index lacks, because `rashpa convert` finds images by the index."""
    lacking = min(books.made, max(0, run.books["expected"] - rows))
    if not lacking:
        return books
    index = prefix_of(run.path).name + JOURNAL
    text = f"{run.path}: its index {index} is cut, and lacks {lacking} images that the master has; copy it again"
    return replace(books, made=books.made - lacking, missing=books.missing + lacking, troubles=(text, *books.troubles))


if __name__ == "__main__":
    give_answer(_repair)
