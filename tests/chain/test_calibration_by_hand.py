# SPDX-License-Identifier: Apache-2.0
"""Compares images of a run, calibrated with a file from dark runs, with values computed by hand from the raw words."""

import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa.data.stored.reader import open_run

pytestmark = pytest.mark.whole

MODULES, FRAMES, HEIGHT, WIDTH = 2, 6, 32, 64
ENERGY = 12.4
CODES = {0: 0, 1: 1, 2: 3}  # the two highest bits of a word, by gain
RUN = f"""\
[run]
name = "hand"
frames = {FRAMES}
output = "out"
[detector]
width = {WIDTH}
height = {HEIGHT}
energy_kev = {ENERGY}
module = [{{ x = 0, y = 0 }}, {{ x = 0, y = {HEIGHT} }}]
[detector.calibration]
pedestal = ["c.h5", "c.h5:1"]
[dataset]
kind = "files"
files = [["m0.npy"], ["m1.npy"]]
[receiver]
port = 0
""" + "".join(
    f"""\
[[buffer]]
name = "{output}"
slots = 6
stack = 3
deadline_ms = 20000
kernel = [{{ name = "jungfrau", output = "{output}" }}]
sink = [{{ kind = "hdf5" }}]
"""
    for output in ("photons", "kev")
)


def rashpa(folder: Path, *words: str) -> None:
    command = [sys.executable, "-m", "rashpa.cli.entry", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a calibration that `rashpa calibrate` makes from dark runs, and of a run that uses it."""
    folder = tmp_path_factory.mktemp("hand")
    random = np.random.default_rng(34)
    for module in range(MODULES):
        level = np.stack([random.normal(at, 60, (HEIGHT, WIDTH)) for at in (2450, 13500, 14050)])
        gain = np.stack([random.normal(at, abs(at) / 20, (HEIGHT, WIDTH)) for at in (41.0, -1.45, -0.1156)])
        np.save(folder / f"gain{module}.npy", gain.astype(np.float32))
        for stage, code in CODES.items():
            darks = np.rint(random.normal(level[stage], 12, (40, HEIGHT, WIDTH))).astype(np.uint16)
            np.save(folder / f"d{module}_{stage}.npy", darks | np.uint16(code << 14))
        stages = random.integers(0, 3, (FRAMES, HEIGHT, WIDTH))
        kev = ENERGY * np.choose(
            stages, (random.integers(0, 20, stages.shape), random.integers(20, 500, stages.shape), np.int64(3000))
        )
        adu = np.take_along_axis(level, stages, axis=0) + kev * np.take_along_axis(gain, stages, axis=0)
        words = np.clip(np.rint(adu), 0, 16383).astype(np.uint16) | np.choose(stages, [0, 1 << 14, 3 << 14]).astype(
            np.uint16
        )
        words[:, 3, 5] = 0xFFFF  # no value
        np.save(folder / f"m{module}.npy", words)
        darks_of = [part for stages in CODES for part in (f"--g{stages}", f"d{module}_{stages}.npy")]
        more = ["--add"] if module else []
        rashpa(
            folder,
            "calibrate",
            "pedestal",
            "c.h5",
            *darks_of,
            "--gain",
            f"gain{module}.npy",
            "--module",
            str(module),
            *more,
        )
    (folder / "run.toml").write_text(RUN)
    rashpa(folder, "run", "run.toml", "-q")
    return folder


def by_hand(folder: Path, module: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the energy in keV of every pixel, and True for pixels that have none."""
    with h5py.File(folder / "c.h5") as file:
        pedestal, gain, mask = (file[f"module{module}/{key}"][()] for key in ("pedestal", "gain", "mask"))
    words = np.load(folder / f"m{module}.npy")
    kev = np.full(words.shape, np.nan)
    for stage, code in CODES.items():
        here = words >> 14 == code
        kev[here] = (((words & 0x3FFF) - pedestal[stage].astype(float)) / gain[stage].astype(float))[here]
    return kev, (words == 0xFFFF) | (mask != 0)


@pytest.mark.parametrize("module", range(MODULES))
def test_a_run_converts_as_one_does_by_hand(folder: Path, module: int) -> None:
    kev, bad = by_hand(folder, module)
    place = np.s_[:, module * HEIGHT : (module + 1) * HEIGHT]
    images = {}
    for output in ("photons", "kev"):
        with open_run(folder / f"out/hand_{output}_master.h5") as run:
            images[output] = np.stack([run.image(number) for number in range(FRAMES)])[place]
            assert (run.pixel_mask[place[1]] != 0)[~bad.all(axis=0)].sum() == 0
    assert np.isnan(images["kev"][bad]).all()
    assert (images["photons"][bad] == -32768).all()
    assert 0 < bad.mean() < 0.05
    np.testing.assert_allclose(images["kev"][~bad], kev[~bad], rtol=2e-5, atol=2e-4)
    photons = kev / ENERGY
    clear = ~bad & (np.abs(photons - np.floor(photons) - 0.5) > 1e-4)  # not half way between two numbers
    np.testing.assert_array_equal(images["photons"][clear], np.rint(photons)[clear])
    assert clear.sum() > 0.99 * (~bad).sum()
