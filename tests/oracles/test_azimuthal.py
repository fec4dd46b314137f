# SPDX-License-Identifier: Apache-2.0
"""Compares sums of azimuthal integration with plain loops on every unit. The oracle of the bins is python/tests/data/test_azimuthal_bins.py."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.oracles import azimuthal
from tests.oracles.units import on_every_unit

from rashpa.data.kernels.pipeline import Found, Pipeline

ORACLES_OF = ("azimuthal",)
SHAPE, BINS, GAP = (9, 23), 11, 250
AXIS = np.arange(BINS) + 0.5


class Given:
    """Holds bins and weights of pixels, whole or split, and images."""

    def __init__(self, split: bool, dtype: str) -> None:
        random = np.random.default_rng(5)
        self.split = split
        pixels = SHAPE[0] * SHAPE[1]
        self.weight = random.uniform(0.5, 1.5, pixels).astype(np.float32)
        self.dark = random.uniform(0, 0.5, pixels).astype(np.float32)
        self.shares: list[azimuthal.Share] = []
        for pixel in range(pixels):
            bins = random.permutation(BINS - 1)[: random.integers(0, 4 if split else 2)]  # none in the last bin
            for place in sorted(bins.tolist()):
                part = float(np.float32(random.uniform(0.1, 1))) if split else 1.0
                self.shares.append((pixel, place, part))
        self.images = random.poisson(2, (6, *SHAPE))
        self.images[1], self.images[2] = 0, GAP
        self.images[3, 2:5] = GAP
        self.images[random.random(self.images.shape) < 0.03] = GAP
        self.pixels = np.where(self.images == GAP, np.nan, self.images)
        self.dtype = np.dtype(dtype)

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays in the form that the kernel takes."""
        made: dict[str, NDArray[Any]] = {"radial_axis": AXIS, "norm": self.weight.reshape(SHAPE)}
        made["dark"] = self.dark.reshape(SHAPE)
        if not self.split:
            bins = np.full(SHAPE, azimuthal.NO_BIN, np.uint32)
            for pixel, place, _ in self.shares:
                bins.flat[pixel] = place
            return made | {"bins": bins}
        ends = np.cumsum(np.bincount([pixel for pixel, _, _ in self.shares], minlength=SHAPE[0] * SHAPE[1]))
        made["share_ends"] = ends.astype(np.uint32).reshape(SHAPE)
        made["share_bins"] = np.array([place for _, place, _ in self.shares], np.uint32)
        made["shares"] = np.array([part for _, _, part in self.shares], np.float32)
        return made

    def through(self, unit: str, **parameters: Any) -> Found:
        """Return the kernel's results for the images."""
        images = self.pixels if self.dtype.kind == "f" else self.images
        special = {} if self.dtype.kind == "f" else {GAP: "gap"}
        kernel = {"name": "azimuthal", "poni": "", "splitting": "bbox" if self.split else "no", **parameters}
        arrays = {"azimuthal": self.arrays}
        made = Pipeline([kernel], SHAPE, self.dtype, unit=unit, special=special, arrays=arrays)
        return made(images.astype(self.dtype))

    def profiles(self, errors: str) -> list[azimuthal.Profile]:
        """Return the oracle's results for the images."""
        weight, dark = self.weight.tolist(), self.dark.tolist()
        return [azimuthal.profile(image, self.shares, weight, dark, BINS, errors) for image in self.pixels]


@on_every_unit
@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("errors", ["none", "poisson", "azimuthal"])
@pytest.mark.parametrize("dtype", ["uint8", "int32", "float32"])
def test_profiles(unit: str, split: bool, errors: str, dtype: str) -> None:
    given = Given(split, dtype)
    arrays, axes = given.through(unit, errors=errors).profiles["azimuthal"]
    np.testing.assert_array_equal(axes["radial_axis"], AXIS)
    for number, wanted in enumerate(given.profiles(errors)):
        for name, values in (("sum_signal", wanted.signal), ("norm", wanted.norm), ("I", wanted.mean)):
            np.testing.assert_allclose(arrays[name][number], values, rtol=1e-9, atol=1e-9, err_msg=f"{name} {number}")
        np.testing.assert_allclose(arrays["I_errors"][number], wanted.error, rtol=1e-6, atol=1e-7)


@on_every_unit
@pytest.mark.parametrize(("ring_min", "ring_max"), [(0, 0), (2.5, 5.5), (2.6, 5.4), (8.5, 10.5), (10.5, 10.6)])
def test_rings(unit: str, ring_min: float, ring_max: float) -> None:
    given = Given(False, "uint8")
    means = [azimuthal.ring(one, AXIS.tolist(), ring_min, ring_max) for one in given.profiles("poisson")]
    finite = sorted(one for one in means if one > 0) or [1.0]
    for least, most in ((0, 0), (finite[len(finite) // 2] - 1e-6, finite[-1] + 1e-6), (1e-6, finite[-1] - 1e-6)):
        bounds = {"ring_min": ring_min, "ring_max": ring_max, "min_intensity": least, "max_intensity": most}
        found = given.through(unit, **bounds)
        np.testing.assert_allclose(found.columns["ring_intensity"], means, rtol=1e-9)
        assert [image.reason for image in found] == [azimuthal.judged(one, least, most) for one in means]


@on_every_unit
def test_windows(unit: str) -> None:
    given = Given(True, "uint8")
    found = given.through(unit, added="accepted").accumulated["azimuthal"]
    profiles = given.profiles("poisson")
    norm = np.sum([one.norm for one in profiles], axis=0)
    signal = np.sum([one.signal for one in profiles], axis=0)
    with np.errstate(invalid="ignore"):
        mean = signal / norm
        variance = [np.nan_to_num(np.array(one.error) * one.norm) ** 2 for one in profiles]
        error = np.sqrt(np.sum(variance, axis=0)) / norm
    for name, values in (("sum_signal", signal), ("norm", norm), ("I", mean), ("I_errors", error)):
        np.testing.assert_allclose(found[name][0].ravel(), values, rtol=1e-9, atol=1e-9, err_msg=name)
    counted = np.sum([np.array(one.norm) > 0 for one in profiles], axis=0)
    assert found["counted"][0].ravel().tolist() == counted.tolist()
