# SPDX-License-Identifier: Apache-2.0
"""Converts a run of the sink `raw` to NXmx: the native module reads the index and the raw files, and writes as the sink `hdf5` does.

A separate process under limits does the work, because the run may be foreign, and HDF5 reads its tables and facts.
"""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from rashpa import _native
from rashpa.data.base.books import DataBooks
from rashpa.data.files.file_names import is_hdf5
from rashpa.data.files.hdf5.files import folders_of
from rashpa.data.files.images import Patience
from rashpa.data.files.limited_process import Limits
from rashpa.data.files.regular_file import real_path
from rashpa.data.parts.older_files import MASTER
from rashpa.data.parts.run_parts import StoredRunError, size_of_parts
from rashpa.data.parts.staged_files import staged_files
from rashpa.data.stored.combined.combined import is_combined, masters_of
from rashpa.data.stored.limited_answer import answer_of, give_answer
from rashpa.data.stored.reader import open_run
from rashpa.data.stored.run_books import unknown_text

_THREAD_BYTES = 256 << 20  # of address space: its stack, its part of the heap
_LEAST_FILE = 4 << 30


@dataclass(frozen=True)
class Converted:
    """Holds the result of a conversion. `lost`: images of the index that are damaged or absent in the raw files; `unknown`: images of unknown fate."""

    master: Path
    stored: int
    lost: int
    unknown: int
    books: DataBooks


def convert_run(
    run: Path,
    to: Path,
    *,
    existing: Literal["refuse", "replace"] = "refuse",
    images_per_file: int = 1000,
    threads: int = 1,
    patience: Patience | None = None,
    follow: Iterable[Path] = (),
) -> Converted:
    """Convert a run. `run`: the _raw_master.h5, or the prefix of its name; `to`: a master, or a prefix. `patience`: the longest duration; the
    processor time may be as many times longer as there are threads. `follow`: folders to which names of its files may lead. Raise StoredRunError with
    the reason when conversion is impossible; then it leaves no files."""
    source, target = (str(path).removesuffix(MASTER) for path in (run, to))
    if real_path(source) == real_path(target):
        raise StoredRunError(f"{to}: these are the raw files themselves, which stay as they are; choose another name")
    with staged_files(Path(target), replace=existing == "replace") as staged:
        _check_raw(run, follow)
        size = size_of_parts(Path(source), follow)
        allowed = math.ceil((patience or Patience(seconds=300.0)).of(size))
        said = _made(run, [source, str(staged.prefix), images_per_file, threads], size, allowed)
        if "error" in said:
            text = staged.named(str(said["error"]))
            raise StoredRunError(text if source in text else f"{run}: {text}")
        counts = _Counts(**{name: int(said[name]) for name in _Counts.__dataclass_fields__})
        return Converted(staged.publish(), counts.stored, counts.lost, counts.unknown, _books(run, counts))


def _check_raw(run: Path, follow: Iterable[Path]) -> None:
    """Raise StoredRunError when the master is already one of images, not of raw files."""
    master = run if is_hdf5(run) else Path(f"{run}{MASTER}")
    if not master.is_file():
        return
    if is_combined(master):
        names = ", ".join(map(str, masters_of(master, follow)))
        raise StoredRunError(f"{master}: it leads to {names}, which are NXmx; there is nothing to convert")
    try:
        with open_run(master, folders=folders_of(master, follow)) as stored:
            form = stored.form
    except (StoredRunError, OSError):
        return  # the process that converts can report it better
    if form != "raw":
        raise StoredRunError(f"{master}: it is NXmx, as the sink hdf5 writes it; there is nothing to convert")


@dataclass(frozen=True)
class _Counts:
    """Holds the process's counts of a converted run. `promised`: the number of images in the raw master, 0 when the master is incomplete."""

    stored: int
    lost: int
    unknown: int
    expected: int
    decided: int
    missing: int
    errored: int
    promised: int


def _books(run: Path, counts: _Counts) -> DataBooks:
    """Return the books. Images that the run itself counts as missing are not expected in its files."""
    unknown = counts.unknown + max(0, counts.promised - counts.expected)
    troubles = [f"{run}: {unknown_text(unknown)}"] if unknown else []
    if counts.lost:
        troubles.append(f"{run}: {counts.lost} images are not in the raw files as they were written; they are errored")
    return DataBooks(
        max(counts.expected, counts.promised) - counts.missing,
        counts.decided,
        unknown,
        counts.errored,
        tuple(troubles),
    )


def _made(run: Path, asked: list[str | int], size: int, allowed: int) -> dict[str, Any]:
    """Return the answer of the converting process. Raise StoredRunError when it gives none."""
    threads = int(asked[-1])
    standard = Limits()
    limits = Limits(
        seconds=(threads + 1) * allowed,
        memory_bytes=standard.memory_bytes + threads * _THREAD_BYTES,
        file_bytes=max(_LEAST_FILE, 4 * size),
    )
    return answer_of("rashpa.data.making.convert", asked, limits, allowed, run)


def _promised(source: str) -> int:
    """Return the number of images in the raw master, 0 when it is incomplete or cannot be read."""
    try:
        with open_run(f"{source}{MASTER}") as run:
            return run.books["expected"]
    except (StoredRunError, OSError, ValueError, RuntimeError):
        return 0


def _convert(asked: list[Any]) -> dict[str, Any]:
    source, target, images_per_file, threads = asked
    done = _native.convert(source, target, True, images_per_file, threads)
    with open_run(done.master) as made:  # an unreadable file gets no name
        made.summary()
    books = done.books
    counts = _Counts(
        stored=books.written,
        lost=done.lost,
        unknown=done.unknown,
        expected=books.expected,
        decided=books.accepted + books.vetoed,
        missing=books.missing,
        errored=books.errored,
        promised=_promised(source),
    )
    return asdict(counts)


if __name__ == "__main__":
    give_answer(_convert)
