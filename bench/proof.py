#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of `verify = "all"` over `pcie`: images/s and processor time of unthrottled runs, compared with the same run with `verify =
"off"`. Both alternate in random order, so that other work on the machine affects both. A figure is the median of the ratios of all rounds, with the
lowest and the highest ratio. --before COMMAND does the same with another build, in the same rounds. Prints rows; --json writes them with machine
facts.

Usage: proof.py [--frames 1500] [--rounds 7] [--before COMMAND] [--json OUT.json]
"""

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rashpa.control.nodes.machine import measured, write_measured

SIDE = 1024
RUN = """\
[run]
name = "p"
frames = {frames}
output = "{folder}/out"
[detector]
width = {side}
height = {side}
pixel = "uint16"
[dataset]
kind = "pattern"
modules = 1
width = {side}
height = {side}
frames = 8
[link]
kind = "pcie"
[link.pcie]
verify = "{verify}"
[[buffer]]
name = "full"
slots = 40
stack = 10
{chain}"""
CHAINS = {
    "images into HDF5": '[[buffer.sink]]\nkind = "hdf5"\n',
    "images into raw files": '[[buffer.sink]]\nkind = "raw"\n',
    "total_counts, and images counted": '[[buffer.kernel]]\nname = "total_counts"\n[[buffer.sink]]\nkind = "null"\n',
    "images counted, nothing read": '[[buffer.sink]]\nkind = "null"\n',
}
OURS = [sys.executable, "-m", "rashpa.cli.entry"]


def _processor_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def play(command: list[str], chain: str, verify: str, frames: int) -> tuple[float, float]:
    """Return images/s, and the processor time of all processes in ms for each image, including their start."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        (Path(folder) / "run.toml").write_text(
            RUN.format(frames=frames, folder=folder, side=SIDE, verify=verify, chain=CHAINS[chain])
        )
        worked = _processor_s()
        words = [*command, "run", f"{folder}/run.toml", "-q", "--no-page", "--output", f"{folder}/report"]
        subprocess.run(words, check=True, capture_output=True, cwd=folder)
        report = json.loads((Path(folder) / "report" / "report.json").read_text())
        return report["rates"]["images_per_s"], (_processor_s() - worked) / frames * 1e3


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--frames", type=int, default=1500)
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--before", help="the command of another build")
    options.add_argument("--json", type=Path)
    chosen = options.parse_args()
    builds = {"": OURS} | ({"before: ": [chosen.before]} if chosen.before else {})
    load = [os.getloadavg()[0]]
    found: dict[str, list[tuple[float, float]]] = {}
    for _ in range(chosen.rounds):
        for chain in CHAINS:
            order = [(build, verify) for build in builds for verify in ("all", "off")]
            random.shuffle(order)
            rates = {each: play(builds[each[0]], chain, each[1], chosen.frames) for each in order}
            for build in builds:
                (rate, worked), (plain, idle) = rates[build, "all"], rates[build, "off"]
                found.setdefault(build + chain, []).append((rate / plain, worked - idle))
                found.setdefault(f"{build}{chain}, verify off", []).append((plain, idle))
    rows: list[dict[str, Any]] = []
    for name, values in found.items():
        first, second = zip(*values, strict=True)
        off = name.endswith("verify off")
        rows.append(
            {
                "what": name,
                "value": round(statistics.median(first), 3),
                "unit": "images/s" if off else "of the rate with verify off",
                "from": round(min(first), 3),
                "to": round(max(first), 3),
                "processor_ms": round(statistics.median(second), 3),
            }
        )
        print("{what:60} {value:8} {unit} ({from} … {to}), {processor_ms} ms of processors an image".format(**rows[-1]))
    load.append(os.getloadavg()[0])
    if chosen.json:
        write_measured(chosen.json, measured("proof", rows, load=[round(value, 1) for value in load]))


if __name__ == "__main__":
    main()
