#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the throughput of a group over its number of receivers, beside linear scaling, from the rows of `rashpa bench group`.

Usage: plot_groups.py bench/results/group.json OUT.svg
"""

import json
import sys
from pathlib import Path

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 560, 340, 64, 20, 24, 48
_MEMBERS = (1, 2, 4)


def svg(rows: dict[str, float]) -> str:
    """Return the picture. `rows`: values by name."""
    rates = {number: rows["1 receiver" if number == 1 else f"{number} receivers"] for number in _MEMBERS}
    after = rows["4 receivers, one killed: afterwards"]
    top = 1.1 * max(*rates.values(), 4 * rates[1])
    step = _step(top)

    def x(receivers: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * receivers / 4.5

    def y(rate: float) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * rate / top

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
    ]
    rate = 0.0
    while rate <= top:
        parts.append(
            f'<line x1="{x(0):.1f}" x2="{x(4.5):.1f}" y1="{y(rate):.1f}" y2="{y(rate):.1f}" stroke="#e3e3e3"/>'
        )
        parts.append(f'<text x="{x(0) - 6:.1f}" y="{y(rate) + 4:.1f}" text-anchor="end">{rate:g}</text>')
        rate += step
    parts += [
        f'<text x="{x(number):.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">{number}</text>'
        for number in range(1, 5)
    ]
    parts.append(f'<text x="{x(2.25):.1f}" y="{_HEIGHT - 8}" text-anchor="middle">receivers</text>')
    parts.append(f'<text x="{x(0):.1f}" y="{_TOP - 8}">images/s</text>')
    parts.append(
        f'<line x1="{x(0):.1f}" y1="{y(0):.1f}" x2="{x(4.4):.1f}" y2="{y(4.4 * rates[1]):.1f}" stroke="#888" stroke-dasharray="6 4"/>'
    )
    parts.append(f'<text x="{x(2.9):.1f}" y="{y(2.9 * rates[1]) - 10:.1f}" text-anchor="end" fill="#666">linear</text>')
    line = " ".join(f"{x(number):.1f},{y(rate):.1f}" for number, rate in rates.items())
    parts.append(f'<polyline points="{line}" fill="none" stroke="#4c78a8" stroke-width="2"/>')
    parts += [
        f'<circle cx="{x(number):.1f}" cy="{y(rate):.1f}" r="5" fill="#4c78a8"/>' for number, rate in rates.items()
    ]
    parts.append(f'<rect x="{x(4) - 5:.1f}" y="{y(after) - 5:.1f}" width="10" height="10" fill="#e45756"/>')
    parts.append(
        f'<text x="{x(4) - 10:.1f}" y="{y(after) + 18:.1f}" text-anchor="end">4, of which one was killed</text>'
    )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _step(top: float) -> float:
    """Return the distance between grid lines."""
    return next(step for step in (10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 5000.0, 1e9) if top / step <= 8)


def main() -> None:
    """Read rows, write the picture."""
    results, picture = map(Path, sys.argv[1:3])
    rows = {row["what"]: float(row["value"]) for row in json.loads(results.read_text(encoding="utf-8"))["rows"]}
    picture.write_text(svg(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
