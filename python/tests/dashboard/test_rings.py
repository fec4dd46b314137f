# SPDX-License-Identifier: Apache-2.0
import math
from pathlib import Path

import pytest

from rashpa.control.orders.plan_telegrams import metadata_of
from rashpa.control.plan.run_plan import load_plan
from rashpa.dashboard.rings import beam_of, radius_of


def test_a_ring_lies_where_bragg_scatters() -> None:
    # λ = 2 d sin θ; at 45° of 2θ a flat detector has its ring as far out as it is away
    wavelength = 1.0
    angstrom = wavelength / (2 * math.sin(math.radians(22.5)))
    assert radius_of(angstrom, 1600.0, wavelength) == pytest.approx(1600.0)
    assert radius_of(0.5, 1600.0, 1.0) is None  # backwards


def test_the_beam_is_told_in_pixels_of_the_buffer() -> None:
    plan = load_plan(Path("examples/01_first_light.toml"))
    whole = beam_of(plan, "full", (1024, 1060))
    part = beam_of(plan, "centre", (256, 164))
    assert whole is not None
    assert part is not None
    assert (whole.x, whole.y) == (512.0, 530.0)
    assert (part.x, part.y) == (512.0 - 384, 530.0 - 448)
    assert (whole.origin, part.origin) == ((0, 0), (384, 448))
    finest = [ring.value for ring in whole.rings["Å"]]
    assert finest == sorted(finest)
    for rings in whole.rings.values():
        radii = [ring.radius for ring in rings]
        assert radii == sorted(radii, reverse=True)
        assert 2 <= len(radii) <= 5


def test_rings_of_resolution_q_and_angle_are_those_of_one_geometry() -> None:
    plan = load_plan(Path("examples/01_first_light.toml"))
    beam = beam_of(plan, "full", (1024, 1060))
    assert beam is not None
    said = metadata_of(plan, plan.buffers[0])
    distance = float(str(said["distance_m"])) / float(str(said["pixel_size_m"]))
    wavelength = float(str(said["wavelength_angstrom"]))
    for unit, two_theta in (
        ("Å", lambda d: 2 * math.asin(wavelength / (2 * d))),
        ("Å⁻¹", lambda q: 2 * math.asin(q * wavelength / (4 * math.pi))),
        ("°", math.radians),
    ):
        for ring in beam.rings[unit]:
            assert ring.radius == pytest.approx(distance * math.tan(two_theta(ring.value)))


def test_nothing_is_said_of_images_whose_shape_a_kernel_has_changed() -> None:
    plan = load_plan(Path("examples/01_first_light.toml"))
    assert beam_of(plan, "full", (1030, 1064)) is None
    assert beam_of(plan, "other", (1024, 1060)) is None
