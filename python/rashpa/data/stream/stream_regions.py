# SPDX-License-Identifier: Apache-2.0
"""Reads the description of lost lines that our senders put into user_data of Stream V2 messages (docs/reference/stream2.md): the regions of lines,
the lines that an image lacks, and the places of modules in the laboratory. Invalid entries are skipped."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from rashpa.data.geometry.laboratory import Plane, Vector

MOST_REGIONS = 4096
MOST_LINES = 1 << 16


@dataclass(frozen=True)
class Region:
    """Describes the region of one DTP in the image, in pixels. `line_rows`: when its lines are not consecutive rows, the row of each line, and an end
    row."""

    id: int
    module: int
    x: int
    y: int
    width: int
    height: int
    turn: int
    flip: bool
    line_rows: tuple[int, ...]

    @property
    def lines(self) -> int:
        return len(self.line_rows) - 1 if self.line_rows else self.height


def regions_of(user_data: Mapping[str, Any], height: int, width: int) -> dict[int, Region]:
    """Return regions by DTP; empty when one does not fit into the image."""
    said = user_data.get("dtps")
    if not isinstance(said, Sequence) or len(said) > MOST_REGIONS:
        return {}
    found: dict[int, Region] = {}
    for one in said:
        region = _region(one, height, width) if isinstance(one, Mapping) else None
        if region is None or region.id in found:
            return {}
        found[region.id] = region
    return found


def _region(said: Mapping[str, Any], height: int, width: int) -> Region | None:
    counts = _counts([said.get(name) for name in ("id", "module", "x", "y", "width", "height", "turn")])
    rows = _counts(said.get("line_rows", ()))
    if counts is None or rows is None or len(rows) > MOST_LINES or len(rows) == 1:
        return None
    number, module, x, y, wide, high, turn = counts
    good = all(row <= height for row in rows) and all(a <= b for a, b in pairwise(rows))
    if not good or x + wide > width or y + high > height or turn not in (0, 90, 180, 270):
        return None
    return Region(number, module, x, y, wide, high, turn, said.get("flip") is True, tuple(rows))


@dataclass(frozen=True)
class ModuleRegion:
    """Describes one module, or a panel of it: its place in the image, in pixels, and in the laboratory, in m."""

    name: str
    x: int
    y: int
    width: int
    height: int
    plane: Plane


def modules_of(user_data: Mapping[str, Any], height: int, width: int) -> list[ModuleRegion]:
    """Return the places of modules; empty when one does not fit into the image, or has no place."""
    said = user_data.get("modules")
    if not isinstance(said, list | tuple) or len(said) > MOST_REGIONS:
        return []
    found = [_module(one, height, width) if isinstance(one, Mapping) else None for one in said]
    known = [one for one in found if one is not None]
    return known if len(known) == len(found) and len({one.name for one in known}) == len(known) else []


def _module(said: Mapping[str, Any], height: int, width: int) -> ModuleRegion | None:
    counts = _counts([said.get(name) for name in ("x", "y", "width", "height")])
    corner, fast, slow = (_vector(said.get(name)) for name in ("corner", "fast", "slow"))
    name = said.get("name")
    named = isinstance(name, str) and re.fullmatch(r"[A-Za-z0-9_]{1,64}", name)
    if not named or counts is None or corner is None or fast is None or slow is None:
        return None
    x, y, wide, high = counts
    if x + wide > width or y + high > height or not (any(fast) and any(slow)):
        return None
    return ModuleRegion(str(name), x, y, wide, high, Plane(corner, fast, slow))


def _vector(values: object) -> Vector | None:
    if not isinstance(values, list | tuple) or len(values) != 3:
        return None
    x, y, z = (float(one) if isinstance(one, int | float) else math.nan for one in values)
    return (x, y, z) if all(math.isfinite(one) for one in (x, y, z)) else None


def lost_of(user_data: Mapping[str, Any], regions: Mapping[int, Region]) -> list[tuple[int, int, int]]:
    """Return lost lines as tuples of DTP, first line and number of lines."""
    said = user_data.get("lost")
    found: list[tuple[int, int, int]] = []
    for run in said if isinstance(said, list | tuple) and regions else ():
        counts = _counts(run)
        if counts is None or len(counts) != 3:
            continue
        dtp, first, lines = counts
        if dtp in regions and first + lines <= regions[dtp].lines:
            found.append((dtp, first, lines))
    return found


def _counts(values: object) -> list[int] | None:
    """Return a list of 32-bit numbers, None when `values` is not one."""
    if not isinstance(values, list | tuple):
        return None
    counts = [
        value for value in values if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 32
    ]
    return counts if len(counts) == len(values) else None
