# SPDX-License-Identifier: Apache-2.0
"""Oracle of where pixels lie: distances from the beam's axis of the numbers in a PONI or a CrystFEL file."""

import math

Vector = tuple[float, float, float]


def turned(place: Vector, axis: int, angle: float) -> Vector:
    """Turned about an axis of a right-handed frame, counter-clockwise for whoever looks against the axis."""
    first, second = (axis + 1) % 3, (axis + 2) % 3
    made = list(place)
    made[first] = math.cos(angle) * place[first] - math.sin(angle) * place[second]
    made[second] = math.sin(angle) * place[first] + math.cos(angle) * place[second]
    return made[0], made[1], made[2]


def poni_distance(
    row: int, column: int, pixel: float, distance: float, poni: tuple[float, float], rot: Vector
) -> float:
    """Of a pixel's middle, in pixels. The detector is turned by −rot1 about axis 1 (up), −rot2 about axis 2, rot3 about axis 3 (the beam)."""
    place = ((row + 0.5) * pixel - poni[0], (column + 0.5) * pixel - poni[1], distance)
    for axis, angle in ((0, -rot[0]), (1, -rot[1]), (2, rot[2])):
        place = turned(place, axis, angle)
    return math.hypot(place[0], place[1]) / pixel


def crystfel_distance(
    row: int, column: int, corner: tuple[float, float], fast: tuple[float, float], slow: tuple[float, float]
) -> float:
    """Of the middle of a pixel of a panel that begins at row and column 0, in pixels."""
    right, down = column + 0.5, row + 0.5
    return math.hypot(*(corner[axis] + fast[axis] * right + slow[axis] * down for axis in (0, 1)))
