# SPDX-License-Identifier: Apache-2.0
import random

from rashpa.control.plan.rectangle import Rectangle, Rectangles


def test_those_that_meet_a_place_are_those_that_have_a_pixel_in_common_with_it() -> None:
    dice = random.Random(3)
    for _ in range(20):
        some = [
            Rectangle(dice.randrange(400), dice.randrange(300), dice.randint(1, 40), dice.randint(1, 40))
            for _ in range(60)
        ]
        known = Rectangles(some)
        assert (known.width, known.height) == (max(one.right for one in some), max(one.bottom for one in some))
        for place in (
            *some[:5],
            Rectangle(0, 0, known.width, known.height),
            Rectangle(90, 80, 50, 7),
            Rectangle(500, 0, 9, 9),
        ):
            assert known.meeting(place) == [number for number, one in enumerate(some) if one.common(place)]


def test_far_places_of_small_ones_cost_no_more_than_the_ones() -> None:
    far = Rectangles([Rectangle(0, 0, 1, 1), Rectangle(2**20, 2**20, 1, 1)])
    assert far.meeting(Rectangle(0, 0, far.width, far.height)) == [0, 1]
