# SPDX-License-Identifier: Apache-2.0
"""Oracle of the places of pixels: distances from the beam's axis by the numbers in a PONI or a CrystFEL file."""

import math

Vector = tuple[float, float, float]


def turned(place: Vector, axis: int, angle: float) -> Vector:
    """Return a place rotated about an axis of a right-handed frame, counter-clockwise when seen against the axis."""
    first, second = (axis + 1) % 3, (axis + 2) % 3
    made = list(place)
    made[first] = math.cos(angle) * place[first] - math.sin(angle) * place[second]
    made[second] = math.sin(angle) * place[first] + math.cos(angle) * place[second]
    return made[0], made[1], made[2]


def poni_distance(
    row: int, column: int, pixel: float, distance: float, poni: tuple[float, float], rot: Vector
) -> float:
    """Return the distance of a pixel's centre, in pixels. The detector is rotated by −rot1 about axis 1 (up), −rot2 about axis 2, rot3 about axis 3
    (the beam)."""
    place = ((row + 0.5) * pixel - poni[0], (column + 0.5) * pixel - poni[1], distance)
    for axis, angle in ((0, -rot[0]), (1, -rot[1]), (2, rot[2])):
        place = turned(place, axis, angle)
    return math.hypot(place[0], place[1]) / pixel


def crystfel_distance(
    row: int, column: int, corner: tuple[float, float], fast: tuple[float, float], slow: tuple[float, float]
) -> float:
    """Return the distance, in pixels, of a pixel's centre in a panel that begins at row and column 0."""
    right, down = column + 0.5, row + 0.5
    return math.hypot(*(corner[axis] + fast[axis] * right + slow[axis] * down for axis in (0, 1)))
