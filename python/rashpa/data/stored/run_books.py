# SPDX-License-Identifier: Apache-2.0
"""Computes the books of a stored run for commands that read it: its images, and the images that its files now lack."""

from __future__ import annotations

from rashpa.data.base.books import MOST_TROUBLES, DataBooks
from rashpa.data.stored.joined_run import JoinedRun
from rashpa.data.stored.reader import Run


def run_books(run: Run | JoinedRun) -> DataBooks:
    """Compare the run's own counts with the content of its files, and return the books.

    Images that the run itself counts as missing are not expected in its files. `missing` counts images of unknown fate, because the receiver ended
    early or its index was truncated. It also counts images that the tables list as stored and no file has.
    """
    books, absent, unknown = run.books, run.absent(), run.unknown
    troubles = [absent[row] for row in sorted(absent)[: MOST_TROUBLES - 1]]
    if unknown:
        troubles.append(f"{run.path}: {unknown_text(unknown)}")
    troubles += run.lost_windows
    if books["errored"]:
        troubles.append(f"{run.path}: {books['errored']} images are errored; `rashpa inspect` says why")
    return DataBooks(
        expected=books["expected"] - books["missing"],
        made=books["accepted"] + books["vetoed"] - len(absent),
        missing=unknown + len(absent),
        errored=books["errored"],
        troubles=tuple(dict.fromkeys(troubles)),
    )


def unknown_text(images: int) -> str:
    """Return a sentence that the fate of this number of images is unknown."""
    return f"nothing is known of {images} images: the receiver ended early, or its index was cut"
