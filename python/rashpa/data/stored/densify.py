# SPDX-License-Identifier: Apache-2.0
"""Reconstructs images from the output of the kernel `sparsify`: listed pixels over a background that depends on the radius."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashpa.data.geometry.given import Image
from rashpa.data.geometry.peak_geometry import pixel_distances

KERNEL = "sparsify"


def masked_value(dtype: np.dtype[Any]) -> Any:
    """Return the value that kernels and readers give to pixels without a measurement."""
    if dtype.kind == "f":
        return np.nan
    limits = np.iinfo(dtype)
    return limits.min if limits.min < 0 else limits.max


def radii(shape: tuple[int, int], beam_x: float, beam_y: float) -> NDArray[np.float64]:
    """Return the distance of each pixel's centre from the beam, in pixels, [row][column]. `beam_x`, `beam_y`: from the corner of the image."""
    rows, columns = np.arange(shape[0]) + 0.5 - beam_y, np.arange(shape[1]) + 0.5 - beam_x
    return np.asarray(np.hypot(rows[:, None], columns[None, :]), np.float64)


@functools.lru_cache(maxsize=2)
def _distances(poni: str, geometry: str, shape: tuple[int, int]) -> NDArray[Any]:
    return pixel_distances({"poni": poni, "geometry": geometry}, Image(*shape))["radius"]


def densify(
    shape: tuple[int, int],
    index: NDArray[np.uint32],
    value: NDArray[Any],
    background: dict[str, NDArray[Any]],
    parameters: dict[str, Any],
    random: np.random.Generator | None = None,
    radius: NDArray[np.floating[Any]] | None = None,
) -> NDArray[Any]:
    """Return the image [row][column] of a list of pixels and its background.

    `background`: columns `radius`, `background`, `deviation` of the table `sparsify`; `parameters`: those of the kernel. Pixels that the kernel does
    not process are 0; pixels of a ring without background hold the masked value.

    `radius`: that of each pixel, in pixels; NaN for pixels that the kernel does not process. None: computed from the beam, or from the geometry file
    in the parameters, which is read again. Raise ValueError or OSError with a text that begins with the key when that fails.

    With `random`, unlisted pixels vary by the deviations; otherwise they hold the mean. Masked pixels are not known here.

    >>> table = {"radius": np.array([0.5, 2.5]), "background": np.array([2.0, 4.0]), "deviation": np.array([1.0, 1.0])}
    >>> densify((1, 4), np.array([2], np.uint32), np.array([90], np.uint16), table, {"beam_x": 0.0, "beam_y": 0.5})
    array([[ 2,  3, 90,  4]], dtype=uint16)
    """
    poni, geometry = str(parameters.get("poni", "")), str(parameters.get("geometry", ""))
    if radius is None and (poni or geometry):
        radius = _distances(poni, geometry, shape)
    if radius is None:
        radius = radii(shape, float(parameters["beam_x"]), float(parameters["beam_y"]))
    image = _at(radius, background, "background")
    if random is not None:
        image += random.normal(size=shape) * _at(radius, background, "deviation")
    nothing = np.isnan(image) & ~np.isnan(radius)
    image[np.isnan(radius)] = 0
    farthest = float(parameters.get("max_radius", 0))
    image[radius < float(parameters.get("min_radius", 0))] = 0
    if farthest > 0:
        image[radius > farthest] = 0  # both limits belong to the range
        nothing &= radius <= farthest
    nothing &= radius >= float(parameters.get("min_radius", 0))
    image[nothing] = 0
    if value.dtype.kind != "f":
        limits = np.iinfo(value.dtype)
        image = np.clip(np.rint(image), limits.min, limits.max)
    made: NDArray[Any] = image.astype(value.dtype)
    made[nothing] = masked_value(made.dtype)
    made.ravel()[index] = value
    return made


def _at(radius: NDArray[np.floating[Any]], table: dict[str, NDArray[Any]], column: str) -> NDArray[np.float64]:
    """Return the column's value at each pixel, interpolated between the centres of rings. Next to a ring without background, it is the value of the
    pixel's own ring."""
    middles, values = table["radius"], table[column]
    between = np.interp(radius, middles, values)
    own = values[np.searchsorted((middles[1:] + middles[:-1]) / 2, radius, side="right")]
    return np.where(np.isnan(between), own, between)
