# SPDX-License-Identifier: Apache-2.0
"""Computes the place where the beam hits an image, and rings of equal resolution, q or 2θ."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rashpa.control.orders.plan_telegrams import metadata_of
from rashpa.control.plan.model import Plan

_ANGSTROMS = (50.0, 30.0, 20.0, 15.0, 10.0, 7.0, 5.0, 4.0, 3.0, 2.5, 2.0, 1.7, 1.5, 1.2, 1.0, 0.9, 0.8, 0.7, 0.6, 0.5)
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)  # of q and of 2θ
_MOST = 5
_APART = 0.12  # of the largest one
_NEAR = 0.95  # of the farthest corner


@dataclass(frozen=True)
class Ring:
    """Describes one ring: its label without the unit, and its radius in pixels."""

    value: float
    radius: float


@dataclass(frozen=True)
class Beam:
    """Describes the beam in a buffer's image, in pixels. `origin`: the place of the buffer's first pixel in the detector's image; `rings`: rings by
    unit."""

    x: float
    y: float
    origin: tuple[int, int]
    rings: Mapping[str, tuple[Ring, ...]]


def beam_of(plan: Plan, buffer: str, size: tuple[int, int]) -> Beam | None:
    """Return the beam in images of this size, None when a kernel has changed their shape in a way that the plan does not describe."""
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
    region = planned.section.region
    origin = (int(region[0]), int(region[1])) if region is not None else (0, 0)
    return Beam(x, y, origin, _rings(distance / pixel, wavelength, farthest))


def radius_of(angstrom: float, distance_pixels: float, wavelength: float) -> float | None:
    """Return the radius, in pixels, of a resolution on a flat detector perpendicular to the beam, None for backward scattering."""
    sine = wavelength / (2.0 * angstrom)
    return _radius(2.0 * math.asin(sine), distance_pixels) if sine < 1.0 else None


def _radius(two_theta: float, distance_pixels: float) -> float | None:
    return distance_pixels * math.tan(two_theta) if two_theta < math.pi / 2 else None


def _rings(distance_pixels: float, wavelength: float, farthest: float) -> dict[str, tuple[Ring, ...]]:
    """Return rings by unit; q is 4π sin θ / λ."""
    by_resolution = [(value, radius_of(value, distance_pixels, wavelength)) for value in reversed(_ANGSTROMS)]
    edge = math.atan(_NEAR * farthest / distance_pixels)
    most_q = 4.0 * math.pi * math.sin(edge / 2.0) / wavelength
    by_q = [(q, radius_of(2.0 * math.pi / q, distance_pixels, wavelength)) for q in _multiples(most_q)]
    by_angle = [(angle, _radius(math.radians(angle), distance_pixels)) for angle in _multiples(math.degrees(edge))]
    named = {"Å": by_resolution, "Å⁻¹": by_q, "°": by_angle}
    return {unit: tuple(_apart(found, farthest)) for unit, found in named.items()}


def _multiples(most: float) -> list[float]:
    """Return multiples of a round step up to `most`, the largest first, as many as are drawn."""
    step = next((one for one in _STEPS if most / one <= _MOST), 50.0)
    return [round(n * step, 6) for n in range(int(most / step), 0, -1)]


def _apart(found: Iterable[tuple[float, float | None]], farthest: float) -> list[Ring]:
    """Return rings, the largest first, with distances that keep their labels apart."""
    kept: list[Ring] = []
    for value, radius in found:
        apart = not kept or (radius is not None and kept[-1].radius - radius > _APART * farthest)
        if radius is not None and radius <= _NEAR * farthest and apart and len(kept) < _MOST:
            kept.append(Ring(value, radius))
    return kept
