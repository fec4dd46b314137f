#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Changes one place of a file at a time, and reports the changes that neither its tests nor the simulator detect.

Usage: try_changes.py [--count N] [--seed S] [--jobs N] [FILE…]. The files and their tests are in `sources.toml`; without a name, all are tried. The
programs must be built (`make mutants` does it). Of a file with more than N places, N are drawn. `reasons.toml` has the changes that make no
difference, each with its reason. A change hangs when its tests take ten times as long as without it; that time is measured again at once, so that a
loaded machine causes no hang. Prints each survivor, and a table row for each file; exit 1 when one survives without a reason.
"""

import argparse
import random
import sys
import tomllib
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cpp_changes
import python_changes
from change import Change
from cpp_judge import CppJudge
from python_judge import PythonJudge

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def sources() -> dict[Path, dict[str, Any]]:
    """Return the files to change, with their tests."""
    groups = tomllib.loads((HERE / "sources.toml").read_text())["group"]
    return {ROOT / name: group for group in groups for name in group["files"]}


def reasons() -> dict[tuple[str, str, str], str]:
    """Return the reasons why changes make no difference, by file, line before and line after."""
    told = tomllib.loads((HERE / "reasons.toml").read_text()).get("change", [])
    return {(each["file"], each["from"], each["to"]): each["why"] for each in told}


def drawn(places: list[Change], count: int, seed: str) -> list[Change]:
    """Return the changes to try: all, or `count` drawn ones."""
    chosen = random.Random(seed).sample(places, min(count, len(places)))  # noqa: S311
    return sorted(chosen, key=places.index)


def judged(file: Path, group: dict[str, Any]) -> tuple[list[Change], Callable[[Change], str]]:
    """Return the changes of a file, and a function that returns the fate of one."""
    text = file.read_text()
    if file.suffix == ".py":
        python = PythonJudge(file, group.get("tests", []), group.get("whole", []))
        return python_changes.changes(text), lambda change: python.fate(change.applied(text))
    cpp = CppJudge(file, group["programs"], group.get("tests", "*"), group.get("seeds", 0))
    return cpp_changes.changes(text), lambda change: cpp.fate(change.applied(text))


def row(name: str, places: int, fates: Counter[str]) -> str:
    """Return the row of a file in the table."""
    killed = fates["killed"] + fates["hung"]
    tried = killed + fates["survived"]
    share = f"{100 * killed / tried:.0f}" if tried else "-"
    counts = (places, tried, killed, fates["hung"], share, fates["equal"], fates["survived"])
    return f"| `{name}` | {' | '.join(str(count) for count in counts)} |"


def main() -> int:
    """Return the exit status: 0 when no change survives without a reason."""
    parser = argparse.ArgumentParser(description="says which changes of a file no test finds")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("files", nargs="*", type=Path)
    asked = parser.parse_args()
    known, why = sources(), reasons()
    files = [file.resolve() for file in asked.files] or list(known)
    total: Counter[str] = Counter()
    all_places = 0
    rows = []
    for file in files:
        name, text = str(file.relative_to(ROOT)), file.read_text()
        places, fate_of = judged(file, known[file])
        chosen = drawn(places, asked.count, f"{asked.seed} {name}")
        with ThreadPoolExecutor(asked.jobs) as pool:
            fates: Counter[str] = Counter()
            for change, fate in zip(chosen, pool.map(fate_of, chosen), strict=True):
                old, new = change.words(text)
                told = "equal" if fate == "survived" and (name, old, new) in why else fate
                fates[told] += 1
                if told == "survived":
                    print(f"{name}:{change.line(text)}: {old}  ->  {new}", flush=True)
        total += fates
        all_places += len(places)
        rows.append(row(name, len(places), fates))
        print(rows[-1], flush=True)
    head = "| file | places | tried | killed | of them hung | % | no difference | survived |\n|---|---|---|---|---|---|---|---|"
    print("\n".join([head, *rows, row("all", all_places, total)]))
    return 1 if total["survived"] else 0


if __name__ == "__main__":
    sys.exit(main())
