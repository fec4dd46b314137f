# SPDX-License-Identifier: Apache-2.0
"""Runs that pages take for there: each is carried out once, for all pages that ask for it."""

import fcntl
import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

from rashpa.control.plan.run_plan import plan_run
from rashpa.control.runfile.run_file_reader import run_file_of
from rashpa.node.engine.native_engine import NativeFactory
from rashpa.node.state.node import Node
from rashpa.testing.in_process import run_in_process

WIDTH, HEIGHT = 128, 64


def tables(kernels: list[dict[str, Any]], **changed: Any) -> dict[str, Any]:
    """A run file with frames of counts; the others replace its tables."""
    sink = changed.pop("sink", {"kind": "hdf5"})
    values = {
        "run": {"name": "run", "frames": 40, "output": "out", "existing": "replace"},
        "detector": {
            "width": WIDTH, "height": HEIGHT, "pixel": "uint16", "rate_hz": 500, "distance_m": 0.1, "energy_kev": 12.4,
        },
        "dataset": {"kind": "pattern", "width": WIDTH, "height": HEIGHT, "frames": 8},
        "link": {"port": 0, "memory": "pageable"},
        "buffer": [{"name": "full", "slots": 24, "stack": 4, "kernel": kernels, "sink": [sink]}],
    }  # fmt: skip
    return values | {
        name: values[name] | value if isinstance(value, dict) and name != "dataset" else value
        for name, value in changed.items()
    }


def stored(values: dict[str, Any]) -> None:
    """The files of this run are in out/; kernels of it find geometry.poni."""
    Path("geometry.poni").write_text(poni(WIDTH, HEIGHT), encoding="utf-8")
    key = hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]
    kept = Path(os.environ["PAGES_RUNS"])
    here = Path.cwd()
    with (kept / f"{key}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (kept / key).is_dir():
            plan = plan_run(*run_file_of(values | {"run": values["run"] | {"output": str(kept / f"{key}_new")}}))
            # in this process: the page does not ask how the files came to be there
            outcome = run_in_process(
                plan, {role: Node(role, role, NativeFactory(role)) for role in ("emulator", "receiver")}
            )
            assert outcome.good, outcome.problem
            (kept / f"{key}_new").rename(kept / key)
    shutil.copytree(kept / key, here / "out", dirs_exist_ok=True)


def poni(width: int, height: int) -> str:
    """A geometry for pyFAI, with the beam in the middle."""
    return f"""poni_version: 2
Detector: Detector
Detector_config: {{"pixel1": 7.5e-05, "pixel2": 7.5e-05, "max_shape": [{height}, {width}], "orientation": 3}}
Distance: 0.1
Poni1: {height / 2 * 7.5e-5}
Poni2: {width / 2 * 7.5e-5}
Rot1: 0
Rot2: 0
Rot3: 0
Wavelength: 1e-10
"""


GEOMETRY = """clen = 0.1
photon_energy = 12400
adu_per_photon = 1
res = 13333.3
p0/min_fs = 0
p0/max_fs = 1023
p0/min_ss = 0
p0/max_ss = 511
p0/fs = -1.0x +0.0y
p0/ss = +0.0x -1.0y
p0/corner_x = 512
p0/corner_y = 256
"""
# What the kernels' pages look at, in one run.
KERNELS: list[dict[str, Any]] = [
    {"name": "total_counts"},
    {"name": "bragg_count", "threshold": 8, "min_pixels": 1},
    {"name": "roi_stats", "regions": "direct=10,10,8,8; halo=20,20,30,30"},
    {"name": "azimuthal", "poni": "geometry.poni", "bins": 50, "added": "accepted"},
    {"name": "accumulate"},
]


def endless(folder: str = "out") -> dict[str, Any]:
    """A run until somebody ends it."""
    values = tables([], run={"name": "endless", "frames": "until stopped", "output": folder})
    values["buffer"][0] |= {"slots": 200}
    values["detector"] |= {"rate_hz": 200}
    return values


def written(values: dict[str, Any]) -> Path:
    """As a run file of that name."""
    lines: list[str] = []
    for name, value in values.items():
        for table in value if isinstance(value, list) else [value]:
            lines.append(f"[[{name}]]" if isinstance(value, list) else f"[{name}]")
            lines += [f"{key} = {_toml(entry)}" for key, entry in table.items()]
    path = Path(f"{values['run']['name']}.toml")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_toml(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(entry) for entry in value) + "]"
    return json.dumps(value)
