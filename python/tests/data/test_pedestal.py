# SPDX-License-Identifier: Apache-2.0
"""Pedestals from dark frames: the original values are recovered, whatever a few frames or pixels contain."""

import numpy as np
import pytest
from numpy.typing import NDArray

from rashpa.data.datasets.pedestal import CODES, DEAD, NOISY, PedestalError, pedestal_of

HEIGHT, WIDTH, FRAMES = 20, 33, 100


def darks(gain: int, seed: int = 1) -> tuple[NDArray[np.uint16], NDArray[np.float64], NDArray[np.float64]]:
    """Return words of `gain`, with the pedestal and the noise from which they were made."""
    random = np.random.default_rng(seed)
    pedestal = random.normal((2446, 13584, 14100)[gain], 150, (HEIGHT, WIDTH))
    noise = random.uniform(15, 30, (HEIGHT, WIDTH))
    values = np.rint(pedestal + noise * random.normal(size=(FRAMES, HEIGHT, WIDTH)))
    return (values.astype(np.uint16) | np.uint16(CODES[gain] << 14)), pedestal, noise


@pytest.mark.parametrize("gain", [0, 1, 2])
def test_pedestal_and_noise_are_found(gain: int) -> None:
    words, pedestal, noise = darks(gain)
    found = pedestal_of(words, gain, "x")
    assert np.abs(found.pedestal - pedestal).max() < 5 * 30 / np.sqrt(FRAMES)
    assert np.abs(found.rms / noise - 1).max() < 0.4
    assert not found.bad.any()


def test_cosmic_rays_and_lost_lines_do_not_move_it() -> None:
    words, pedestal, _ = darks(0)
    clean = pedestal_of(words, 0, "x")
    words[3, 5] = 0xFFFF  # a lost line
    words[4, 7, 9] = 9000
    words[5, 7, 9] = 0x4000 | 12000  # switched
    found = pedestal_of(words, 0, "x")
    assert np.abs(found.pedestal - clean.pedestal).max() < 2
    assert found.outliers >= 1
    assert not found.bad.any()
    assert np.abs(found.pedestal - pedestal).max() < 15


def test_dead_noisy_and_switched_pixels_are_masked() -> None:
    words, _, _ = darks(0)
    words[:, 1, 1] = 2000
    words[:, 2, 2] |= 0x4000
    words[:, 3, 3] = np.random.default_rng(0).integers(0, 16383, FRAMES)
    bad = pedestal_of(words, 0, "x").bad
    assert bad[1, 1] == DEAD
    assert bad[2, 2] == DEAD
    assert bad[3, 3] == NOISY
    assert np.count_nonzero(bad) == 3


def test_too_few_frames_are_refused() -> None:
    words, _, _ = darks(0)
    with pytest.raises(PedestalError, match=r"a\.npy: 19 frames; at least 20 are needed"):
        pedestal_of(words[:19], 0, "a.npy")


def test_frames_of_another_gain_are_refused_with_what_they_are() -> None:
    words, _, _ = darks(1)
    with pytest.raises(PedestalError) as caught:
        pedestal_of(words, 0, "a.npy")
    assert str(caught.value) == (
        "a.npy: 100 % of the pixels are not in G0 (words: 100 % G1); give frames with G0 forced"
    )
    with pytest.raises(PedestalError, match="the illegal code"):
        pedestal_of(words & np.uint16(0x3FFF) | np.uint16(0x8000), 2, "a.npy")
