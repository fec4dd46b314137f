#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the gap between two series of a run. A detector without a rate sends as fast as flow control allows, so that any delay of the next series
shows as a gap between the timestamps of two images. It also measures the gaps within series, and those of the same run without series. Prints rows;
--json writes them with machine facts.

Usage: series.py [--series 20] [--frames 640] [--rate 0] [--folder FOLDER] [--json OUT.json]
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rashpa
from rashpa.control.nodes.machine import measured, write_measured

WIDTH, HEIGHT, SLOTS, STACK = 512, 256, 128, 16


def gaps_ms(folder: Path, frames: int, series: int, rate_hz: float, *, split: bool) -> NDArray[np.float64]:
    """Return the gaps between successive images, in ms, over all series."""
    output = folder / ("series" if split else "whole")
    outcome = rashpa.run(
        {
            "run": {"name": "bench", "frames": frames * series, "output": str(output)}
            | ({"series_frames": frames} if split else {}),
            "detector": {"width": WIDTH, "height": HEIGHT, "rate_hz": rate_hz, "module": [{"x": 0, "y": 0}]},
            "dataset": {"kind": "pattern", "width": WIDTH, "height": HEIGHT, "frames": 16},
            "link": {"kind": "pcie", "port": 0},
            "buffer": [{"name": "all", "slots": SLOTS, "stack": STACK, "sink": [{"kind": "hdf5"}]}],
        }
    )
    if not outcome.good:
        raise AssertionError(outcome.problem or outcome.reasons)
    masters = sorted(output.glob("*_master.h5"))
    if len(masters) != (series if split else 1):
        raise AssertionError(f"{len(masters)} masters")
    times = np.concatenate([rashpa.open(master).tables.timestamp_ns for master in masters]).astype(np.int64)
    return np.diff(times) / 1e6


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--series", type=int, default=20)
    options.add_argument("--frames", type=int, default=640, help="of each, a multiple of 16")
    options.add_argument("--rate", type=float, default=0.0, help="frames a second; 0: as fast as flow allows")
    options.add_argument("--folder", type=Path, help="for the files; /tmp when not given")
    options.add_argument("--json", type=Path)
    chosen = options.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(dir=chosen.folder) as name:
        whole = gaps_ms(Path(name), chosen.frames, chosen.series, chosen.rate, split=False)
        split = gaps_ms(Path(name), chosen.frames, chosen.series, chosen.rate, split=True)
    at = np.zeros(split.size, bool)
    at[chosen.frames - 1 :: chosen.frames] = True
    # what turning to the next files costs is felt when the ring is full: within the ring's images
    near = np.convolve(at, np.ones(SLOTS), "full")[: at.size] > 0
    for what, values in (
        ("between two series", split[at]),
        ("longest of the ring's images after that", np.array([split[n : n + SLOTS].max() for n in np.flatnonzero(at)])),
        ("elsewhere within series", split[~near]),
        ("the same run without series", whole),
    ):
        for label, value in (("p50", np.median(values)), ("p99", np.quantile(values, 0.99)), ("max", values.max())):
            rows.append({"what": f"{what}, {label}", "value": round(float(value), 4), "unit": "ms"})
            print(f"{rows[-1]['what']:55} {value:12.4f} ms", flush=True)
    for what, values in (("with series", split), ("without", whole)):
        rows.append({"what": f"images a second, {what}", "value": round(1e3 / float(values.mean()), 1), "unit": "1/s"})
        print(f"{rows[-1]['what']:55} {rows[-1]['value']:12.1f} 1/s")
    if chosen.json:
        name = f"series: {chosen.series} of {chosen.frames} frames of {WIDTH} x {HEIGHT}"
        write_measured(chosen.json, measured(name, rows))


if __name__ == "__main__":
    main()
