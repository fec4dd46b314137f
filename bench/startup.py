#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the time that a user waits for the command: its help, its version, and a small run from the command line to the report. Each row of the
run is the time from the start of the process: to the first telegram, to the orders that begin and end the acquisition, to the last one, and to the
end of the process with report.html written. It also measures the processor time of all processes, which depends less on other work on the machine.
Prints the median of each row, and the load before and after; --json writes them with machine facts.

Usage: startup.py [--runs 9] [--frames 200] [--rate 100] [--json OUT.json]
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rashpa.control.nodes.machine import measured, write_measured

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "01_first_light.toml"
COMMAND = [sys.executable, "-m", "rashpa.cli.entry"]
# The command, which says when it makes each telegram; that costs an import that it has anyway.
SAYING = """\
import sys, time
sys.argv = ["rashpa", *sys.argv[1:]]
from rashpa.cli import entry
from rashpa.control.telegrams import telegram_xml
encode = telegram_xml.encode
def saying(message):
    print("telegram", type(message).__name__, time.monotonic(), time.process_time(), file=sys.stderr, flush=True)
    return encode(message)
telegram_xml.encode = saying
entry.main()
"""
ROWS = {
    "first telegram": "GetCapabilities",
    "nodes are configured": "Arm",
    "the acquisition begins": "Start",
    "all images are there": "Stop",
    "books are closed": "Reset",
}


def seconds_of(word: str) -> dict[str, float]:
    """Return the seconds of a command that must succeed: elapsed time and processor time."""
    began, worked = time.monotonic(), _processor_s()
    subprocess.run([*COMMAND, word], check=True, capture_output=True)
    return {f"rashpa {word}": time.monotonic() - began, f"rashpa {word}: processor": _processor_s() - worked}


def small_run(frames: int, rate_hz: float) -> dict[str, float]:
    """Return the seconds from the start of a run of the first example, by row."""
    text = EXAMPLE.read_text(encoding="utf-8")
    for old, new in (("frames = 2400", f"frames = {frames}"), ("rate_hz = 200.0", f"rate_hz = {rate_hz}")):
        if text.count(old) != 1:
            raise AssertionError(f"{EXAMPLE.name} has no line {old}")
        text = text.replace(old, new)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "run.toml").write_text(text.replace('output = "out/demo"', f'output = "{folder}/out"'))
        words = [sys.executable, "-c", SAYING, "run", f"{folder}/run.toml", "--output", f"{folder}/report", "-q"]
        began, worked = time.monotonic(), _processor_s()
        done = subprocess.run(words, check=True, capture_output=True, text=True)
        ended, worked = time.monotonic(), _processor_s() - worked
        if not (folder / "report" / "report.html").is_file():
            raise AssertionError("no report.html")
    first: dict[str, tuple[float, float]] = {}
    for line in done.stderr.splitlines():
        if line.startswith("telegram "):
            _, kind, at, processor = line.split()
            first.setdefault(kind, (float(at) - began, float(processor)))
    rows = {f"run: {row}": first[kind][0] for row, kind in ROWS.items()}
    rows["run: first telegram: processor"] = first[ROWS["first telegram"]][1]
    return rows | {"run: report.html is there": ended - began, "run: processors, all processes": worked}


def _processor_s() -> float:
    """Return the processor time, in seconds, of ended child processes and of their children."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=9, help="of which the median is told")
    options.add_argument("--frames", type=int, default=200)
    options.add_argument("--rate", type=float, default=100.0, help="frames a second")
    options.add_argument("--json", type=Path)
    chosen = options.parse_args()
    found: dict[str, list[float]] = {}
    load = [os.getloadavg()[0]]
    for _ in range(chosen.runs):
        once = seconds_of("--help") | seconds_of("--version") | small_run(chosen.frames, chosen.rate)
        for row, value in once.items():
            found.setdefault(row, []).append(value)
    rows: list[dict[str, Any]] = []
    for row, seconds in found.items():
        rows.append({"what": row, "value": round(statistics.median(seconds), 3), "unit": "s", "of": len(seconds)})
        print(f"{row:40} {rows[-1]['value']:8.3f} s")
    load.append(os.getloadavg()[0])
    print(f"load of the last minute: {load[0]:.1f} before, {load[1]:.1f} after")
    if chosen.json:
        facts = {"frames": chosen.frames, "rate_hz": chosen.rate, "load": [round(value, 1) for value in load]}
        write_measured(chosen.json, measured("startup", rows, **facts))


if __name__ == "__main__":
    main()
