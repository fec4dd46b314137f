# SPDX-License-Identifier: Apache-2.0
"""Compares conversion, assembly and tracking of JUNGFRAU with the oracle, on every unit."""

import dataclasses
import functools
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.oracles import jungfrau
from tests.oracles.units import on_every_unit

from rashpa.data.kernels.pipeline import Found, Pipeline

ORACLES_OF = ("jungfrau",)
ENERGY = 12.4
DARK = 1  # of the flags of a frame record


def calibration(shape: tuple[int, int], seed: int = 1) -> jungfrau.Calibration:
    """Return a realistic calibration, with masked pixels and pixels with an invalid pedestal or gain."""
    random = np.random.default_rng(seed)
    pedestal = np.stack([random.normal(level, 60, shape) for level in (2500, 15000, 14500)]).astype(np.float32)
    gain = np.stack([random.normal(level, abs(level) / 50, shape) for level in (41, -1.4, -0.1)]).astype(np.float32)
    wrong = random.random((6, *shape)) < 0.01
    pedestal[0][wrong[0]] = 16384
    pedestal[0][wrong[1]] = 16383  # just valid
    pedestal[1][wrong[2]] = np.nan
    gain[0][wrong[3]] = 0
    gain[2][wrong[4]] = np.inf
    mask = np.where(wrong[5], random.choice(np.array([1, 256, 0x8000, 0x10000, 0x80000000], np.uint32), shape), 0)
    return jungfrau.Calibration(pedestal, gain, mask.astype(np.uint32), np.full(shape, 20, np.float32))


def words(shape: tuple[int, int], images: int) -> NDArray[np.uint16]:
    """Return random words of all gains, with halves of photons, and words with a special meaning."""
    random = np.random.default_rng(2)
    made = random.integers(0, 65536, (images, *shape)).astype(np.uint16)
    small = random.random(made.shape) < 0.6
    made[small] = random.integers(2300, 4500, small.sum())
    special = random.choice(
        np.array([0xFFFF, 0xFFFE, 0x4000, 0x4001, 0xC000, 0xC001, 0x8000, 0xBFFF, 0, 0x3FFF]), made.shape
    )
    told = random.random(made.shape) < 0.1
    made[told] = special[told]
    return made


def through(unit: str, given: jungfrau.Calibration, images: NDArray[np.uint16], **more: Any) -> Found:
    """Return the kernel's results for the words."""
    run = {key: more.pop(key) for key in ("stack", "modules", "module_shape", "fused") if key in more}
    kernel = {"name": "jungfrau", "photon_energy_kev": ENERGY, **more}
    made = Pipeline([kernel], images.shape[1:], np.uint16, calibration=given, unit=unit, **run)
    return made(images)


@on_every_unit
@pytest.mark.parametrize("output", ["photons", "kev"])
def test_words(unit: str, output: str) -> None:
    energy = ENERGY if output == "photons" else None
    for shape in ((1, 1), (3, 5), (23, 67)) if unit == "cpu" else ((23, 67),):
        given, images = calibration(shape), words(shape, 5)
        found = through(unit, given, images, output=output, module_shape=shape, modules=[(0, 0)], stack=2)
        wanted = np.stack([jungfrau.converted(one, given, energy) for one in images])
        np.testing.assert_array_equal(found.pixels.astype(float), wanted)
        masked = np.isnan(wanted) if energy is None else wanted == jungfrau.MASKED
        saturated = np.isinf(wanted) if energy is None else wanted == jungfrau.SATURATED
        assert found.columns["masked_pixels"].tolist() == masked.sum((1, 2)).tolist()
        assert found.columns["saturated_pixels"].tolist() == saturated.sum((1, 2)).tolist()


@on_every_unit
def test_photons_are_rounded_to_even(unit: str) -> None:
    shape = (1, 9)
    flat = np.ones((3, *shape), np.float32)
    given = jungfrau.Calibration(100 * flat, 10 * flat, np.zeros(shape, np.uint32))
    row = np.array([[[100, 110, 130, 150, 90, 70, 120, 111, 109]]], np.uint16)
    made = Pipeline(
        [{"name": "jungfrau", "photon_energy_kev": 2.0}],
        shape,
        calibration=given,
        unit=unit,
        module_shape=shape,
    )(row)
    assert made.pixels.tolist() == [[[0, 0, 2, 2, 0, -2, 1, 1, 0]]]
    assert [jungfrau.pixel(int(one), [100.0], [10.0], 0, 2.0) for one in row.ravel()] == made.pixels.ravel().tolist()


