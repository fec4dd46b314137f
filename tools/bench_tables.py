#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the tables of bench/results/README.md from the JSON files beside it; bench/results/tables.toml lists the tables.

Usage: bench_tables.py [--check]. With --check nothing is written; exit 1 when the tables differ from the results. KeyError or LookupError names a row
that no file has.
"""

import json
import operator
import re
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench" / "results"
BEGIN, END = "<!-- tables: made by tools/bench_tables.py -->", "<!-- /tables -->"
_CONDITIONS = {">=": operator.ge, "<=": operator.le}
_SIGNS = {">=": "≥", "<=": "≤"}


@cache
def result(name: str) -> dict[str, Any]:
    """Return the content of a results file."""
    loaded: dict[str, Any] = json.loads((RESULTS / name).read_text(encoding="utf-8"))
    return loaded


def found(row: dict[str, Any]) -> tuple[float, str, str, float]:
    """Return value, unit, peer and ratio of a row. The ratio is 0 without a peer."""
    rows = result(row["file"])["rows"]
    if "find" in row:
        one = next((one for one in rows if all(one.get(key) == value for key, value in row["find"].items())), None)
        if one is None:
            raise LookupError(f"{row['file']}: no row has {row['find']}")
        ratio = float(one[row["ratio"]]) if "ratio" in row else 0.0
        return float(one[row["value"]]), row["unit"], row.get("against", ""), ratio
    name = row["what"]
    for one in rows:
        if one["what"] == name and row.get("peer", one.get("against")) == one.get("against"):
            ratio = float(one.get("ratio") or 0)
            return float(one["value"]), one["unit"], (one.get("against") or "") if ratio else "", ratio
    raise LookupError(f"{row['file']}: no row is {name!r} against {row.get('peer', 'anything')!r}")


def machine(name: str) -> str:
    """Return a short description of the machine of a results file."""
    facts = result(name).get("machine") or {}
    if not facts.get("cpu"):
        return "simulation" if name.startswith("rtl") else "see conditions"
    gpus = facts.get("gpus") or []
    words = f"{facts['cpu'].replace('(R)', '').replace(' Processor', '')}, {facts['cores']} cores"
    return f"{len(gpus)} × {gpus[0]['name'].split(' 80GB')[0]}" if gpus else words


def shown(value: float) -> str:
    """Return a figure with three digits, or a large one with all of its digits."""
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def line(row: dict[str, Any]) -> str:
    """Return a row of a table in Markdown."""
    value, unit, peer, ratio = found(row)
    judged = value if row.get("of") == "value" or not ratio else ratio
    bar, verdict = "–", "–"
    if "bar" in row:
        sign, bound = row["bar"].split()
        bar = f"{_SIGNS[sign]} {bound}{'' if judged is value else ' ×'}"
        verdict = "met" if _CONDITIONS[sign](judged, float(bound)) else "**missed**"
    times = f"{shown(ratio)} × {peer}" if ratio else "–"
    return f"| {row['say']} | {shown(value)} {unit} | {times} | {bar} | {verdict} | {machine(row['file'])} | `{row['file']}` |"


def tables() -> str:
    """Return all tables in Markdown."""
    themes = tomllib.loads((RESULTS / "tables.toml").read_text(encoding="utf-8"))["theme"]
    parts = []
    for theme in themes:
        rows = "\n".join(line(row) for row in theme["rows"])
        head = "| measured | figure | beside its peer | bar | | machine | file |\n|---|---|---|---|---|---|---|"
        parts.append(f"## {theme['name']}\n\n{head}\n{rows}\n")
    return "\n".join(parts)


def main() -> int:
    """Return the exit status."""
    path = RESULTS / "README.md"
    before = path.read_text(encoding="utf-8")
    after = re.sub(f"(?s){BEGIN}.*?{END}", lambda _: f"{BEGIN}\n\n{tables()}\n{END}", before)
    if "--check" in sys.argv[1:]:
        if after != before:
            print("bench/results/README.md differs from the results; run tools/bench_tables.py")
        return int(after != before)
    path.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
