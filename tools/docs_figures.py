#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Copies the figures of bench/results into texts, so that the texts always agree with the results.

A figure is between two comments: <!--= FILE; WHAT; FORMAT -->6.0<!--/-->. FILE is a file of bench/results. WHAT is the name of a row, or "WHAT
against PEER" when a row has several peers. FORMAT is the format of its value (.1f); `%FORMAT` writes its ratio to a peer in percent.

Usage: docs_figures.py [--check] [FILE…]. With --check nothing is written; exit 1 when a text differs from the results.
"""

import functools
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_FIGURE = re.compile(r"<!--=\s*([^;>]+?)\s*;\s*([^;>]+?)\s*;\s*(%?)([^;>]+?)\s*-->[^<]*<!--/-->")


@functools.cache
def rows(name: str) -> dict[str, tuple[float, float]]:
    """Return value and ratio of each row, by name; of rows with the same name, the first."""
    found: dict[str, tuple[float, float]] = {}
    for row in json.loads((ROOT / "bench" / "results" / name).read_text(encoding="utf-8"))["rows"]:
        value = (float(row["value"]), float(row["ratio"] or 0))
        found.setdefault(row["what"], value)
        found.setdefault(f"{row['what']} against {row['against']}", value)
    return found


def with_figures(text: str) -> str:
    """Return the text with every figure from the results. Raise KeyError that names a missing row."""

    def figure(found: re.Match[str]) -> str:
        name, what, percent, form = found.groups()
        value, ratio = rows(name)[what]
        return f"<!--= {name}; {what}; {percent}{form} -->{format(100 * ratio if percent else value, form)}<!--/-->"

    return _FIGURE.sub(figure, text)


def texts() -> list[Path]:
    """Return the texts that may have figures."""
    return sorted([*(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("README.md"), *ROOT.glob("*.md")])


def main() -> int:
    """Return the exit status."""
    words = [word for word in sys.argv[1:] if word != "--check"]
    check = "--check" in sys.argv[1:]
    stale = 0
    for path in map(Path, words) if words else texts():
        before = path.read_text(encoding="utf-8")
        try:
            after = with_figures(before)
        except (KeyError, OSError) as error:
            print(f"{path}: bench/results has no {error}")
            stale = 1
            continue
        if after == before:
            continue
        if check:
            print(f"{path}: figures differ from bench/results; run tools/docs_figures.py")
            stale = 1
        else:
            path.write_text(after, encoding="utf-8")
    return stale


if __name__ == "__main__":
    sys.exit(main())
