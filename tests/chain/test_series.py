# SPDX-License-Identifier: Apache-2.0
"""Tests consecutive series: files and books for each series, from nodes that are configured once and continue."""

import json
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  (registers the bitshuffle filter)
import numpy as np
import pytest
from tests.chain.test_open_runs import DIFFERENT, HEIGHT, WIDTH, begin, write

from rashpa.sim import pattern_frame

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

LENGTH = 280  # frames of a series: ten stacks of one buffer, seven of the other


def run_file(folder: Path, frames: str, link: str = "", extra: str = "") -> Path:
    file = write(folder, link, f"series_frames = {LENGTH}")
    text = file.read_text().replace('frames = "until stopped"', f"frames = {frames}")
    file.write_text(text.replace('kind = "null"', 'kind = "hdf5"') + extra)
    return file


def report_of(folder: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads((folder / "report" / "report.json").read_text())
    return report


def check_file(path: Path, numbers: Sequence[int]) -> None:
    """Check the frames of a series, and their pixels."""
    with h5py.File(path) as file:
        assert list(file["/entry/data/frame_number"][:]) == list(numbers)
        assert file["/entry/instrument/detector/detectorSpecific/nimages"][()] == len(numbers)
        books = {name: int(value[()]) for name, value in file["/entry/rashpa/books"].items()}
        assert books["expected"] == books["complete"] == books["accepted"] == books["written"] == len(numbers)
        stored = file["/entry/data/data"]
        for place, number in enumerate(numbers):
            parts = [pattern_frame("uint16", module, number % DIFFERENT, HEIGHT, WIDTH) for module in (0, 1)]
            np.testing.assert_array_equal(np.asarray(stored[place]), np.hstack(parts), err_msg=str(number))


@pytest.mark.parametrize("link", ["", 'kind = "pcie"'])
def test_three_series_in_a_row_have_files_and_books_of_their_own(tmp_path: Path, link: str) -> None:
    process = begin(run_file(tmp_path, str(3 * LENGTH), link))
    output, _ = process.communicate(timeout=180)
    assert process.returncode == 0, output
    report = report_of(tmp_path)
    assert report["books"]["written"] == 3 * (LENGTH + LENGTH // 10)
    assert [(one["number"], one["first_frame"], one["frames"]) for one in report["series"]] == [
        (number + 1, number * LENGTH, LENGTH) for number in range(3)
    ]
    for number in range(3):
        every = range(number * LENGTH, (number + 1) * LENGTH)
        check_file(tmp_path / f"open_all_s{number + 1:04}_master.h5", every)
        check_file(tmp_path / f"open_some_s{number + 1:04}_master.h5", every[3::10])
        books = {one["buffer"]: one for one in report["series"][number]["books"]}
        assert books["all"]["expected"] == books["all"]["complete"] == books["all"]["accepted"] == LENGTH
        assert books["some"]["expected"] == LENGTH // 10
    masters = sorted(path.name for path in tmp_path.glob("*_master.h5"))
    assert len(masters) == 6, masters
    assert not list(tmp_path.glob("*.new")), "what was made ahead has gone"
    again = begin(tmp_path / "open.toml")
    output, _ = again.communicate(timeout=180)
    assert again.returncode == 2, output
    assert "open_all_s0001_data_000001.h5 exists" in output


def test_series_of_a_run_until_stopped_end_with_a_shorter_one(tmp_path: Path) -> None:
    process = begin(run_file(tmp_path, '"until stopped"'))
    deadline = tmp_path / "open_all_s0002_data_000001.h5"
    while not deadline.exists():
        assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=180)
    assert process.returncode == 0, output
    report = report_of(tmp_path)
    frames = report["run"]["frames"]
    assert frames > LENGTH
    assert sum(one["frames"] for one in report["series"]) == frames
    for one in report["series"]:
        numbers = range(one["first_frame"], one["first_frame"] + one["frames"])
        check_file(tmp_path / f"open_all_s{one['number']:04}_master.h5", numbers)


def test_what_is_lost_stands_in_the_books_of_its_series(tmp_path: Path) -> None:
    dead = f"[faults]\ndead_modules = [{{ module = 1, from_frame = {LENGTH} }}]\n"
    process = begin(run_file(tmp_path, str(2 * LENGTH), extra=dead))
    output, _ = process.communicate(timeout=180)
    assert process.returncode == 0, output
    first, second = (one["books"][0] for one in report_of(tmp_path)["series"])
    assert (first["complete"], first["partial"]) == (LENGTH, 0)
    assert (second["complete"], second["partial"]) == (0, LENGTH)
    with h5py.File(tmp_path / "open_all_s0002_master.h5") as file:
        assert file["/entry/rashpa/books/partial"][()] == LENGTH


def test_a_series_that_would_end_within_a_stack_is_refused_with_one_that_does_not(tmp_path: Path) -> None:
    file = run_file(tmp_path, str(3 * LENGTH))
    file.write_text(file.read_text().replace(f"series_frames = {LENGTH}", "series_frames = 100"))
    process = begin(file)
    output, _ = process.communicate(timeout=180)
    assert process.returncode == 2, output
    assert "a series of 100 frames ends within a stack of buffer all" in output
    assert "try series_frames = 280" in output


def test_a_shorter_run_that_replaces_a_longer_one_leaves_none_of_its_series(tmp_path: Path) -> None:
    for series in (3, 1):
        file = run_file(tmp_path, str(series * LENGTH))
        file.write_text(file.read_text().replace("[detector]", 'existing = "replace"\n[detector]', 1))
        process = begin(file)
        output, _ = process.communicate(timeout=180)
        assert process.returncode == 0, output
        names = sorted(path.name for path in tmp_path.glob("open_all_*"))
        assert [name for name in names if name.endswith("_master.h5")] == [
            f"open_all_s000{number}_master.h5" for number in range(1, series + 1)
        ]
    assert {name[: len("open_all_s0001_")] for name in names} == {"open_all_s0001_"}
