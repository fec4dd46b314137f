# SPDX-License-Identifier: Apache-2.0
"""Converts places of pixels to the laboratory. Axes are those of NeXus (McStas) and CrystFEL: z along the beam, y up, x to the left of an observer at
the source. Places in an image count from the outer corner of the first pixel, so that the pixel's centre is (0.5, 0.5)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rashpa.data.geometry.orientation import UPRIGHT, Orientation

Direction = Literal["+x", "-x", "+y", "-y"]
Vector = tuple[float, float, float]
Place = tuple[float, float]
"""Column and row, in pixels."""

HC_KEV_ANGSTROM = 12.398419843320026
"""Planck's constant times the speed of light, exact in the SI of 2019."""
_VECTORS: dict[Direction, Vector] = {
    "+x": (1.0, 0.0, 0.0),
    "-x": (-1.0, 0.0, 0.0),
    "+y": (0.0, 1.0, 0.0),
    "-y": (0.0, -1.0, 0.0),
}


@dataclass(frozen=True)
class Plane:
    """Describes a flat grid of pixels: the place of its corner, and the steps to the next column and to the next row, in one unit of length."""

    corner: Vector
    fast: Vector
    slow: Vector

    def at(self, place: Place) -> Vector:
        """Return the laboratory place of a place in the grid."""
        x, y, z = (
            corner + place[0] * fast + place[1] * slow
            for corner, fast, slow in zip(self.corner, self.fast, self.slow, strict=True)
        )
        return x, y, z

    def moved(self, by: Vector) -> "Plane":
        """Return the plane moved by `by`."""
        return Plane(_sum(self.corner, by), self.fast, self.slow)

    def starting(self, place: Place) -> "Plane":
        """Return the same grid with its corner at the pixel `place`."""
        return Plane(self.at(place), self.fast, self.slow)

    def scaled(self, factor: float) -> "Plane":
        """Return the plane in another unit of length."""
        return Plane(_times(self.corner, factor), _times(self.fast, factor), _times(self.slow, factor))

    def binned(self, across: int, down: int) -> "Plane":
        """Return the grid of bins of `across` × `down` pixels, which begins at the same corner."""
        return Plane(self.corner, _times(self.fast, across), _times(self.slow, down))

    def turned(self, way: Orientation, width: int, height: int) -> "Plane":
        """Return the grid of a frame of width × height pixels in the orientation that it has in an image. This grid is that of the frame in readout
        order."""
        column, row = way.steps
        sides = way.sides(width, height)
        fast = _sum(_times(self.fast, column[0]), _times(self.slow, row[0]))
        slow = _sum(_times(self.fast, column[1]), _times(self.slow, row[1]))
        # the corner (0, 0) of the turned frame, as columns and rows of the frame
        away = [
            -(0 if along[0] + along[1] > 0 else side)
            for along, side in zip(zip(column, row, strict=True), sides, strict=True)
        ]
        first = (column[0] * away[0] + column[1] * away[1], row[0] * away[0] + row[1] * away[1])
        return Plane(self.at(first), fast, slow)


@dataclass(frozen=True)
class Axes:
    """Names the laboratory directions of the columns and the rows of an assembled image."""

    fast: Direction = "-x"
    slow: Direction = "-y"

    @property
    def square(self) -> bool:
        """Return True when one axis is along x and the other along y."""
        return self.fast[1] != self.slow[1]

    def plane(self, beam: Place, pitch: float = 1.0, pitch_y: float = 0.0) -> Plane:
        """Return the grid of an image with pixels of size `pitch`, which the beam hits at `beam`. `pitch_y`: the size along rows of columns, 0 for the same."""
        fast, slow = _times(_VECTORS[self.fast], pitch), _times(_VECTORS[self.slow], pitch_y or pitch)
        return Plane((0.0, 0.0, 0.0), fast, slow).starting((-beam[0], -beam[1]))


AS_SEEN_FROM_THE_SAMPLE = Axes()
"""Of an image of which nobody says it otherwise: with row 0 on top, as somebody sees it who looks along the beam from the sample."""


@dataclass(frozen=True)
class ModulePart:
    """Describes a rectangle of a module in readout order: columns left … left + width − 1, rows top … top + height − 1."""

    module: int
    left: int
    top: int
    width: int
    height: int

    def rectangle(self, way: Orientation, width: int, height: int) -> tuple[int, int, int, int]:
        """Return left, top, width and height of the rectangle after the module, of width × height pixels, is rotated."""
        if way == UPRIGHT:
            return self.left, self.top, self.width, self.height
        ends = [
            way.place_of((self.left + across, self.top + down), width, height)
            for across in (0, self.width)
            for down in (0, self.height)
        ]
        left, top = (round(min(end[axis] for end in ends)) for axis in (0, 1))
        right, bottom = (round(max(end[axis] for end in ends)) for axis in (0, 1))
        return left, top, right - left, bottom - top


@dataclass(frozen=True)
class PanelPlace(ModulePart):
    """Describes a rectangle of a module and its place in the laboratory; lengths are in pixels. `plane` begins at (left, top)."""

    plane: Plane

    @property
    def of_module(self) -> Plane:
        """Return the grid of the panel, beginning at the first pixel of the module."""
        return self.plane.starting((-self.left, -self.top))


def beam_on(planes: Sequence[tuple[Place, Plane]]) -> Place | None:
    """Return the place where the beam's axis hits the image, computed from the plane nearest to it. `planes`: places in the image, each with the plane that
    begins there. Return None when no plane crosses the beam."""
    found: list[tuple[float, Place]] = []
    for (left, top), plane in planes:
        determinant = plane.fast[0] * plane.slow[1] - plane.fast[1] * plane.slow[0]
        if not determinant:
            continue
        x, y = plane.corner[0], plane.corner[1]
        column = (plane.slow[0] * y - plane.slow[1] * x) / determinant
        row = (plane.fast[1] * x - plane.fast[0] * y) / determinant
        found.append((math.hypot(x, y), (left + column, top + row)))
    return min(found)[1] if found else None


def _sum(one: Vector, other: Vector) -> Vector:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


def _times(one: Vector, factor: float) -> Vector:
    return one[0] * factor, one[1] * factor, one[2] * factor