@on_every_unit
def test_counts_and_lists_behind_it(unit: str) -> None:
    shape = (23, 67)
    given, images = calibration(shape), words(shape, 5)
    kernels: list[dict[str, Any]] = [
        {"name": "jungfrau", "photon_energy_kev": ENERGY},
        {"name": "bragg_count", "threshold": 3, "min_pixels": 0},
        {"name": "total_counts"},
        {"name": "csr", "threshold": 2, "capacity": 1.0},
    ]
    wanted = np.stack([jungfrau.converted(one, given, ENERGY) for one in images])
    valid = wanted != jungfrau.MASKED
    for fused in (True, False):
        made = Pipeline(kernels, shape, calibration=given, unit=unit, fused=fused, module_shape=shape, stack=3)
        found = made(images)
        assert found.columns["bright_pixels"].tolist() == ((wanted >= 3) & valid).sum((1, 2)).tolist()
        assert found.columns["total_counts"].tolist() == np.where(valid, wanted, 0).sum((1, 2)).astype(int).tolist()
        for number, image in enumerate(wanted):
            listed = found[number].list
            assert listed is not None
            index = np.flatnonzero(image.ravel() >= 2)
            assert listed.index.tolist() == index.tolist()
            assert listed.value.tolist() == image.ravel()[index].tolist()


MODULE, PLACES, TWO_MODULES = (259, 515), [(0, 0), (2, 264)], (264 + 259 + 2, 2 + 515 + 4)


@functools.cache
def two_modules(borders: Literal["shared", "masked"], output: str) -> tuple[Any, Any, Any]:
    """Return calibration, words, and the image assembled by the oracle, which takes seconds."""
    given, images = calibration(TWO_MODULES), words(TWO_MODULES, 1)
    inside = np.zeros(TWO_MODULES, bool)
    for left, top in PLACES:
        inside[top : top + MODULE[0], left : left + MODULE[1]] = True
    given.mask[~inside] = 1
    seen = jungfrau.converted(images[0], given, ENERGY if output == "photons" else None)
    return given, images, jungfrau.assembled(seen, MODULE, PLACES, borders, output == "photons")


@on_every_unit
@pytest.mark.parametrize("borders", ["shared", "masked"])
@pytest.mark.parametrize("output", ["photons", "kev"])
def test_assembled_images(unit: str, borders: Literal["shared", "masked"], output: str) -> None:
    given, images, wanted = two_modules(borders, output)
    found = through(unit, given, images, output=output, borders=borders, module_shape=MODULE, modules=PLACES)
    np.testing.assert_array_equal(found.pixels[0].astype(float), wanted)


@on_every_unit
@pytest.mark.parametrize("track", ["darks", "empty"])
def test_pedestals_that_follow(unit: str, track: str) -> None:
    shape, stack = (11, 37), 4
    random = np.random.default_rng(4)
    given = calibration(shape)
    assert given.rms is not None
    given.pedestal[0] = np.rint(random.normal(2500, 100, shape))
    valid = (given.mask & 0xFFFF == 0) & (given.gain[0] != 0)
    images = np.rint(given.pedestal[0] + 15 + random.normal(0, 20, (24, *shape))).astype(np.uint16)
    images[random.random(images.shape) < 0.05] += 1200  # photons
    images[random.random(images.shape) < 0.02] = 0x4123  # another gain
    dark = [number % 3 == 0 and number < 18 for number in range(24)]
    images[np.flatnonzero(dark)] = np.minimum(images[np.flatnonzero(dark)], 3200)
    found = Pipeline(
        [{"name": "jungfrau", "photon_energy_kev": ENERGY, "output": "kev", "track": track, "track_images": 20}],
        shape,
        calibration=given,
        unit=unit,
        stack=stack,
        module_shape=shape,
    )(images, flags=np.where(dark, DARK, 0))
    kept = iter(found.pixels)
    oracle = jungfrau.Tracked(given, 20, 3)
    for first in range(0, 24, stack):
        part = range(first, first + stack)
        now = jungfrau.Calibration(given.pedestal.copy(), given.gain, given.mask)
        now.pedestal[0] = np.where(valid, oracle.pedestal, given.pedestal[0])
        for number in part:
            wanted = jungfrau.converted(images[number], now, None)
            np.testing.assert_allclose(next(kept), wanted, rtol=1e-5, atol=1e-4)
        oracle.stack([images[number] for number in part], [dark[number] for number in part], track == "empty")
    drift = oracle.drift(valid)
    assert float(np.median(drift)) > 0.2, "they have moved"
    assert found.columns["pedestal_drift"][-1] == pytest.approx(np.median(drift), abs=0.1)


