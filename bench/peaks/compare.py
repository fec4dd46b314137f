#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares peak finders with the programs whose algorithms they implement: first the peaks, then the time, in one run.

Usage: compare.py {peakfinder8,peakfinder} [--json FILE]. Images: recorded thaumatin (../shared/data/mx), and 4M images made here. The peers run in
separate environments (tools/peer_environment.sh). Exit 1 when less than 99 % of the peaks agree.
"""

import argparse
import bz2
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree

from rashpa.control.nodes.machine import measured, write_measured
from rashpa.data.kernels.pipeline import Pipeline

ROOT = Path(__file__).resolve().parents[2]
THAUMATIN = ROOT / "../shared/data/mx"
NEAR = 0.1  # pixels
LEAST = 0.99
REPEATS = 3
PEAKFINDER8 = {
    "threshold": 10.0,
    "min_snr": 5.0,
    "min_pixels": 2,
    "max_pixels": 200,
    "local_bg_radius": 3,
    "max_peaks": 20000,
}
PEAKFINDER = {
    "bins": 800,
    "error_model": "poisson",
    "clip": 0.0,
    "cycles": 5,
    "noise": 1.0,
    "cutoff": 3.0,
    "patch": 5,
    "connected": 3,
    "max_peaks": 20000,
}


def thaumatin() -> tuple[np.ndarray, float, float]:
    """Return frames 3, 13, 15 and 19 with the place of the beam; four pixels that always count are masked."""
    import fabio

    frames = []
    with tempfile.TemporaryDirectory() as folder:
        for packed in sorted(THAUMATIN.glob("*.cbf.bz2")):
            plain = Path(folder) / "frame.cbf"
            plain.write_bytes(bz2.decompress(packed.read_bytes()))
            frames.append(fabio.open(plain).data.astype(np.int32))
    images = np.stack(frames)
    images[images > 1_000_000] = -1
    return images, 1261.61, 1306.96


def synthetic(count: int = 4) -> tuple[np.ndarray, float, float]:
    """Return 4M images of photons without masked pixels: a background that decreases with the radius, and 100 spots of several pixels."""
    random = np.random.default_rng(10)
    y, x = np.mgrid[:2164, :2068]
    images = random.poisson(0.5 + 6 * np.exp(-np.hypot(x - 1030, y - 1080) / 400), (count, 2164, 2068)).astype(
        np.uint16
    )
    for image in images:
        for cy, cx in zip(random.integers(10, 2150, 100), random.integers(10, 2050, 100), strict=True):
            spot = 150 * np.exp(-((y[:9, :9] - 4) ** 2 + (x[:9, :9] - 4) ** 2) / 3)
            image[cy - 4 : cy + 5, cx - 4 : cx + 5] += random.poisson(spot).astype(np.uint16)
    return images, 1030.9, 1080.2


def peer(name: str, settings: dict, folder: Path) -> dict:
    """Return the peer's peaks."""
    python = subprocess.run(
        [ROOT / "tools/peer_environment.sh", name], check=True, capture_output=True, text=True
    ).stdout.strip()
    file = folder / "settings.json"
    file.write_text(json.dumps(settings), encoding="utf-8")
    subprocess.run([python, ROOT / f"bench/peers/{name}_peaks.py", file], check=True)
    return dict(np.load(settings["out"]))


def matched(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Return the share of all peaks for which the other side has one within NEAR."""
    if not len(ours) or not len(theirs):
        return float(len(ours) == len(theirs))
    forth = cKDTree(theirs).query(ours)[0] <= NEAR
    back = cKDTree(ours).query(theirs)[0] <= NEAR
    return min(forth.mean(), back.mean())


def seconds_of(pipeline: Pipeline, images: np.ndarray) -> float:
    """Return the seconds for one image, the best of several calls."""
    found = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        pipeline(images)
        found.append((time.perf_counter() - start) / len(images))
    return min(found)


def compare(kernel: str, what: str, images: np.ndarray, beam: tuple[float, float], folder: Path) -> dict:
    """Return a row of the result."""
    good = ((images >= 0) & (images != np.iinfo(images.dtype).max)).all(axis=0)
    y, x = np.mgrid[: images.shape[1], : images.shape[2]]
    radius = np.hypot(x + 0.5 - beam[0], y + 0.5 - beam[1]).astype(np.float32)
    place = {"beam_x": beam[0], "beam_y": beam[1]}
    parameters = (PEAKFINDER8 if kernel == "peakfinder8" else PEAKFINDER) | place
    np.save(folder / "images.npy", images)
    np.save(folder / "radius.npy", radius)
    np.save(folder / "mask.npy", (good if kernel == "peakfinder8" else ~good).astype(np.int8))
    settings = {
        name: str(folder / file)
        for name, file in {"images": "images.npy", "radius": "radius.npy", "mask": "mask.npy", "out": "out.npz"}.items()
    }
    name = "ondamonitor" if kernel == "peakfinder8" else "pyfai"
    repeats = REPEATS if kernel == "peakfinder8" else 1  # OpenCL on processors is an oracle, no peer
    theirs = peer(name, settings | {"repeats": repeats} | parameters, folder)
    kernels, how = [{"name": kernel, **parameters}], {"stack": 4, "masked": "delivered"}
    found = Pipeline(kernels, images.shape[1:], images.dtype, threads=1, **how)(images)
    same, peaks = [], []
    for number, image in enumerate(found):
        table = image.tables[kernel]
        ours = np.column_stack([table["x"], table["y"]])
        same.append(matched(ours, np.column_stack([theirs[f"x_{number}"], theirs[f"y_{number}"]])))
        peaks.append(len(ours))
    row = {"images": what, "peaks": peaks, "same": same, "peer_seconds": float(theirs["seconds"].min())}
    for threads in (1, os.cpu_count() or 1):
        pipeline = Pipeline(kernels, images.shape[1:], images.dtype, threads=threads, **how)
        row[f"seconds_{threads}_threads"] = seconds_of(pipeline, images)
        row[f"ratio_{threads}_threads"] = row["peer_seconds"] / row[f"seconds_{threads}_threads"]
    return row


def main() -> int:
    """Return the exit status."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("kernel", choices=["peakfinder8", "peakfinder"])
    arguments.add_argument("--json", type=Path)
    options = arguments.parse_args()
    rows = []
    for what, make in (("thaumatin, PILATUS 6M", thaumatin), ("synthetic, 4M", synthetic)):
        if make is thaumatin and not THAUMATIN.is_dir():
            print("the recorded frames of ../shared/data/mx are not here: left out")
            continue
        images, *beam = make()
        with tempfile.TemporaryDirectory() as folder:
            rows.append(compare(options.kernel, what, images, (beam[0], beam[1]), Path(folder)))
        print(json.dumps(rows[-1]))
    if options.json:
        write_measured(options.json, measured(f"peaks {options.kernel}", rows))
    return int(any(min(row["same"]) < LEAST for row in rows))


if __name__ == "__main__":
    sys.exit(main())
