# SPDX-License-Identifier: Apache-2.0
"""Computes the inputs of the kernels `peakfinder8`, `peakfinder` and `sparsify` from a PONI or a CrystFEL geometry: the distance of each pixel from
the beam, and the panels that a peak may not cross."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashpa.data.geometry import geometry
from rashpa.data.geometry.crystfel_geometry import read_crystfel_geometry
from rashpa.data.geometry.crystfel_keys import flag_trouble, saturation_trouble
from rashpa.data.geometry.given import Image, Values


def peak_geometry(values: Values, image: Image) -> dict[str, NDArray[Any]]:
    """Return the arrays by the names that the kernel declares; empty without a file. Raise ValueError or OSError with a text that begins with the
    key."""
    poni, crystfel = str(values.get("poni") or ""), str(values.get("geometry") or "")
    if poni and crystfel:
        raise ValueError(f"geometry: {crystfel}: is there beside poni {poni}; leave one of them out")
    if poni:
        return {"radius": _radius_of_poni(poni, image.shape)}
    if not crystfel:
        return {}
    for key in ("panel_width", "panel_height"):
        if int(values.get(key) or 0):
            raise ValueError(f"{key}: {values[key]}: the panels are those of geometry {crystfel}; leave it out")
    found = read_crystfel_geometry("geometry", crystfel, image.shape)
    counts = image.counts or (-math.inf, math.inf)
    used = [panel.values for panel in found.panels if panel.used]
    if trouble := flag_trouble(found.flags, counts) or saturation_trouble(used, counts):
        raise ValueError(f"geometry: {crystfel}: {trouble}")
    radius = found.radius(image.shape)
    if np.isnan(radius).all():
        raise ValueError(f"geometry: {crystfel}: no pixel is left; all are in bad regions")
    return {"radius": radius.astype(np.float32), "panels": found.rectangles().ravel()}


def pixel_distances(values: Values, image: Image) -> dict[str, NDArray[Any]]:
    """Return the distances without panels, for kernels that process each pixel separately."""
    return {name: array for name, array in peak_geometry(values, image).items() if name == "radius"}


def _radius_of_poni(path: str, shape: tuple[int, int]) -> NDArray[np.float32]:
    """Return the distances of pixels from the beam's axis, in pixels."""
    poni = geometry.read_poni("poni", path, shape)
    first, second = float(poni.detector.pixel1), float(poni.detector.pixel2)
    if abs(first - second) > 1e-6 * first:
        raise ValueError(
            f"poni: {path}: its pixels are {second} m wide and {first} m high; distances are counted in square ones"
        )
    radius = np.asarray(poni.center_array(shape, unit="r_mm"), np.float64) / (1e3 * first)
    if not np.isfinite(radius).all():
        raise ValueError(
            f"poni: {path}: {geometry.pixel_text(~np.isfinite(radius))} lies nowhere; make the file again with pyFAI-calib2"
        )
    return radius.astype(np.float32)
