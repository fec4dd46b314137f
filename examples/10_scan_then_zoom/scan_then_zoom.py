#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds the crystals of a sample with a coarse scan, chooses a region from the receiver's decisions, and scans it finely.

Usage: scan_then_zoom.py [FOLDER]. README.md says what is emulated and how.
"""

import sys
import threading
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import rashpa

SIDE = 192  # pixels of the detector
SIZE_UM = 120.0  # side of the sample, µm
BEAM_UM = 2.0  # what one image sees
COARSE, FINE = 12, 16  # grid points a side
MOST_SPOTS = 60  # of an image in the middle of a crystal
HIT = 6  # peaks of a hit
RATE_HZ = 200.0


@dataclass(frozen=True)
class Crystal:
    """Describes a crystal as an ellipse, in µm."""

    x: float
    y: float
    wide: float
    high: float


SAMPLE = (Crystal(32, 80, 17, 11), Crystal(86, 34, 9, 9), Crystal(92, 96, 6, 12))


@dataclass(frozen=True)
class Grid:
    """Describes the points of a scan, row after row; the beam is at the centre of a point's cell."""

    x: float  # µm, of the first corner
    y: float
    width: float
    height: float
    side: int  # points

    @property
    def points(self) -> list[tuple[float, float]]:
        dx, dy = self.width / self.side, self.height / self.side
        return [(self.x + (i + 0.5) * dx, self.y + (j + 0.5) * dy) for j in range(self.side) for i in range(self.side)]


def scattering(x: float, y: float) -> float:
    """Return the amount of crystal in the beam at a place of the sample, 0 … 1."""
    near = [1 - ((x - one.x) / (one.wide + BEAM_UM)) ** 2 - ((y - one.y) / (one.high + BEAM_UM)) ** 2 for one in SAMPLE]
    return max(0.0, *near)


def frame(x: float, y: float, dice: np.random.Generator) -> NDArray[np.uint16]:
    """Return the image with the beam there: scattering of the solvent, and the Bragg spots of a crystal, if there is one."""
    rows, columns = np.mgrid[0:SIDE, 0:SIDE] - SIDE / 2
    image = dice.poisson(1.0 + 3.0 * np.exp(-(rows**2 + columns**2) / (2 * (SIDE / 5) ** 2)))
    for _ in range(round(MOST_SPOTS * scattering(x, y))):
        row, column = dice.integers(4, SIDE - 4, 2)
        image[row - 1 : row + 2, column - 1 : column + 2] += dice.poisson([[8, 20, 8], [20, 90, 20], [8, 20, 8]])
    return image.astype(np.uint16)


def run_file(name: str, file: Path, images: int, ring: str, output: Path) -> dict[str, Any]:
    """Return the run file of one scan: one image for each point; all images are kept, and their decisions published at once."""
    return {
        "run": {"name": name, "frames": images, "output": str(output), "existing": "replace"},
        "detector": {"width": SIDE, "height": SIDE, "rate_hz": RATE_HZ, "distance_m": 0.1},
        "dataset": {"kind": "files", "files": [[str(file)]]},
        "link": {"port": 0},
        "buffer": [
            {
                "name": "scan",
                "slots": 40,
                "stack": 1,  # an image is decided when it is there, and waits for no other
                "kernel": [{"name": "peakfinder8", "threshold": 25, "min_snr": 6, "min_pixels": 2}],
                "feedback": {"ring": ring},
                "sink": [{"kind": "hdf5"}],
            }
        ],
    }


def scan(name: str, grid: Grid, folder: Path, seed: int) -> tuple[NDArray[np.int64], float]:
    """Return the number of peaks at each point, as the receiver published them during the scan, and the 99th percentile of their delay in seconds."""
    dice = np.random.default_rng(seed)
    file = folder / f"{name}.npy"
    np.save(file, np.stack([frame(x, y, dice) for x, y in grid.points]))
    ring = f"{name}.{uuid.uuid4().hex[:8]}"
    outcome: list[Any] = []
    config = run_file(name, file, len(grid.points), ring, folder)
    acquisition = threading.Thread(target=lambda: outcome.append(rashpa.run(config)))
    acquisition.start()
    peaks = np.full(len(grid.points), -1, np.int64)
    late: list[float] = []
    with rashpa.feedback(ring, timeout_s=30) as images:
        for image in images:
            peaks[image.index] = image.scalars["n_peaks"]
            late.append(image.latency_s)
        lost = images.lost
    acquisition.join()
    if lost or not outcome or not outcome[0].good:
        raise SystemExit(f"{name}: {lost} images were lost; {outcome[0].problem if outcome else 'the run failed'}")
    return peaks.reshape(grid.side, grid.side), float(np.percentile(late, 99))


