# SPDX-License-Identifier: Apache-2.0
"""Books of a stored run as commands that read it keep them: what the run has, and what of it is not in its files any more."""

from __future__ import annotations

from rashpa.data.base.books import MOST_TROUBLES, DataBooks
from rashpa.data.stored.joined_run import JoinedRun
from rashpa.data.stored.reader import Run


def run_books(run: Run | JoinedRun) -> DataBooks:
    """Compare what a run says with what its files hold.

    Images of which the run itself knows that they never came are not expected of its files. `missing` are those of which nobody knows anything, because
    the receiver ended early or its index was cut, and those that the tables call stored and that no file has.
    """
    books, absent, unknown = run.books, run.absent(), run.unknown
    troubles = [absent[row] for row in sorted(absent)[: MOST_TROUBLES - 1]]
    if unknown:
        troubles.append(f"{run.path}: {unknown_text(unknown)}")
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
    """Say that nothing is known of so many images."""
    return f"nothing is known of {images} images: the receiver ended early, or its index was cut"
