# SPDX-License-Identifier: Apache-2.0
"""Tests whole runs whose sources send an event for each part of an image: books, counts of events, and results as those of whole images."""

from pathlib import Path

import h5py
import numpy as np
import pytest

from rashpa.control.books.outcome import Outcome
from rashpa.testing.warm_nodes import WarmNodes

EXAMPLE = Path(__file__).parents[2] / "examples" / "23_parts.toml"
FRAMES, MODULES = 120, 2


def run(warm_nodes: WarmNodes, folder: Path, *changes: tuple[str, str]) -> Outcome:
    text = EXAMPLE.read_text(encoding="utf-8")
    for old, new in (
        ("frames = 600", f"frames = {FRAMES}"),
        ("rate_hz = 200.0", "rate_hz = 0.0"),
        ('"out/parts"', '"."'),
        ("threshold = 15", "threshold = 9000"),
        ("min_pixels = 40", "min_pixels = 1"),
        *changes,
    ):
        assert old in text, old
        text = text.replace(old, new, 1)
    folder.mkdir()
    file = folder / "parts.toml"
    file.write_text(text, encoding="utf-8")
    return warm_nodes.run(file)


def numbers(folder: Path) -> dict[str, np.ndarray]:
    with h5py.File(folder / "parts_full_master.h5") as file:
        return {name: file[f"/entry/rashpa/{name}"][:] for name in ("decision", "bright_pixels")}


NO_LOSS = ("drop = 0.0005", "drop = 0.0")


@pytest.mark.parametrize(
    "link",
    [
        'transport = "uc"',
        'transport = "uc"\npacketisation = "first_middle_last"',
        'transport = "rc"',
        'transport = "ud"',
    ],
)
def test_parts_close_the_books_and_change_no_result(warm_nodes: WarmNodes, tmp_path: Path, link: str) -> None:
    changes = (NO_LOSS, ("[[buffer]]", f"[link.roce]\n{link}\n\n[[buffer]]"))
    whole = run(warm_nodes, tmp_path / "whole", *changes, ('events = "lines:64"', 'events = "image"'))
    parted = run(warm_nodes, tmp_path / "parted", *changes)
    assert parted.books == whole.books
    assert parted.books.balanced
    assert parted.books.complete == FRAMES
    sent = FRAMES * MODULES
    assert whole.link_counts["events"] == parted.link_counts["events"] == sent
    assert whole.link_counts.get("part_events", 0) == 0
    assert parted.link_counts["part_events"] == 3 * sent  # of 4 parts of 64 lines
    assert parted.link_counts.get("lost_parts", 0) == 0
    assert sum(dtp.part_events for status in parted.sources.values() for dtp in status.dtps) == 3 * sent
    for name, values in numbers(tmp_path / "whole").items():
        np.testing.assert_array_equal(numbers(tmp_path / "parted")[name], values, err_msg=name)
    assert np.unique(values).size > 1


def test_lost_packets_are_explained_and_parts_counted(warm_nodes: WarmNodes, tmp_path: Path) -> None:
    outcome = run(warm_nodes, tmp_path / "lossy", ("drop = 0.0005", "drop = 0.002\nreorder = 0.002\nduplicate = 0.002"))
    assert outcome.books.balanced
    assert outcome.unexplained == 0
    assert outcome.books.partial > 0
    counts = outcome.link_counts
    assert counts["lost_parts"] > 0
    missing = FRAMES * MODULES - counts["events"]  # whose last event was lost
    assert counts["part_events"] + counts["lost_parts"] <= 3 * FRAMES * MODULES
    assert counts["part_events"] + counts["lost_parts"] >= 3 * (FRAMES * MODULES - missing)


def test_paced_sources_and_stacks_of_several_images_have_parts_too(warm_nodes: WarmNodes, tmp_path: Path) -> None:
    changes = (("rate_hz = 0.0", "rate_hz = 400.0"), ("stack = 1 ", "stack = 4 "), NO_LOSS)
    outcome = run(warm_nodes, tmp_path / "paced", *changes, ("[[buffer]]", '[link]\nflow = "paced"\n\n[[buffer]]'))
    assert outcome.books.balanced
    # a paced source does not wait for a busy machine: there its images overrun the ring, or the kernel drops packets
    kept_up = not outcome.overruns and not outcome.link_counts.get("host_drops", 0)
    assert outcome.unexplained == 0 or not kept_up, outcome.reasons
    assert outcome.link_counts["part_events"] + outcome.link_counts.get("lost_parts", 0) <= 3 * FRAMES * MODULES
