# SPDX-License-Identifier: Apache-2.0
import io
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from rashpa.data.picture import Picture, brightest, spread, summed
from rashpa.data.reader import open_run
from rashpa.testing import stored_run

LOST = (0xFF, 0x2A, 0x6D)
GREY = (0x5C, 0x66, 0x70)
NONE = np.zeros((0, 4))


def count_of(png: bytes, colour: tuple[int, int, int]) -> int:
    picture = np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))
    return int((picture == colour).all(axis=2).sum())


def shown(values: NDArray[np.float64], lost: NDArray[np.float64] = NONE, *, linear: bool = False) -> bytes:
    return Picture(values, 1, "photons", lost, linear=linear).png()


@pytest.mark.parametrize("linear", [False, True])
def test_a_pixel_without_a_value_is_grey_and_one_without_counts_is_not(linear: bool) -> None:
    values = np.zeros((60, 60))
    values[10, 10] = 100.0
    assert count_of(shown(values, linear=linear), GREY) == 0
    values[:, 30:] = np.nan
    assert count_of(shown(values, linear=linear), GREY) > 500


def test_lost_lines_are_marked_however_thin_they_are() -> None:
    values = np.full((400, 400), 7.0)
    marked = shown(values, np.array([[0.0, 200.0, 400.0, 1.0]]))
    assert count_of(shown(values), LOST) == 0
    assert count_of(marked, LOST) > 300


@pytest.mark.parametrize("count", [1, 2, 5, 64, 100])
def test_every_beginning_is_spread_over_all(count: int) -> None:
    order = spread(count)
    assert sorted(order) == list(range(count))
    assert max(order[:4]) >= (count - 1) / 2


def test_the_brightest_image_shows_what_it_lost_and_the_sum_is_of_all(tmp_path: Path) -> None:
    with open_run(stored_run.make_run(tmp_path)) as run:
        found, total = brightest(run, 30), summed(run, 1000, 10.0)
        assert found is not None
        assert total is not None
        assert "frame 19" in found.text
        assert found.picture.values.shape == (14, 22)
        assert total.text == "sum of all 16 stored images"
        expected = np.zeros(run.shape)
        for index in range(len(run)):
            expected += np.where(run.invalid(index), 0, run.image(index))
        known = np.isfinite(total.picture.values)
        np.testing.assert_array_equal(total.picture.values[known], expected[known])
        assert not known[:, 10].any(), "the masked column"