class FollowedCell:
    """Holds pedestals of one storage cell, followed in float32 with each operation rounded, as docs/kernels/jungfrau.md says."""

    def __init__(self, pedestal: NDArray[np.float32], rms: NDArray[np.float32], images: int) -> None:
        self.pedestal, self.variance = pedestal.copy(), rms * rms
        self._inverse = np.float32(1) / np.float32(images)

    def stack(self, words: list[NDArray[np.uint16]], dark: list[bool], empty: bool) -> None:
        for image, is_dark in zip(words, dark, strict=True):
            if not is_dark and not empty:
                continue
            far = image.astype(np.float32) - self.pedestal
            taken = image < 0x4000
            if not is_dark:
                empty = False
                taken &= far * far <= np.float32(9) * self.variance
            variance = (self.variance + far * far * self._inverse) * (np.float32(1) - self._inverse)
            self.pedestal = np.where(taken, self.pedestal + far * self._inverse, self.pedestal)
            if is_dark:
                self.variance = np.where(taken, variance, self.variance)


@dataclasses.dataclass
class OfCells:
    """Holds a calibration of storage cells."""

    pedestal: NDArray[np.float32]
    gain: NDArray[np.float32]
    mask: NDArray[np.uint32]
    rms: NDArray[np.float32]
    cells: tuple[int, ...] = (3, 0, 15)


@on_every_unit
@pytest.mark.parametrize("one_rms", [False, True])
@pytest.mark.parametrize("track", ["darks", "empty"])
def test_pedestals_of_each_cell_follow_the_images_of_that_cell_alone_to_the_last_bit(
    unit: str, track: str, one_rms: bool
) -> None:
    shape, stack, count, images = (11, 37), 4, 32, 16
    random = np.random.default_rng(5)
    start = np.rint(random.normal(2500, 100, (3, *shape))).astype(np.float32)
    pedestal = np.stack([start, np.full_like(start, 15000), np.full_like(start, 14500)], axis=1)
    gain = np.stack([np.full(shape, level, np.float32) for level in (41, -1.4, -0.1)])
    rms = np.stack([np.full(shape, 20 + (0 if one_rms else 2 * cell), np.float32) for cell in range(3)])
    given = OfCells(pedestal, gain, np.zeros(shape, np.uint32), rms[0] if one_rms else rms)
    sets = [int(one) for one in random.integers(0, 3, count)]
    dark = [bool(one) for one in random.random(count) < 0.4]
    drift = [5 * number * (one + 1) / 4 for number, one in enumerate(sets)]
    words = np.stack([start[one] + moved for one, moved in zip(sets, drift, strict=True)])
    words = np.rint(words + random.normal(0, 20, words.shape)).astype(np.uint16)
    words[random.random(words.shape) < 0.02] = 0x4123  # another gain
    found = Pipeline(
        [{"name": "jungfrau", "photon_energy_kev": ENERGY, "output": "kev", "track": track, "track_images": images}],
        shape,
        calibration=given,
        unit=unit,
        stack=stack,
        module_shape=shape,
    )(words, flags=np.array([is_dark | given.cells[one] << 8 for is_dark, one in zip(dark, sets, strict=True)]))
    followed = [FollowedCell(start[one], rms[one], images) for one in range(3)]
    factor = (1 / gain[0].astype(float)).astype(np.float32)
    for first in range(0, count, stack):
        part = range(first, first + stack)
        for number in part:
            wanted = (words[number].astype(np.float32) - followed[sets[number]].pedestal) * factor
            in_g0 = words[number] < 0x4000
            np.testing.assert_array_equal(found.pixels[number][in_g0], wanted[in_g0], err_msg=f"image {number}")
        for one in range(3):
            mine = [number for number in part if sets[number] == one]
            followed[one].stack([words[number] for number in mine], [dark[number] for number in mine], track == "empty")
    assert all(np.abs(cell.pedestal - start[one]).max() > 5 for one, cell in enumerate(followed)), "they have moved"
