#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts known defects back, one at a time, and counts the seeds until the simulator finds each.

Usage: simulate_mutants.py [--seeds N] [NAME…]. The defects are the patches below `tests/simulation/mutants`; without names, all. Each is applied to
the tree, the program is built, seeds 1 … N are played, and the tree is restored. Prints a table row for each; exit 1 when a defect is not found, or
does not apply.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MUTANTS = ROOT / "tests" / "simulation" / "mutants"
BUILD = ROOT / "build" / "release"
PROGRAM = BUILD / "tests" / "simulation" / "rashpa_simulation"


def patch(file: Path, *options: str) -> bool:
    """Apply a patch to the tree by its changed lines, without their context; return True when it fits."""
    done = subprocess.run(["git", "apply", "-C0", *options, str(file)], cwd=ROOT, check=False)  # noqa: S603, S607
    return done.returncode == 0


def build() -> None:
    """Build the program from the tree as it is."""
    subprocess.run(  # noqa: S603
        ["cmake", "--build", str(BUILD), "--target", "rashpa_simulation"],  # noqa: S607
        cwd=ROOT,
        check=True,
        stdout=subprocess.DEVNULL,
    )


def first_failure(seeds: int) -> tuple[int, str] | None:
    """Return the first seed that fails, and the beginning of its output; None when all pass."""
    done = subprocess.run(  # noqa: S603
        [str(PROGRAM), "--seeds", str(seeds), "--most-failures", "1"], capture_output=True, text=True, check=False
    )
    found = re.findall(r"^seed (\d+) failed: (.*)\n(.*)$", done.stdout, re.MULTILINE)
    if not found:
        return None
    seed, first, second = min(found, key=lambda each: int(each[0]))
    return int(seed), second if re.match(r"[0-9a-f]{16} ", first) else first


def main() -> int:
    """Return the exit status: 0 when every defect was found."""
    parser = argparse.ArgumentParser(description="puts defects back, and counts the seeds until each is found")
    parser.add_argument("--seeds", type=int, default=10_000)
    parser.add_argument("names", nargs="*")
    asked = parser.parse_args()
    known = {file.stem: file for file in sorted(MUTANTS.rglob("*.patch"))}
    if strange := [name for name in asked.names if name not in known]:
        parser.error(f"{', '.join(strange)}: no such defect; take names of patches below {MUTANTS.relative_to(ROOT)}")
    files = [known[name] for name in asked.names] or list(known.values())
    missed = 0
    print("| defect | seeds | found as |\n|---|---|---|", flush=True)
    for file in files:
        if not patch(file):
            print(f"| {file.stem} | | the patch does not apply: make it anew |", flush=True)
            missed += 1
            continue
        try:
            build()
            found = first_failure(asked.seeds)
        finally:
            patch(file, "--reverse")
        missed += found is None
        row = f"more than {asked.seeds} | not found" if found is None else f"{found[0]} | {found[1]}"
        print(f"| {file.stem} | {row} |", flush=True)
    build()
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
