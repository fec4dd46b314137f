# SPDX-License-Identifier: Apache-2.0
"""Formats entries of a node's log as lines for people."""

from collections.abc import Iterable
from typing import Any

from rashpa.data.base.plain_text import ONE_LINE

_ABOUT = {"run": "run", "buffer": "buffer", "dtp": "DTP", "module": "module", "frame": "frame"}
_LONGEST = 2000  # characters of a line


def lines_of(entries: Iterable[Any]) -> list[str]:
    """Return lines for the entries in a node's answer, which is not trusted."""
    return [_line_of(entry) for entry in entries if isinstance(entry, dict)]


def _line_of(entry: dict[str, Any]) -> str:
    # a node of before does not say what its entries are about
    parts = [f"{shown} {entry[name]}" for name, shown in _ABOUT.items() if entry.get(name) not in (None, "")]
    about = f"[{', '.join(parts)}] " if parts else ""
    times = entry.get("times", 1)
    again = f" ({times} times)" if isinstance(times, int) and times > 1 else ""
    text = f"{entry.get('time', '')} {entry.get('level', '')!s:7} {about}{entry.get('text', '')}{again}"
    return text.translate(ONE_LINE)[:_LONGEST]
