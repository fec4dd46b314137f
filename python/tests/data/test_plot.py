# SPDX-License-Identifier: Apache-2.0
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from rashpa.data.figures.image_values import brightest_image, largest_of_blocks
from rashpa.data.stored.reader import open_run
from rashpa.testing import stored_run

RED = (0xD6, 0x27, 0x28)
GREY = (0x5C, 0x66, 0x70)


@pytest.fixture
def plot() -> ModuleType:
    """Import matplotlib, which takes half a second, only in the test process that needs it."""
    from rashpa.data.figures import plot

    return plot


def count_of(path: Path, colour: tuple[int, int, int]) -> int:
    import matplotlib.image

    picture = np.round(matplotlib.image.imread(path)[:, :, :3] * 255).astype(int)
    return int((picture == colour).all(axis=2).sum())


def test_the_brightest_image_is_the_one_with_most_bright_pixels(tmp_path: Path) -> None:
    with open_run(stored_run.make_run(tmp_path)) as run:
        assert run.frame_numbers[brightest_image(run)] == 19


def test_masked_and_lost_pixels_have_their_own_colours(plot: ModuleType, tmp_path: Path) -> None:
    with open_run(stored_run.make_run(tmp_path)) as run:
        plot.draw_image(run, int(run.tables.stored_index[stored_run.PARTIAL]), tmp_path / "partial.png")
        plot.draw_image(run, 0, tmp_path / "complete.png")
    assert count_of(tmp_path / "partial.png", RED) > 2 * count_of(tmp_path / "complete.png", RED) + 50
    assert count_of(tmp_path / "complete.png", GREY) > 100


@pytest.mark.parametrize("step", [1, 3])
def test_shrinking_keeps_the_largest_pixel_and_masks_only_blocks_without_any(step: int) -> None:
    values = np.full((7, 8), np.nan)
    values[4, 4] = 5
    values[5, 5] = -2
    small = largest_of_blocks(values, step)
    assert small.shape == (-(-7 // step), -(-8 // step))
    assert np.nanmax(small) == 5
    assert np.isnan(small[0, 0])


def test_the_hit_curve_is_drawn_with_missing_images_marked(plot: ModuleType, tmp_path: Path) -> None:
    with open_run(stored_run.make_run(tmp_path)) as run:
        plot.draw_hits(run, tmp_path / "hits.png")
    assert count_of(tmp_path / "hits.png", (0x00, 0x72, 0xB2)) > 50
    assert count_of(tmp_path / "hits.png", RED) > 5
