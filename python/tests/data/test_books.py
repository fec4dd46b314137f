# SPDX-License-Identifier: Apache-2.0
"""The books of commands: when they balance, and the exit code of a command with these books."""

import pytest

from rashpa.data.base.books import MOST_TROUBLES, DataBooks, all_of


@pytest.mark.parametrize(
    ("books", "closed", "code"),
    [
        (DataBooks(4, 4), True, 0),
        (DataBooks(0, 0), True, 0),
        (DataBooks(4, 3, missing=1), True, 3),
        (DataBooks(4, 3, errored=1), True, 3),
        (DataBooks(4, 3), False, 3),
        (DataBooks(4, 5), False, 3),
        (DataBooks(4, 5, missing=1), False, 3),
    ],
)
def test_a_command_ends_with_0_only_when_all_was_made(books: DataBooks, closed: bool, code: int) -> None:
    assert (books.closed, books.exit_code, books.whole) == (closed, code, code == 0)
    assert books.as_json()["closed"] is closed


def test_what_is_unexplained_is_said() -> None:
    assert DataBooks(4, 4).text() == "4 of 4 images"
    assert DataBooks(9, 4, 2, 1, unit="peaks").text() == "4 of 9 peaks, 2 missing, 1 errored, 2 unexplained"


def test_parts_add_up_and_keep_the_first_troubles() -> None:
    whole = all_of([DataBooks(4, 3, 1, 0, ("a",)), DataBooks(4, 3, 0, 1, ("b",) * 9)])
    assert whole == DataBooks(8, 6, 1, 1, ("a", *("b",) * (MOST_TROUBLES - 1)))
    assert all_of([]) == DataBooks(0, 0)
    with pytest.raises(ValueError, match="images, peaks"):
        all_of([DataBooks(1, 1), DataBooks(1, 1, unit="peaks")])
