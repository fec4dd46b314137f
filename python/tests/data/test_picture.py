# SPDX-License-Identifier: Apache-2.0
import io
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from rashpa.data.figures.drawn_picture import Scale
from rashpa.data.figures.picture import Picture, brightest, spread, summed
from rashpa.data.stored.reader import open_run
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


@pytest.mark.parametrize("zoomed", [40, 400])
def test_each_value_has_its_colour_at_its_place(zoomed: int) -> None:
    values = np.full((zoomed, zoomed), 1.0)
    values[: zoomed // 4, zoomed // 2 :] = 1000.0
    drawn = np.asarray(Image.open(io.BytesIO(shown(values))).convert("RGB")).astype(int)
    size = 320 if zoomed == 40 else 400
    left, top = 60, 30
    dark, bright = drawn[top + size // 2, left + 5], drawn[top + 5, left + size - 5]
    image = drawn[top : top + size, left : left + size]
    assert (image[: size // 4, size // 2 :] == bright).all()
    assert (image[size // 4 :] == dark).all()
    assert (image[:, : size // 2] == dark).all()
    assert bright.sum() > 600 > dark.sum()


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("shape", [(1, 1), (1, 500), (500, 1), (3, 2)])
@pytest.mark.parametrize("value", [0.0, -5.0, 1e-9, 3.0, 1e12, np.inf, np.nan])
def test_any_image_can_be_drawn(shape: tuple[int, int], value: float, linear: bool) -> None:
    values = np.full(shape, value)
    assert shown(values, linear=linear).startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "line",
    [
        [-50.0, -50.0, 10.0, 10.0],
        [900.0, 900.0, 1e300, 1.0],
        [np.nan, 0.0, 10.0, np.inf],
        [0.0, 0.0, -5.0, -5.0],
        [20.0, 399.0, 400.0, 1.0],
    ],
)
def test_lines_and_peaks_that_lie_nowhere_are_drawn_at_the_border(line: list[float]) -> None:
    values = np.full((400, 400), 7.0)
    peaks = np.array([line[:2]], np.float32).T
    drawn = Picture(values, 1, "photons", np.array([line]), peaks).png()
    assert count_of(drawn, LOST) > 0


def test_ticks_are_few_and_lie_on_the_scale() -> None:
    for linear in (False, True):
        for low, high in ((0.2, 4000.0), (2600.0, 3600.0), (1e-3, 1.0), (0.5, 1.0), (5.0, 5.0001)):
            ticks = Scale(low, high, linear).ticks(8)
            assert 1 <= len(ticks) <= 9
            assert all(low <= tick <= high for tick in ticks)


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
