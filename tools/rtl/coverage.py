#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the benches of rtl/ with Verilator's coverage and says how much of each file they reach: C++ and cocotb ones, all of a file together, but for those
that measure rates: they take long and reach nothing else.

Usage: build/rtl/bin/python tools/rtl/coverage.py [--only REGEX] [--jobs N] [--missing] [--kept] [--json FILE]. Exit 1 when less than 95 % of a block's lines
were reached, of folders with all of their benches run. --json keeps these folders, beside the others that it has. Lines are those on which Verilator counts a
branch or block; toggles are of bits; a parameter's constant bits never toggle.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

from blocks import BUILD, RTL, Bench, benches
from test_rtl import cpp_bench, python_bench, software

LEAST = 0.95
LONGEST_S = 1800  # of a bench: counting makes it slower


@dataclass
class Reached:
    """Counts how often points of a file were reached, each by its place."""

    lines: collections.Counter[str] = field(default_factory=collections.Counter)
    toggles: collections.Counter[str] = field(default_factory=collections.Counter)

    @staticmethod
    def counts(points: collections.Counter[str]) -> dict[str, int]:
        return {"reached": sum(count > 0 for count in points.values()), "all": len(points)}

    @staticmethod
    def share(points: collections.Counter[str]) -> float:
        return sum(count > 0 for count in points.values()) / len(points) if points else 1.0


def data_of(bench: Bench) -> Path:
    """Return the path of the file in which a bench counts the points that it reached."""
    return BUILD / "coverage" / bench.name / "coverage.dat"


def add(data: Path, files: dict[str, Reached]) -> None:
    """Add the reached points of one bench: points of all instances of a module are one."""
    for said, count in re.findall(
        r"^C '(.*)' (\d+)$", data.read_text(encoding="utf-8", errors="replace"), re.MULTILINE
    ):
        keys = dict(pair.split("\x02", 1) for pair in said.split("\x01") if "\x02" in pair)
        path = Path(keys["f"])
        # Functions of packages run at elaboration.
        if RTL not in path.parents or path.stem.endswith("_pkg"):
            continue
        reached = files.setdefault(str(path.relative_to(RTL)), Reached())
        points = reached.toggles if keys["page"].startswith("v_toggle") else reached.lines
        points[f"{keys['l']}:{keys.get('o', '').split(':')[0]}"] += int(count)


def main() -> int:
    """Exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="benches whose name this expression is found in")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="at a time")
    parser.add_argument("--kept", action="store_true", help="do not run again what has left its coverage.dat")
    parser.add_argument(
        "--json", type=Path, help="results, of every file: points reached, points in all; beside those of other folders"
    )
    parser.add_argument("--missing", action="store_true", help="say which lines were not reached")
    options = parser.parse_args()
    existing = [bench for kind in (".cpp", ".py") for bench in benches(kind) if "_rate_" not in bench.name]
    chosen = [bench for bench in existing if re.search(options.only, bench.name)]
    (BUILD / "log").mkdir(parents=True, exist_ok=True)
    to_run = [bench for bench in chosen if not (options.kept and data_of(bench).exists())]
    jobs = [(cpp_bench if bench.path.suffix == ".cpp" else python_bench)(bench, covered=True) for bench in to_run]
    if not software().run()[0]:
        raise SystemExit("coverage: the software does not compile: make test-rtl RTL_ONLY=cpp")
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for job, (good, _) in zip(jobs, pool.map(lambda job: job.run(LONGEST_S), jobs), strict=True):
            if not good:
                raise SystemExit(f"coverage: {job.name} failed: {job.log}")
    files: dict[str, Reached] = {}
    for bench in chosen:
        add(data_of(bench), files)
    tested = {bench.path.parent.name for bench in chosen} - {
        bench.path.parent.name for bench in existing if bench not in chosen
    }
    below = 0
    print(f"{'file':<44}{'lines':>8}{'toggles':>9}")
    for name, reached in sorted(files.items()):
        lines = Reached.share(reached.lines)
        low = lines < LEAST and Path(name).parent.name in tested
        below += low
        print(f"{name:<44}{lines:>8.1%}{Reached.share(reached.toggles):>9.1%}{'   below' if low else ''}")
        if options.missing:
            for points in (reached.lines, reached.toggles):
                places = [place for place, count in points.items() if not count]
                print(*(f"    {place}" for place in places[:40]), sep="\n")
    if options.json:
        rows = {
            name: {"lines": Reached.counts(reached.lines), "toggles": Reached.counts(reached.toggles)}
            for name, reached in files.items()
            if Path(name).parent.name in tested
        }
        known = json.loads(options.json.read_text(encoding="utf-8")) if options.json.exists() else {}
        kept = {name: row for name, row in known.items() if Path(name).parent.name not in tested}
        options.json.write_text(json.dumps(dict(sorted((kept | rows).items())), indent=1) + "\n", encoding="utf-8")
    return 1 if below or not files else 0


if __name__ == "__main__":
    sys.exit(main())
