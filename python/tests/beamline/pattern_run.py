# SPDX-License-Identifier: Apache-2.0
"""Makes a small run with known images, and known vetoes of a kernel, without asking the sender."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashpa.sim.pattern import pattern_frame

WIDTH, HEIGHT, REPEAT = 64, 32, 8


def frame(number: int) -> NDArray[np.generic]:
    """Return the frame that the detector sends."""
    return pattern_frame("uint16", 0, number % REPEAT, HEIGHT, WIDTH)


TOTALS = [int(frame(number).astype(np.uint64).sum()) for number in range(REPEAT)]
LEAST = sorted(TOTALS)[REPEAT // 2]
"""Counts of the weakest image that is kept: half of them."""


def kept(number: int) -> bool:
    """Return True when the pipeline accepts the frame."""
    return TOTALS[number % REPEAT] >= LEAST


def tables(folder: Path, *, stack: int = 1, frames: int = 16, veto: bool = True, **run: Any) -> dict[str, Any]:
    """Return the tables of the run file."""
    kernels = [{"name": "total_counts", "min_counts": LEAST}] if veto else []
    return {
        "run": {"name": "small", "frames": frames, "output": str(folder), **run},
        "detector": {"width": WIDTH, "height": HEIGHT, "pixel": "uint16", "rate_hz": 500.0, "count_time_s": 0.001},
        "dataset": {"kind": "pattern", "width": WIDTH, "height": HEIGHT, "frames": REPEAT},
        "link": {"port": 0, "memory": "pageable"},
        "buffer": [
            {
                "name": "b",
                "slots": 24,
                "stack": stack,
                "deadline_ms": 5000,
                "kernel": kernels,
                "sink": [{"kind": "hdf5"}],
            }
        ],
    }


def run_file(folder: Path, **parts: Any) -> Path:
    """Write the run file and return its path."""
    lines = []
    values = tables(folder, **parts)
    (buffer,) = values.pop("buffer")
    for name, table in values.items():
        lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in table.items())]
    inner = {"kernel": buffer.pop("kernel"), "sink": buffer.pop("sink")}
    lines += ["[[buffer]]", *(f"{key} = {json.dumps(value)}" for key, value in buffer.items())]
    for name, many in inner.items():
        for one in many:
            lines += [f"[[buffer.{name}]]", *(f"{key} = {json.dumps(value)}" for key, value in one.items())]
    file = folder / "small.toml"
    file.write_text("\n".join(lines) + "\n")
    return file
