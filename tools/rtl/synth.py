#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Synthesises the blocks of rtl/ for UltraScale+ with Yosys and compares their size and depth with the stored ones.

Usage: build/rtl/bin/python tools/rtl/synth.py [--store] [--jobs N] [BLOCK…]. Prints a table; build/rtl/synth has netlists and logs.
Exit 1 when a figure is more than 10 % above the stored one (LUT levels: above it at all). A proxy: nothing is placed, no clock is met.
"""

import argparse
import concurrent.futures
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from blocks import BUILD, ROOT, blocks
from netlist import measure

STORED = ROOT / "bench" / "results" / "rtl_synth.json"
FIGURES = ("lut", "memory", "packed", "ff", "bram36", "dsp", "levels", "carry")
SLACK = 1.1
FOLDER = BUILD / "synth"


def synthesise(top: str) -> dict[str, Any]:
    """A block's figures. In a process of its own: Yosys' memory is given back, and two run at a time."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / f"{top}.log").open("w", encoding="utf-8") as log:
        command = [sys.executable, str(Path(__file__).resolve()), "--yosys", top]
        if subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, check=False).returncode:  # noqa: S603
            return {"failed": str(FOLDER / f"{top}.log")}
    size = measure(json.loads((FOLDER / f"{top}.json").read_text(encoding="utf-8")), top)
    # Yosys' own estimate of how many LUTs remain when small ones share one; memories do not.
    estimate = re.findall(r"Estimated number of LCs: +(\d+)", (FOLDER / f"{top}.log").read_text(encoding="utf-8"))
    packed = {"packed": int(estimate[-1]) + size.memory}
    return packed | size.row() | {"levels_at": size.levels_at, "carry_at": size.carry_at}


def yosys(top: str) -> None:
    """In the process of its own."""
    from elaborate import read
    from pyosys import libyosys

    design = libyosys.Design()
    read(top, design)
    libyosys.run_pass(f"synth_xilinx -family xcup -flatten -noiopad -noclkbuf -nowidelut -top {top}", design)
    libyosys.run_pass("stat -tech xilinx", design)
    libyosys.run_pass(f"write_json {FOLDER / top}.json", design)


def worse(row: dict[str, Any], stored: dict[str, Any] | None) -> list[str]:
    """The figures that grew too much; all of a block that is not stored are."""
    if stored is None:
        return ["not stored: --store"]
    grown = []
    for key in FIGURES:
        most = stored[key] if key == "levels" else stored[key] * SLACK
        if row[key] > most:
            grown.append(f"{key} {row[key]:g}, stored {stored[key]:g}")
    return grown


def main() -> int:
    """Exit status: 1 when a block grew or could not be synthesised."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", action="store_true", help="these figures are the stored ones from now on")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="at a time")
    parser.add_argument("--yosys", metavar="BLOCK", help=argparse.SUPPRESS)
    parser.add_argument("block", nargs="*")
    options = parser.parse_args()
    if options.yosys:
        yosys(options.yosys)
        return 0
    stored = json.loads(STORED.read_text(encoding="utf-8"))["blocks"] if STORED.exists() else {}
    # The largest first: those that are not known may be it.
    tops = options.block or sorted(blocks(), key=lambda top: -stored[top]["lut"] if top in stored else -math.inf)
    print(f"{'block':<24}{''.join(f'{key:>8}' for key in FIGURES)}   longest path ends at")
    rows: dict[str, dict[str, Any]] = {}
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        running = {pool.submit(synthesise, top): top for top in tops}
        for done in concurrent.futures.as_completed(running):
            top = running[done]
            row = rows[top] = done.result()
            if "failed" in row:
                print(f"{top:<24}FAILED: {row['failed']}", flush=True)
                failed += 1
                continue
            print(f"{top:<24}{''.join(f'{row[key]:>8g}' for key in FIGURES)}   {row['levels_at']}", flush=True)
            grown = [] if options.store else worse(row, stored.get(top))
            failed += bool(grown)
            for line in grown:
                print(f"{'':<24}WORSE: {line}", flush=True)
    if options.store and not failed:
        kept = {top: {key: row[key] for key in FIGURES} for top, row in rows.items()}
        known = {top: row for top, row in stored.items() if top in blocks()}
        document = {
            "name": "rtl_synth",
            "command": "make synth",
            "what": "synth_xilinx -family xcup of Yosys (pyosys 0.70): a proxy, neither placed nor timed",
            "blocks": dict(sorted((known | kept).items())),
        }
        STORED.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
