# SPDX-License-Identifier: Apache-2.0
"""Lists the units of this machine on which kernels are compared with their oracles, and makes images with known masked pixels."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
from rashpa.data.kernels.pipeline import Found, Pipeline, available_units


def _unit(name: str) -> Any:
    usable, what = available_units()[name]
    return pytest.param(name, marks=[] if usable else pytest.mark.skip(reason=what))


on_every_unit = pytest.mark.parametrize("unit", [_unit(name) for name in ("cpu", "opencl", "cuda")])
INTEGERS = ("uint8", "uint16", "uint32", "int16", "int32")
LARGEST_THRESHOLD = 2**31 - 1
_SHAPES = ((1, 1), (1, 7), (9, 1), (5, 13), (37, 29))


def shapes_of(unit: str) -> tuple[tuple[int, int], ...]:
    """Return the shapes of small images; devices get one, because they build a program for each shape."""
    return _SHAPES if unit == "cpu" else _SHAPES[-1:]


@dataclass(frozen=True)
class Images:
    """Holds images [image][row][column]; values from `gap` on mean a masked pixel."""

    pixels: NDArray[Any]
    gap: int

    @property
    def good(self) -> NDArray[np.bool_]:
        """Return True where a pixel holds a value."""
        return np.asarray(self.pixels < self.gap)

    @property
    def special(self) -> dict[int, str]:
        """Return the special values in the form of a pipeline's argument."""
        return {self.gap: "gap", int(np.iinfo(self.pixels.dtype).max): "dead"}

    def through(self, kernels: list[dict[str, Any]], unit: str, **more: Any) -> Found:
        """Return a pipeline's results for the images."""
        made = Pipeline(kernels, self.pixels.shape[1:], self.pixels.dtype, unit=unit, special=self.special, **more)
        return made(self.pixels)


def drawn(seed: int, shape: tuple[int, int], dtype: str, count: int = 7) -> Images:
    """Return random images: sparse, dense, dark, all masked, with the least and the largest allowed value, and with masked pixels."""
    random = np.random.default_rng(seed)
    largest = int(np.iinfo(dtype).max) - 3  # the largest value of a count
    images = random.poisson(0.3, (count, *shape)).astype(np.int64)
    images[1] = random.integers(0, 100, shape)
    images[2] = 0
    images[3] = largest + 1
    images[4][random.random(shape) < 0.3] = largest
    images[random.random(images.shape) < 0.05] = largest + 1
    images[random.random(images.shape) < 0.03] = largest + 3
    return Images(images.astype(dtype), largest + 1)
