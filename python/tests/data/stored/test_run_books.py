# SPDX-License-Identifier: Apache-2.0
"""Books of a stored run count every image that it lists as stored."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from rashpa.data.base.books import MOST_TROUBLES
from rashpa.data.stored.run_books import run_books, unknown_text


def run(absent: dict[int, str], unknown: int = 0, **books: int) -> Any:
    stated = {"expected": 100, "missing": 3, "accepted": 60, "vetoed": 37, "errored": 0} | books
    return SimpleNamespace(
        books=stated, absent=lambda: absent, unknown=unknown, lost_windows=[], path=Path("run_master.h5")
    )


def test_a_whole_run_lacks_nothing_that_came() -> None:
    found = run_books(run({}))
    assert (found.expected, found.made, found.missing, found.errored) == (97, 97, 0, 0)
    assert found.closed and found.troubles == ()


def test_images_that_no_file_has_and_those_of_unknown_fate_are_missing() -> None:
    found = run_books(run({7: "gone", 2: "cut"}, unknown=5, accepted=50, errored=5))
    assert (found.expected, found.made, found.missing, found.errored) == (97, 85, 7, 5)
    assert found.closed
    assert found.troubles == (
        "cut",
        "gone",
        f"run_master.h5: {unknown_text(5)}",
        "run_master.h5: 5 images are errored; `rashpa inspect` says why",
    )


def test_a_text_is_told_once_and_of_many_the_first() -> None:
    assert run_books(run({1: "gone", 2: "gone"})).troubles == ("gone",)
    many = run_books(run({row: f"row {row}" for row in range(2 * MOST_TROUBLES)}))
    assert many.troubles == tuple(f"row {row}" for row in range(MOST_TROUBLES - 1))
    assert many.missing == 2 * MOST_TROUBLES