def largest_crystal(grid: Grid, peaks: NDArray[np.int64]) -> Grid | None:
    """Return a fine grid over the connected hits with most peaks, one cell larger on each side; None without hits."""
    left = {(int(j), int(i)) for j, i in np.argwhere(peaks >= HIT)}
    found: list[list[tuple[int, int]]] = []
    while left:
        island, edge = [], [left.pop()]
        while edge:
            j, i = edge.pop()
            island.append((j, i))
            for near in ((j - 1, i), (j + 1, i), (j, i - 1), (j, i + 1)):
                if near in left:
                    left.remove(near)
                    edge.append(near)
        found.append(island)
    if not found:
        return None
    best = max(found, key=lambda island: sum(peaks[cell] for cell in island))
    dx, dy = grid.width / grid.side, grid.height / grid.side

    def bounds(cells: Iterable[int]) -> tuple[int, int]:
        known = list(cells)
        return max(0, min(known) - 1), min(grid.side, max(known) + 2)

    top, bottom = bounds(j for j, _ in best)
    first, last = bounds(i for _, i in best)
    return Grid(grid.x + first * dx, grid.y + top * dy, (last - first) * dx, (bottom - top) * dy, FINE)


def draw(scans: list[tuple[str, Grid, NDArray[np.int64]]], file: Path) -> None:
    """Draw the sample, and the hits of each scan."""
    figure = Figure(figsize=(11, 3.6), layout="constrained")
    axes = figure.subplots(1, 3, sharex=True, sharey=True)
    steps = (np.arange(240) + 0.5) * SIZE_UM / 240
    truth = np.array([[scattering(x, y) for x in steps] for y in steps])
    axes[0].imshow(truth, extent=(0, SIZE_UM, SIZE_UM, 0), cmap="Greys")
    axes[0].set_title("the sample")
    for axis, (title, grid, peaks) in zip(axes[1:], scans, strict=True):
        extent = (grid.x, grid.x + grid.width, grid.y + grid.height, grid.y)
        axis.imshow(peaks, extent=extent, vmin=0, vmax=MOST_SPOTS, cmap="viridis")
        axis.set_title(f"{title}: peaks")
    zoom = scans[-1][1]
    for axis in axes:
        axis.plot(
            [zoom.x, zoom.x + zoom.width, zoom.x + zoom.width, zoom.x, zoom.x],
            [zoom.y, zoom.y, zoom.y + zoom.height, zoom.y + zoom.height, zoom.y],
            color="tab:red",
        )
        axis.set(xlim=(0, SIZE_UM), ylim=(SIZE_UM, 0), xlabel="µm")
    figure.savefig(file, dpi=110, metadata={"Date": None} if file.suffix == ".svg" else None)


def main() -> None:
    """Carry out two scans and draw a picture."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/scan_then_zoom")
    folder.mkdir(parents=True, exist_ok=True)
    coarse = Grid(0, 0, SIZE_UM, SIZE_UM, COARSE)
    counts, late = scan("coarse", coarse, folder, 1)
    print(
        f"coarse: {counts.size} points, {np.count_nonzero(counts >= HIT)} hits; published within {late * 1e3:.2f} ms (p99)"
    )
    fine = largest_crystal(coarse, counts)
    if fine is None:
        raise SystemExit("no crystal was hit")
    print(f"zoom: {fine.width:.0f} × {fine.height:.0f} µm at {fine.x:.0f}, {fine.y:.0f}")
    details, late = scan("fine", fine, folder, 2)
    print(
        f"fine: {details.size} points, {np.count_nonzero(details >= HIT)} hits; published within {late * 1e3:.2f} ms (p99)"
    )
    draw([("coarse scan", coarse, counts), ("fine scan", fine, details)], folder / "scan_then_zoom.png")
    print(f"picture: {folder / 'scan_then_zoom.png'}")


if __name__ == "__main__":
    main()
