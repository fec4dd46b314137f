# SPDX-License-Identifier: Apache-2.0
"""Decodes a node's view of an image, for viewers."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rashpa.data.figures.view_bytes import view_of_bytes


@dataclass(frozen=True)
class ImageView:
    """Holds a view of an image. `vetoed`: the reason of a veto; `arriving`: True for the detector's pixels, before the pipeline. `kind`: the pixels'
    type, in NumPy's letters. `values`: NaN where a pixel has none; `corners`: first column and row, end column and row, and the pixels along the side
    of a value. `lost`: rectangles of lost lines; `curves`: for each profile, its axis' name, the axis and the curve."""

    index: int
    frame: int
    partial: bool
    vetoed: str | None
    arriving: bool
    size: tuple[int, int]
    corners: tuple[int, int, int, int, int]
    kind: str
    values: NDArray[np.float32]
    lost: NDArray[np.float64]
    peaks: NDArray[np.float32] | None
    peaks_of: str
    columns: Mapping[str, float | None]
    curves: Mapping[str, tuple[str, NDArray[np.float64], NDArray[np.float64]]]


def image_view_of(content: bytes) -> ImageView:
    """Decode a node's answer. Raise ValueError or KeyError when it is no view."""
    facts, arrays = view_of_bytes(content)
    image = arrays["image"]
    values = image.astype(np.float32)
    if image.dtype.kind != "f":
        limits = np.iinfo(image.dtype)
        values[image == (limits.max if image.dtype.kind == "u" else limits.min)] = np.nan
    curves = {
        name: (str(facts["axes"][name]), *arrays[f"profile_{name}"])
        for name in facts["axes"]
        if f"profile_{name}" in arrays
    }
    x, y, right, bottom, step = facts["view"]
    return ImageView(
        index=facts["index"],
        frame=facts["frame"],
        partial=facts["partial"],
        vetoed=facts["vetoed"],
        arriving=facts["arriving"],
        size=(facts["size"][0], facts["size"][1]),
        corners=(x, y, right, bottom, step),
        kind=facts["kind"],
        values=values,
        lost=np.asarray(facts["lost"], np.float64).reshape(-1, 4),
        peaks=arrays.get("peaks"),
        peaks_of=facts["peaks_of"],
        columns=facts["columns"],
        curves=curves,
    )
