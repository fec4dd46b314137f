# SPDX-License-Identifier: Apache-2.0
"""The place where the beam meets an image, and rings of equal resolution."""

import math
from dataclasses import dataclass

from rashpa.control.orders.plan_telegrams import metadata_of
from rashpa.control.plan.run_plan import Plan

_ANGSTROMS = (50.0, 30.0, 20.0, 15.0, 10.0, 7.0, 5.0, 4.0, 3.0, 2.5, 2.0, 1.7, 1.5, 1.2, 1.0, 0.9, 0.8, 0.7, 0.6, 0.5)
_MOST = 5
_APART = 0.12  # of the largest one


@dataclass(frozen=True)
class Ring:
    """Describes the ring of one resolution. `radius`: in pixels."""

    angstrom: float
    radius: float


@dataclass(frozen=True)
class Beam:
    """Describes the beam on a buffer's image, in pixels."""

    x: float
    y: float
    rings: tuple[Ring, ...]


def beam_of(plan: Plan, buffer: str, size: tuple[int, int]) -> Beam | None:
    """Return the beam on images of this size, None when a kernel has changed their shape and the plan does not know it."""
    planned = next((one for one in plan.buffers if one.section.name == buffer), None)
    if planned is None or (planned.width, planned.height) != size:
        return None
    said = metadata_of(plan, planned)
    x, y, distance, pixel, wavelength = (
        float(str(said[name]))
        for name in ("beam_center_x", "beam_center_y", "distance_m", "pixel_size_m", "wavelength_angstrom")
    )
    corners = [(across, down) for across in (0, size[0]) for down in (0, size[1])]
    farthest = max(math.hypot(across - x, down - y) for across, down in corners)
    return Beam(x, y, tuple(_rings(distance / pixel, wavelength, farthest)))


def radius_of(angstrom: float, distance_pixels: float, wavelength: float) -> float | None:
    """Return the radius, in pixels, of a resolution on a flat detector across the beam, None when it is scattered backwards."""
    sine = wavelength / (2.0 * angstrom)
    theta = math.asin(sine) if sine < 1.0 else math.pi
    return distance_pixels * math.tan(2.0 * theta) if theta < math.pi / 4 else None


def _rings(distance_pixels: float, wavelength: float, farthest: float) -> list[Ring]:
    """Return rings, the finest first, so far apart that their labels do not meet."""
    found: list[Ring] = []
    for angstrom in reversed(_ANGSTROMS):
        radius = radius_of(angstrom, distance_pixels, wavelength)
        apart = not found or (radius is not None and found[-1].radius - radius > _APART * farthest)
        if radius is not None and radius < 0.95 * farthest and apart and len(found) < _MOST:
            found.append(Ring(angstrom, radius))
    return found
