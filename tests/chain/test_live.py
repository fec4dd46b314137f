# SPDX-License-Identifier: Apache-2.0
"""Tests `rashpa.live`: a reader gets every accepted image while a run goes on, however slow it is."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import rashpa
from rashpa.data.stored.live import LiveError, LiveImage
from rashpa.testing.waiting import GUARD_S

COMMAND = [sys.executable, "-m", "rashpa.cli.entry", "run"]
RUN = """\
[run]
name = "seen"
frames = {frames}
output = "."
existing = "replace"
[detector]
width = 64
height = 32
rate_hz = {rate_hz}
[dataset]
kind = "pattern"
width = 64
height = 32
frames = 7
[receiver]
port = 0
[[buffer]]
name = "full"
slots = 40
stack = 4
deadline_ms = 500
{kernels}
[[buffer.sink]]
{sink}
"""
COUNTED = """\
[[buffer.kernel]]
name = "bragg_count"
threshold = 60000
min_pixels = {least}
"""
LISTS = COUNTED + '[[buffer.kernel]]\nname = "csr"\nthreshold = 60000\ncapacity = 1.0\n'
DENSE, RAW = 'kind = "hdf5"\nimages_per_file = 50', 'kind = "raw"\nimages_per_file = 50'
PIPELINES = {"dense": ("", DENSE), "vetoed": (COUNTED, DENSE), "lists": (LISTS, 'kind = "hdf5"'), "raw": (COUNTED, RAW)}


def start(folder: Path, kernels: str, sink: str, frames: int, rate_hz: float) -> "subprocess.Popen[str]":
    file = folder / "seen.toml"
    text = RUN.format(frames=frames, rate_hz=rate_hz, kernels=kernels.format(least=LEAST), sink=sink)
    file.write_text(text, encoding="utf-8")
    return subprocess.Popen(
        [*COMMAND, str(file), "-q", "--output", "report", "--no-page"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


LEAST = 175  # bright pixels of the pattern: some frames have fewer, others more


@pytest.mark.parametrize("name", PIPELINES)
def test_a_slow_reader_has_every_accepted_image_as_it_is_stored(tmp_path: Path, name: str) -> None:
    kernels, sink = PIPELINES[name]
    seen: list[LiveImage] = []
    master = tmp_path / ("seen_full_raw_master.h5" if name == "raw" else "seen_full_master.h5")
    with rashpa.live(master, timeout_s=60.0) as live:
        process = start(tmp_path, kernels, sink, frames=160, rate_hz=200.0)
        for image in live:
            seen.append(image)
            assert image.pixels.shape == live.shape == (32, 64)
            time.sleep(0.01)  # wait: this reader is slow
        counts = live.counts
    output, _ = process.communicate(timeout=GUARD_S)
    assert process.returncode == 0, output
    with rashpa.open(master) as run:
        assert [image.frame_number for image in seen] == run.frame_numbers.tolist()
        assert len(seen) == run.books["accepted"] == counts["accepted"]
        assert counts["vetoed"] == run.books["vetoed"]
        assert (run.books["vetoed"] > 0) == bool(kernels)
        for index, image in enumerate(seen):
            np.testing.assert_array_equal(image.pixels, run.image(index))
            assert image.pixels.masked == run.image(index).masked == run.masked
            assert image.complete
            row = run.row_of(index)
            np.testing.assert_array_equal(image.lost_mask, run.lost_mask(row))
            assert image.index == row
            assert image.timestamp_ns == run.tables.timestamp_ns[row]
            for column, value in image.numbers.items():
                assert value == run.tables.scalars[column][row]
        if name == "lists":
            for index, image in enumerate(seen):
                for mine, stored in zip(image.list, run.sparse(index), strict=True):
                    np.testing.assert_array_equal(mine, stored)
    assert "<img" in seen[0]._repr_html_()


def test_a_receiver_that_dies_is_an_error_after_its_last_image(tmp_path: Path) -> None:
    process = start(tmp_path, "", DENSE, frames=100_000, rate_hz=100.0)
    seen = []
    with (
        rashpa.live(tmp_path / "seen_full_master.h5", timeout_s=60.0) as live,
        pytest.raises(LiveError, match="repair"),
    ):
        for image in live:
            seen.append(image.frame_number)
            if len(seen) == 5:
                kill_receiver(process.pid)
    assert seen == list(range(len(seen)))
    process.communicate(timeout=GUARD_S)
    assert process.returncode == 1


def kill_receiver(manager: int) -> None:
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except (OSError, IndexError):
            continue
        if parent == manager and b"receiver" in words:
            os.kill(int(entry.name), signal.SIGKILL)


def test_who_waits_for_a_run_that_is_over_is_told_how_to_read_it(tmp_path: Path) -> None:
    process = start(tmp_path, "", DENSE, frames=8, rate_hz=0.0)
    output, _ = process.communicate(timeout=GUARD_S)
    assert process.returncode == 0, output
    with pytest.raises(TimeoutError, match=r"finished run: rashpa\.open"):
        rashpa.live(tmp_path / "seen_full_master.h5", timeout_s=0.2).take(0.2)
    with pytest.raises(ValueError, match=r"RUN_BUFFER_master\.h5"):
        rashpa.live(tmp_path / "seen.toml")


def test_a_notebook_shows_runs_and_their_books(tmp_path: Path) -> None:
    (tmp_path / "seen.toml").write_text(
        RUN.format(frames=8, rate_hz=0, kernels="", sink=DENSE).replace('output = "."', f'output = "{tmp_path}"')
    )
    outcome = rashpa.run(tmp_path / "seen.toml")
    shown = outcome._repr_html_()
    assert "<td>complete</td><td>8</td><td>8</td>" in shown
    with rashpa.open(tmp_path / "seen_full_master.h5") as run:
        shown = run._repr_html_()
    assert "<td>written</td><td>8</td>" in shown
    assert 'src="data:image/png;base64,' in shown
