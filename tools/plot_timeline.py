#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the times at which stages of stacks ran on a GPU, from the rows of `rashpa_cuda_unit_bench --only timeline`.

Usage: plot_timeline.py ROWS.jsonl OUT.svg
"""

import json
import sys
from pathlib import Path

_WIDTH, _LEFT, _ROW, _TOP = 960, 90, 44, 40
_COLOURS = {"wait": "#e3e3e3", "in": "#4c78a8", "compute": "#e45756", "out": "#54a24b"}
_WORDS = {
    "wait": "waits for the copy engine",
    "in": "images in",
    "compute": "conversion, count, decision",
    "out": "accepted images out",
}


def spans(rows: list[dict[str, float | str]]) -> list[tuple[int, int, str, float, float]]:
    """Return (bench, stack, stage, begin, end) in microseconds. There is one copy engine, so that a queued copy waits for the one before it."""
    found: list[tuple[int, int, str, float, float]] = []
    copied = 0.0
    for row in rows:
        bench, stack, stage = int(row["bench"]), int(row["stack"]), str(row["stage"])
        begin, end = float(row["begin_us"]), float(row["end_us"])
        if stage == "in":
            if copied > begin:
                found.append((bench, stack, "wait", begin, copied))
                begin = copied
            copied = end
        found.append((bench, stack, stage, begin, end))
    return found


def svg(rows: list[dict[str, float | str]]) -> str:
    """Return the picture: one line for each bench, time to the right."""
    all_spans = spans(rows)
    last = max(end for *_, end in all_spans)
    benches = 1 + max(bench for bench, *_ in all_spans)
    height = _TOP + benches * _ROW + 70
    scale = (_WIDTH - _LEFT - 20) / last
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
    ]
    for place, stage in enumerate(_COLOURS):
        x = _LEFT + place * 210
        parts.append(f'<rect x="{x}" y="12" width="12" height="12" fill="{_COLOURS[stage]}"/>')
        parts.append(f'<text x="{x + 18}" y="22">{_WORDS[stage]}</text>')
    parts.extend(f'<text x="10" y="{_TOP + bench * _ROW + 24}">stream {bench}</text>' for bench in range(benches))
    for bench, stack, stage, begin, end in all_spans:
        left, width, y = _LEFT + begin * scale, max((end - begin) * scale, 0.5), _TOP + bench * _ROW + 6
        title = f"stack {stack}, {_WORDS[stage]}: {begin:.0f} to {end:.0f} us"
        parts.append(
            f'<rect x="{left:.1f}" y="{y}" width="{width:.1f}" height="{_ROW - 16}" fill="{_COLOURS[stage]}"><title>{title}</title></rect>'
        )
        if stage == "in":
            parts.append(f'<text x="{left + 4:.1f}" y="{y + 18}" fill="white">{stack}</text>')
    base = _TOP + benches * _ROW + 10
    for milliseconds in range(int(last / 1000) + 1):
        tick = _LEFT + milliseconds * 1000 * scale
        parts.append(
            f'<line x1="{tick:.1f}" y1="{_TOP}" x2="{tick:.1f}" y2="{base}" stroke="#bbbbbb" stroke-width="0.5"/>'
        )
        parts.append(f'<text x="{tick:.1f}" y="{base + 16}" text-anchor="middle">{milliseconds}</text>')
    parts.append(f'<text x="{_LEFT}" y="{base + 36}">milliseconds; the number is the stack</text>')
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def main() -> None:
    """Read the rows, write the picture."""
    rows_file, picture = sys.argv[1:]
    rows = [json.loads(line) for line in Path(rows_file).read_text(encoding="utf-8").splitlines()]
    Path(picture).write_text(svg(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
