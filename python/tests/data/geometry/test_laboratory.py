# SPDX-License-Identifier: Apache-2.0
"""Pixels have their places in the laboratory for every orientation of a module."""

import pytest

from rashpa.data.geometry.laboratory import HC_KEV_ANGSTROM, Axes, ModulePart, PanelPlace, Plane, beam_on
from rashpa.data.geometry.orientation import UPRIGHT, Orientation

FLAT = Plane((0.0, 0.0, 5.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))


def test_a_place_is_the_corner_and_its_steps() -> None:
    tilted = Plane((10.0, 20.0, 30.0), (0.0, 1.0, 0.5), (2.0, 0.0, 0.0))
    assert tilted.at((3, 4)) == (18.0, 23.0, 31.5)
    assert tilted.starting((1, 1)).corner == (12.0, 21.0, 30.5)
    assert tilted.moved((1.0, 0.0, -30.0)).at((0, 0)) == (11.0, 20.0, 0.0)
    assert tilted.scaled(0.1).at((10, 10)) == pytest.approx((3.0, 3.0, 3.5))


def test_an_image_lies_as_it_is_seen_from_the_sample_by_default() -> None:
    plane = Axes().plane((70.0, 40.0), 0.1)
    assert plane.at((10.5, 20.5)) == pytest.approx((5.95, 1.95, 0.0))  # left of the beam is x > 0, above it y > 0
    assert Axes("+x", "+y").plane((1.0, 2.0)).at((0, 0)) == (-1.0, -2.0, 0.0)
    assert Axes().square and not Axes("+x", "-x").square


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
@pytest.mark.parametrize("flip", [False, True])
def test_a_turned_lattice_has_the_pixels_where_they_were(turn: int, flip: bool) -> None:
    way = Orientation(turn, flip)
    turned = FLAT.turned(way, 4, 3)
    for column in range(4):
        for row in range(3):
            middle = (column + 0.5, row + 0.5)
            assert turned.at(way.place_of(middle, 4, 3)) == pytest.approx(FLAT.at(middle))


def test_a_part_of_a_module_is_a_rectangle_of_the_turned_frame() -> None:
    part = ModulePart(0, left=1, top=2, width=3, height=4)
    assert part.rectangle(UPRIGHT, 10, 20) == (1, 2, 3, 4)
    assert part.rectangle(Orientation(180), 10, 20) == (10 - 1 - 3, 20 - 2 - 4, 3, 4)
    assert part.rectangle(Orientation(90), 10, 20) == (20 - 2 - 4, 1, 4, 3)  # clockwise: the top is to the right
    assert part.rectangle(Orientation(0, flip=True), 10, 20) == (10 - 1 - 3, 2, 3, 4)


def test_the_lattice_of_a_panel_counts_from_the_first_pixel_of_its_module() -> None:
    panel = PanelPlace(0, 256, 128, 256, 128, FLAT)
    assert panel.of_module.at((256, 128)) == FLAT.corner


def test_the_beam_meets_the_part_that_is_nearest_to_it() -> None:
    near = Plane((-3.0, 2.0, 0.0), (1.0, 0.0, 0.0), (0.0, -1.0, 0.0))
    far = Plane((-30.0, 2.0, 0.0), (1.0, 0.0, 0.0), (0.0, -1.0, 0.0))
    along = Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.0, 1.0, 0.0))  # stands along the beam
    assert beam_on([((100.0, 0.0), far), ((0.0, 10.0), near), ((0.0, 0.0), along)]) == pytest.approx((3.0, 12.0))
    assert beam_on([((0.0, 0.0), along)]) is None


def test_photons_of_one_angstrom_have_12_4_kev() -> None:
    assert pytest.approx(6.62607015e-34 * 299792458 / 1.602176634e-19 * 1e10 / 1e3, rel=1e-12) == HC_KEV_ANGSTROM
