# SPDX-License-Identifier: Apache-2.0
"""Tests a JUNGFRAU with storage cells over the network: each image is corrected with the pedestals of its own cell, and an image of an unknown cell
with none."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

import rashpa
from rashpa.data.datasets.calibration import Calibration, to_photons
from rashpa.data.datasets.calibration_file import read_cells
from rashpa.testing.typed_run import good_run, typed_run

pytestmark = pytest.mark.whole

FRAMES, HEIGHT, WIDTH, ENERGY = 8, 512, 1024, 10.0
SENT = (15, 0, 1, 2)  # of frame 0, 1, …
RUN = f"""\
[run]
name = "cells"
frames = {FRAMES}
output = "."
existing = "replace"
[detector]
width = {WIDTH}
height = {HEIGHT}
pixel = "uint16"
energy_kev = {ENERGY}
rate_hz = 20.0
[[detector.module]]
x = 0
y = 0
[detector.calibration]
pedestal = ["pedestal.npy"]
gain = ["gain.npy"]
storage_cells = %s
[dataset]
kind = "files"
files = ["raw.npy"]
storage_cells = {list(SENT)}
[link]
kind = "%s"
[receiver]
port = 0
[[buffer]]
name = "photons"
slots = 8
stack = 4
deadline_ms = 20000
kernel = [{{ name = "jungfrau" }}]
sink = [{{ kind = "hdf5" }}]
"""


def maps(folder: Path, cells: tuple[int, ...]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Write raw words of all gains, pedestals that differ from cell to cell, and gains."""
    random = np.random.default_rng(5)
    words = random.integers(2000, 9000, (FRAMES, HEIGHT, WIDTH)).astype(np.uint16)
    words |= random.choice(np.array([0, 0, 0, 1, 3], np.uint16), words.shape) << np.uint16(14)
    pedestal = random.uniform(1000, 14000, (len(cells), 3, HEIGHT, WIDTH)).astype(np.float32)
    gain = random.uniform(0.9, 1.1, (3, HEIGHT, WIDTH)).astype(np.float32)
    gain *= np.array([40, -1.5, -0.1], np.float32)[:, np.newaxis, np.newaxis]
    np.save(folder / "raw.npy", words)
    np.save(folder / "pedestal.npy", pedestal)
    np.save(folder / "gain.npy", gain)
    return pedestal, gain


def photons(words: NDArray[np.uint16], pedestal: NDArray[np.float32], gain: NDArray[np.float32]) -> NDArray[np.int64]:
    """Compute the photons by the plain reference, rounded as the kernel's page says."""
    found = to_photons(words, Calibration(pedestal, gain, np.zeros((HEIGHT, WIDTH), np.uint32)), ENERGY)
    rounded = np.rint(np.clip(found, -32767, 32766))
    return np.where(np.isnan(found), -32768, np.where(np.isinf(found), 32767, rounded)).astype(np.int64)


@pytest.mark.parametrize("link", ["sls", "roce"])
def test_images_have_the_pedestals_of_their_cell_over_the_network(tmp_path: Path, link: str) -> None:
    cells = (0, 1, 2, 15)
    pedestal, gain = maps(tmp_path, cells)
    _, report = good_run(RUN % (list(cells), link), tmp_path)
    assert report["buffers"][0]["books"]["accepted"] == FRAMES
    series = rashpa.open(tmp_path / "cells_photons_master.h5")
    words = np.load(tmp_path / "raw.npy")
    for index in range(FRAMES):
        cell = SENT[index % len(SENT)]
        wanted = photons(words[index], pedestal[cells.index(cell)], gain)
        found = np.asarray(series.image(index), np.int64)
        # to_photons divides where the kernel multiplies by a factor rounded once: ties may fall to the other side
        assert np.abs(found - wanted).max() <= 1
        assert np.count_nonzero(found != wanted) < found.size // 500
        other = photons(words[index], pedestal[cells.index(cell) - 1], gain)
        assert np.count_nonzero(found != other) > found.size // 2, "another cell's pedestals make another image"
    if link == "sls":
        assert (series.tables.scalars["daq_info"] >> 8).tolist() == list(SENT) * 2


def test_an_image_of_an_unknown_cell_is_errored_and_told(tmp_path: Path) -> None:
    maps(tmp_path, (0, 1, 15))
    code, output, report = typed_run(RUN % ([0, 1, 15], "sls"), tmp_path)
    assert code != 0
    books = report["buffers"][0]["books"]
    assert (books["accepted"], books["errored"]) == (FRAMES - 2, 2)
    assert "it is of storage cell 2, and the calibration has 0, 1, 15" in " ".join(output.split())


SMALL = """\
[run]
name = "{name}"
frames = {frames}
output = "."
existing = "replace"
[detector]
width = 64
height = 32
pixel = "uint16"
energy_kev = 10.0
{calibration}
[[detector.module]]
x = 0
y = 0
[dataset]
kind = "files"
files = ["{name}.npy"]
storage_cells = [15, 0]
[receiver]
port = 0
[[buffer]]
name = "b"
slots = 8
stack = 4
deadline_ms = 20000
keep_darks = true
{kernel}
sink = [{{ kind = "hdf5" }}]
"""


def test_dark_images_of_several_cells_become_a_set_for_each(tmp_path: Path) -> None:
    random = np.random.default_rng(7)
    level = random.integers(2000, 3000, (2, 32, 64))  # of cells 15 and 0
    noise = random.integers(-2, 3, (64, 32, 64))
    np.save(tmp_path / "dark.npy", (level[np.arange(64) % 2] + noise).astype(np.uint16))
    np.save(tmp_path / "gain.npy", np.full((3, 32, 64), 40, np.float32))
    good_run(SMALL.format(name="dark", frames=64, calibration="", kernel=""), tmp_path)
    words = ["pedestal", "c.h5", "--g0", "dark_b_master.h5", "--gain", "gain.npy"]
    done = subprocess.run(
        [sys.executable, "-m", "rashpa.cli.entry", "calibrate", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "storage cell 15 G0: 32 frames" in done.stdout + done.stderr
    assert read_cells(tmp_path / "c.h5", 0) == (0, 15)
    np.save(tmp_path / "light.npy", (level[np.arange(4) % 2] + 40 * 10 * 7).astype(np.uint16))  # 7 photons everywhere
    run = SMALL.format(
        name="light",
        frames=4,
        calibration='[detector.calibration]\npedestal = ["c.h5"]',
        kernel='kernel = [{ name = "jungfrau" }]',
    )
    good_run(run, tmp_path)
    series = rashpa.open(tmp_path / "light_b_master.h5")
    for index in range(4):
        image = np.asarray(series.image(index))
        assert np.count_nonzero(image == 7) > 0.99 * image.size, index  # a dark level of 64 frames is exact to 1 ADU
