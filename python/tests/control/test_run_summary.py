# SPDX-License-Identifier: Apache-2.0
"""The summary of a run has the same words in a report, for files, and during a run."""

from dataclasses import replace

import pytest

from rashpa.control.books.run_summary import StoredFile, SummaryFacts, open_lines, size_of, summary_lines

BOOKS = {"expected": 100, "complete": 90, "partial": 4, "missing": 6, "accepted": 30, "vetoed": 63, "errored": 1}
FACTS = SummaryFacts("running", None, BOOKS, 99.84, 100.0, 0.4218, {"too_few": 63, "dim": 0})


def _said(facts: SummaryFacts) -> dict[str, str]:
    return {line.name: line.text for line in summary_lines(facts)}


def test_each_line_says_one_thing() -> None:
    assert _said(FACTS) == {
        "verdict": "running",
        "loss": "6 missing, 4 partial, 1 errored of 100 images (11.00%)",
        "rate": "99.8 frames/s of 100 asked; 0.422 GB/s of pixels",
        "hits": "30 of 94 images accepted (31.9%); vetoed: too few 63",
    }
    assert [line.mark for line in summary_lines(FACTS)] == ["", "bad", "", ""]


def test_what_is_not_known_is_not_said() -> None:
    none = _said(replace(FACTS, books={}, frames_per_s=None, vetoes={}))
    assert none == {"verdict": "running", "loss": "no image yet", "hits": "0 of 0 images accepted"}
    assert _said(replace(FACTS, asked_hz=0.0, gb_per_s=None))["rate"] == "99.8 frames/s, as fast as it goes"
    assert _said(replace(FACTS, asked_hz=None, gb_per_s=None))["rate"] == "99.8 frames/s"
    assert _said(replace(FACTS, books={"complete": 5, "accepted": 5}))["loss"] == "none of 5 images"


def test_files_have_their_sizes_and_the_first_here_is_opened() -> None:
    files = [
        StoredFile(f"{name}_master.h5", 3, 12_345_678, place)
        for name, place in zip("abcde", ["n", "", "", "", ""], strict=True)
    ]
    said = _said(replace(FACTS, files=files))["files"]
    assert said.startswith("a_master.h5 (3 images, 12.3 MB, on n), b_master.h5 (3 images, 12.3 MB)")
    assert said.endswith("and 1 more")
    lines = open_lines(files)
    assert lines[0].text.splitlines()[1] == "run = rashpa.open('b_master.h5')"
    assert len(lines[0].text.splitlines()) == 3
    assert "silx view b_master.h5" in lines[1].text
    assert open_lines(files[:1]) == []


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 bytes"), (999, "999 bytes"), (1000, "1.0 kB"), (2.5e12, "2.5 TB"), (3e18, "3,000.0 PB")]
)
def test_sizes_are_as_people_read_them(count: float, text: str) -> None:
    assert size_of(count) == text
