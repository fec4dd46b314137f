# SPDX-License-Identifier: Apache-2.0
"""The summary of a run at a terminal has a name before each line, and no text can add a line of its own."""

from rashpa.cli.summary_text import summary_text
from rashpa.control.books.run_summary import SummaryLine


def test_names_stand_in_a_column_and_further_lines_below_their_text() -> None:
    found = summary_text([SummaryLine("run", "100 of 100 images", "good"), SummaryLine("lost", "two\nlines", "bad")])
    assert found.plain == "run        100 of 100 images\nlost       two\n           lines"
    assert [found.plain[span.start : span.end].strip() for span in found.spans if span.style == "green"] == [
        "100 of 100 images"
    ]
    assert [span.style for span in found.spans] == ["dim", "green", "dim", "red"]


def test_signs_that_move_the_cursor_are_not_shown_as_they_are() -> None:
    (line,) = summary_text([SummaryLine("run", "\x1b[2Jgone\u202etxt")]).plain.splitlines()
    assert "\x1b" not in line and "\u202e" not in line
    assert "gone" in line
