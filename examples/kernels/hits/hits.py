# SPDX-License-Identifier: Apache-2.0
"""A kernel for rashpa in Python: it counts bright pixels, computes their centre of mass, and vetoes images with few. README.md says how to run it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashpa.data.kernels.kernel import Column, kernel


@kernel(
    takes=["int16", "uint16", "uint32", "int32"],
    columns=[
        Column("bright", "uint32", unit="pixels", doc="Pixels at or above the threshold"),
        Column("centre_x", unit="pixels", doc="Centre of mass of the bright pixels; NaN without any"),
        Column("centre_y", unit="pixels", doc="Centre of mass of the bright pixels; NaN without any"),
    ],
    reasons=["too_few_bright"],
)
def spots(pixels: NDArray[Any], *, threshold: int = 10, min_bright: int = 1) -> tuple[dict[str, float], str | None]:
    """Bright pixels, and their centre of mass."""
    y, x = np.nonzero(pixels >= threshold)
    if x.size == 0:
        return {"bright": 0, "centre_x": np.nan, "centre_y": np.nan}, "too_few_bright" if min_bright > 0 else None
    weights = pixels[y, x].astype(np.float64)
    found = {
        "bright": x.size,
        "centre_x": float(np.average(x, weights=weights)),
        "centre_y": float(np.average(y, weights=weights)),
    }
    return found, "too_few_bright" if x.size < min_bright else None
