# SPDX-License-Identifier: Apache-2.0
"""Books of a stored run for commands that read it: its images, and those that its files lack by now."""

from __future__ import annotations

from rashpa.data.base.books import MOST_TROUBLES, DataBooks
from rashpa.data.stored.joined_run import JoinedRun
from rashpa.data.stored.reader import Run


def run_books(run: Run | JoinedRun) -> DataBooks:
    """Compare a run's statement with the content of its files.

    Images that the run itself counts as missing are not expected of its files. `missing` are images of unknown fate, because the receiver ended early or its
    index was cut, and images that the tables call stored and no file has.
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
    """Return the sentence that the fate of this number of images is unknown."""
    return f"nothing is known of {images} images: the receiver ended early, or its index was cut"
