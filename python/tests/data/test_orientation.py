# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from rashpa.data.geometry.orientation import Orientation

ALL = [Orientation(turn, flip) for turn in (0, 90, 180, 270) for flip in (False, True)]
FRAME = np.arange(12).reshape(3, 4)


def test_a_quarter_turn_is_clockwise_and_the_flip_comes_behind_it() -> None:
    np.testing.assert_array_equal(Orientation(90).turned(FRAME), [[8, 4, 0], [9, 5, 1], [10, 6, 2], [11, 7, 3]])
    np.testing.assert_array_equal(Orientation(90, True).turned(FRAME), FRAME.T)


@pytest.mark.parametrize("way", ALL, ids=str)
def test_pixels_steps_places_and_sides_say_the_same(way: Orientation) -> None:
    turned = way.turned(FRAME)
    assert turned.shape[::-1] == way.sides(4, 3)
    for row in range(3):
        for column in range(4):
            x, y = way.place_of((column + 0.5, row + 0.5), 4, 3)
            assert turned[int(y), int(x)] == FRAME[row, column]
    (right, down), _ = way.steps
    row, column = np.argwhere(turned == FRAME[1, 1])[0]
    assert turned[row + down, column + right] == FRAME[1, 2]
    assert Orientation.of_steps(*way.steps) == way


@pytest.mark.parametrize("way", ALL, ids=str)
def test_what_is_turned_is_turned_back_stacks_of_it_too(way: Orientation) -> None:
    stack = np.arange(2 * 3 * 4).reshape(2, 3, 4)
    np.testing.assert_array_equal(way.turned_back(way.turned(stack)), stack)


def test_words_say_what_is_done() -> None:
    assert [str(way) for way in ALL[:4]] == ["upright", "flipped", "turned by 90°", "turned by 90° and flipped"]
    assert [way.short for way in ALL[:4]] == ["", "flipped", "90°", "90° flipped"]
