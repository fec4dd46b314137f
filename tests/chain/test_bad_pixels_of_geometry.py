# SPDX-License-Identifier: Apache-2.0
"""Checks pixels that the detector's geometry declares bad: they are in the mask of files, masked after the calibration, and masked for every kernel
of `process`."""

import subprocess
import sys
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401  (registers the filters)
import numpy as np
import pytest

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa.data.stored.reader import open_run

pytestmark = pytest.mark.whole

WIDTH, HEIGHT, FRAMES = 1024, 512, 4
GEOMETRY = f"""\
photon_energy = 9000
max_adu = 9500
p/min_fs = 0
p/max_fs = {WIDTH - 1}
p/min_ss = 0
p/max_ss = {HEIGHT - 1}
p/corner_x = -512
p/corner_y = -256
p/fs = -x
p/ss = -y
bad_r/min_fs = 100
bad_r/max_fs = 299
bad_r/min_ss = 50
bad_r/max_ss = 149
"""
RUN = """\
[run]
name = "{name}"
frames = 4
output = "out"
[detector]
width = 1024
height = 512
pixel = "uint16"
geometry = "det.geom"
[dataset]
{dataset}
[receiver]
port = 0
[[buffer]]
name = "b"
slots = 8
stack = 4
keep_darks = true
deadline_ms = 20000
kernel = [{kernels}]
sink = [{{ kind = "hdf5" }}]
"""
BAD = np.s_[50:150, 100:300]


def rashpa(folder: Path, *words: str) -> None:
    command = [sys.executable, "-m", "rashpa.cli.entry", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "det.geom").write_text(GEOMETRY)
    return tmp_path


def written(folder: Path, name: str, dataset: str, kernels: str) -> str:
    (folder / f"{name}.toml").write_text(RUN.format(name=name, dataset=dataset, kernels=kernels))
    return f"{name}.toml"


def test_behind_the_calibration_they_are_masked(folder: Path) -> None:
    simulated = 'kind = "jungfrau"\nmodules = 1\nframes = 4\nseed = 3'
    rashpa(folder, "run", written(folder, "conv", simulated, '{ name = "jungfrau" }, { name = "total_counts" }'), "-q")
    with open_run(folder / "out/conv_b_master.h5") as run:
        images = np.stack([run.image(n) for n in range(FRAMES)])
        masked = run.tables.scalars["masked_in_total"]
        assert (run.pixel_mask[BAD] & 256 == 256).all()
        assert np.count_nonzero(run.pixel_mask & 256) == 100 * 200
    assert (images[:, *BAD] == -32768).all()
    assert masked.tolist() == (images == -32768).sum((1, 2)).tolist()


def test_process_masks_them_and_files_say_them(folder: Path) -> None:
    pattern = f'kind = "pattern"\nmodules = 1\nframes = 4\nwidth = {WIDTH}\nheight = {HEIGHT}'
    rashpa(folder, "run", written(folder, "plain", pattern, ""), "-q")
    with open_run(folder / "out/plain_b_master.h5") as run:
        images = np.stack([run.image(n) for n in range(FRAMES)])
        assert (run.pixel_mask[BAD] == 256).all()
        assert np.count_nonzero(run.pixel_mask) == 100 * 200
    assert (images[:, *BAD] != 65535).any(), "pixels stay as they came"
    with h5py.File(folder / "out/plain_b_master.h5") as file:
        assert file["entry/instrument/detector/saturation_value"][()] == 9500
    with h5py.File(folder / "unmasked.h5", "w") as file:
        file["entry/data/data"] = images
    total = written(folder, "total", pattern, '{ name = "total_counts" }')
    rashpa(folder, "process", "unmasked.h5", "-p", total, "-o", "done")
    bad = np.zeros((HEIGHT, WIDTH), bool)
    bad[BAD] = True
    there = ~bad & (images != 65535)
    with open_run(next((folder / "done").glob("*_master.h5"))) as run:
        assert (
            run.tables.scalars["total_counts"].tolist() == np.where(there, images.astype(int), 0).sum((1, 2)).tolist()
        )
