# SPDX-License-Identifier: Apache-2.0
"""Tests open-ended runs, as a user ends them: two emulators end after the same frame, and the books contain exactly the images up to it."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  (registers the bitshuffle filter)
import numpy as np
import pytest

from rashpa.sim import pattern_frame
from rashpa.testing.waiting import eventually

COMMAND = [sys.executable, "-m", "rashpa.cli.entry"]
WIDTH, HEIGHT, DIFFERENT = 96, 64, 7
RUN = """\
[run]
name = "open"
frames = "until stopped"
output = "."
{run}
[detector]
width = 96
height = 64
rate_hz = {rate_hz}
module = [{{ x = 0, y = 0 }}, {{ x = 96, y = 0 }}]
[dataset]
kind = "pattern"
width = 96
height = 64
modules = 2
frames = 7
[receiver]
port = 0
[link]
{link}
[[emulator]]
name = "west"
[[emulator]]
name = "east"
[[buffer]]
name = "all"
slots = 28
stack = 7
[[buffer.sink]]
kind = "hdf5"
[[buffer]]
name = "some"
every = 10
phase = 3
slots = 8
stack = 4
[[buffer.sink]]
kind = "null"
"""


def write(folder: Path, link: str = "", run: str = "", rate_hz: float = 400.0) -> Path:
    file = folder / "open.toml"
    file.write_text(RUN.format(link=link, run=run, rate_hz=rate_hz), encoding="utf-8")
    return file


def begin(file: Path) -> "subprocess.Popen[str]":
    command = [*COMMAND, "run", str(file), "-q", "--output", str(file.parent / "report"), "--no-page"]
    return subprocess.Popen(command, cwd=file.parent, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def wait_for_images(folder: Path, least: int) -> None:
    """Wait until the run's file has at least `least` images."""

    def there() -> bool:
        try:
            with h5py.File(folder / "open_all_data_000001.h5", "r", swmr=True) as file:
                return len(file["/entry/data/data"]) >= least
        except (OSError, KeyError):
            return False

    eventually(there, 180.0, f"{least} images")


def check(folder: Path, report: dict[str, Any]) -> int:
    """Return the number of frames of the run; check that every one is in the books and in the file."""
    frames = int(report["run"]["frames"])
    assert report["run"]["good"]
    assert not report["run"]["interrupted"]
    assert report["books"]["balanced"]
    assert report["injected"]["unexplained"] == 0
    books = {buffer["name"]: buffer["books"] for buffer in report["buffers"]}
    assert books["all"]["expected"] == books["all"]["complete"] == books["all"]["written"] == frames
    assert books["some"]["expected"] == books["some"]["complete"] == max(0, -(-(frames - 3) // 10))
    with h5py.File(folder / "open_all_master.h5") as file:
        numbers = file["/entry/data/frame_number"][:]
        assert list(numbers) == list(range(frames))
        assert file["/entry/instrument/detector/detectorSpecific/nimages"][()] == frames
        stored = file["/entry/data/data"]
        for frame in {0, frames // 2, frames - 1}:
            parts = [pattern_frame("uint16", module, frame % DIFFERENT, HEIGHT, WIDTH) for module in (0, 1)]
            np.testing.assert_array_equal(np.asarray(stored[frame]), np.hstack(parts), err_msg=str(frame))
    return frames


@pytest.mark.parametrize("rate_hz", [400.0, 0.0])
def test_an_interrupt_ends_both_emulators_after_the_same_frame(tmp_path: Path, rate_hz: float) -> None:
    process = begin(write(tmp_path, rate_hz=rate_hz))
    wait_for_images(tmp_path, 50)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=180)
    assert process.returncode == 0, output
    assert check(tmp_path, json.loads((tmp_path / "report" / "report.json").read_text())) >= 50


@pytest.mark.parametrize("link", ["", 'kind = "pcie"'])
def test_a_run_with_a_duration_ends_by_itself(tmp_path: Path, link: str) -> None:
    process = begin(write(tmp_path, link, "duration_s = 1.0"))
    output, _ = process.communicate(timeout=180)
    assert process.returncode == 0, output
    assert check(tmp_path, json.loads((tmp_path / "report" / "report.json").read_text())) > 1


def test_what_the_log_says_was_lost_is_missing_and_no_more(tmp_path: Path) -> None:
    file = write(tmp_path, run="duration_s = 1.0")
    file.write_text(
        file.read_text() + "[faults]\nseed = 3\ndrop = 0.002\ndead_modules = [{ module = 1, from_frame = 100 }]\n"
    )
    process = begin(file)
    output, _ = process.communicate(timeout=180)
    report = json.loads((tmp_path / "report" / "report.json").read_text())
    assert process.returncode == 0, output
    books = next(buffer["books"] for buffer in report["buffers"] if buffer["name"] == "all")
    assert books["expected"] == report["run"]["frames"]
    assert books["complete"] < 101
    assert books["partial"] > 0
    assert report["injected"]["unexplained"] == 0
