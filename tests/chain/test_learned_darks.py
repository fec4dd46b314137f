# SPDX-License-Identifier: Apache-2.0
"""Tests pedestals that follow dark images, with a source that does not wait for its receiver: they follow only the images that the books count as
intact."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  reads what the sink has compressed
import numpy as np
import pytest
from numpy.typing import NDArray

from rashpa import _native
from rashpa.data.kernels.pipeline import available_units

STACK, FOLLOWED, DIFFERENT = 5, 20, 23
SLOW = """\
import time
from rashpa.data.kernels.kernel import Column, kernel

@kernel(takes=["float32"], columns=[Column("a", "uint32")], reasons=["no"])
def slow(pixels, *, ms: float = 1.0):
    time.sleep(ms / 1000)  # wait: this kernel takes long
    return {"a": 1}, None
"""
PYTHON = """\
[[buffer.kernel]]
name = "python"
function = "slow:slow"
[buffer.kernel.parameters]
ms = 8.0
"""
RUN = """\
[run]
name = "t"
frames = {frames}
output = "out"
on_overrun = "count"
[detector]
width = 1024
height = 512
pixel = "uint16"
rate_hz = {rate_hz}
energy_kev = 12.4
[[detector.module]]
x = 0
y = 0
[dataset]
kind = "jungfrau"
modules = 1
frames = {different}
dark_every = 4
[link]
kind = "pcie"
flow = "paced"
[receiver]
port = 0
[[buffer]]
name = "full"
slots = 20
stack = {stack}
deadline_ms = 2000
keep_darks = false
unit = "{unit}"
[[buffer.kernel]]
name = "jungfrau"
output = "kev"
track = "darks"
track_images = {followed}
{python}
[[buffer.sink]]
kind = "hdf5"
"""
Image = NDArray[Any]


class Detector:
    """Holds the frames that the emulator plays, and converts their words with given pedestals, independently of the program, by
    docs/kernels/jungfrau.md."""

    def __init__(self) -> None:
        dataset = _native.jungfrau_dataset(
            modules=1,
            frames=DIFFERENT,
            seed=1,
            hit_fraction=0.3,
            dark_every=4,
            energy_kev=12.4,
            spots=80,
            background_photons=1.0,
        )
        self.words = [dataset.frame(0, frame) for frame in range(DIFFERENT)]
        self.dark = [dataset.flags(frame) & 1 for frame in range(DIFFERENT)]
        self.gain = np.asarray(dataset.gain(0))
        self.masked = (np.asarray(dataset.mask(0)) & 0xFFFF) != 0
        self.pedestals = np.asarray(dataset.pedestal(0)).astype(np.float32).copy()
        self._no_g0 = (self.gain[0] == 0) | ~np.isfinite(self.gain[0]) | self.masked | (self.pedestals[0] > 0x3FFF)

    def kev(self, frame: int) -> Image:
        words = self.words[frame % DIFFERENT]
        code = words >> 14
        gain = np.array([0, 1, 0, 2])[code][None]
        with np.errstate(all="ignore"):
            factors = (1.0 / self.gain.astype(np.float64)).astype(np.float32)
        pedestal, factor, value = (
            np.take_along_axis(each, gain, 0)[0] for each in (self.pedestals, factors, self.gain)
        )
        out: Image = ((words & 0x3FFF).astype(np.float32) - pedestal) * factor
        out[words == 0xC000] = np.inf
        none = (code == 2) | (words == 0xFFFF) | (words == 0x4000) | (value == 0) | self.masked
        out[none | ((code == 0) & self._no_g0)] = np.nan
        return out

    def follow(self, frame: int) -> None:
        words = self.words[frame % DIFFERENT]
        seen = ((words >> 14) == 0) & ~self._no_g0 & (words != 0xFFFF)
        far = words.astype(np.float32) - self.pedestals[0]
        moved = self.pedestals[0] + far * np.float32(1.0 / FOLLOWED)
        self.pedestals[0] = np.where(seen, moved, self.pedestals[0])


def followed(folder: Path, unit: str, rate_hz: float, frames: int) -> tuple[int, int]:
    """Carry out a run in `folder`, and compare its intact images with those of plain code. Return the numbers of intact and of missing images."""
    folder.mkdir()
    (folder / "slow.py").write_text(SLOW, encoding="utf-8")
    python = PYTHON if unit == "cpu" else ""
    (folder / "run.toml").write_text(
        RUN.format(
            frames=frames,
            different=DIFFERENT,
            stack=STACK,
            followed=FOLLOWED,
            unit=unit,
            rate_hz=rate_hz,
            python=python,
        ),
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "rashpa.cli.entry", "run", "run.toml", "-q", "--output", "report", "--no-page"]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=180, check=False)
    report = json.loads((folder / "report" / "report.json").read_text())
    assert report["books"]["balanced"], ended.stdout
    detector, checked = Detector(), 0
    with h5py.File(folder / "out" / "t_full_master.h5") as file:
        table = file["entry/rashpa"]
        completeness, stored, error = (table[name][()] for name in ("completeness", "stored_index", "error_reason"))
        for first in range(0, len(completeness), STACK):
            images = range(first, min(first + STACK, len(completeness)))
            for image in images:
                if stored[image] < 0 or completeness[image] != 1:
                    continue
                np.testing.assert_allclose(
                    file["entry/data/data"][stored[image]],
                    detector.kev(image),
                    rtol=1e-5,
                    atol=1e-3,
                    err_msg=str(image),
                )
                checked += 1
            for image in images:
                if detector.dark[image % DIFFERENT] and completeness[image] == 1 and error[image] == 0:
                    detector.follow(image)
    return checked, report["books"]["missing"]


@pytest.mark.parametrize(("unit", "rate_hz", "frames"), [("cpu", 200.0, 400), ("opencl", 2000.0, 2000)])
def test_pedestals_follow_the_dark_images_that_the_books_call_intact(
    tmp_path: Path, unit: str, rate_hz: float, frames: int
) -> None:
    """Check pedestals at a rate at which a receiver misses some images and takes others. The right rate depends on the machine, so a rate that is too
    low or too high is changed."""
    if not available_units()[unit][0]:
        pytest.skip(f"there is no unit {unit} here")
    checked = 0
    for attempt in range(8):
        found, missing = followed(tmp_path / str(attempt), unit, rate_hz, frames)
        checked += found if missing else 0
        if checked > 20:
            return
        rate_hz *= 0.6 if missing else 2.0
    pytest.fail(f"{checked} images were compared in runs that missed others")
