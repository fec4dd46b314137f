# SPDX-License-Identifier: Apache-2.0
"""An image as PNG, for a look."""

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image


def png_of(image: NDArray[Any]) -> bytes:
    """Grey PNG on a square-root scale up to the 99.9th percentile; values that are no measurement (fill values, NaN, negative) are black."""
    values = image.astype(np.float32)
    if np.issubdtype(image.dtype, np.integer):
        limits = np.iinfo(image.dtype)
        values[(image == limits.max) | ((image == limits.min) & (limits.min < 0))] = 0.0
    values = np.clip(np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0), 0.0, None)
    top = float(np.percentile(values, 99.9)) if values.size else 0.0
    grey = np.sqrt(np.clip(values / max(top, 1e-6), 0.0, 1.0)) * 255.0
    out = io.BytesIO()
    Image.fromarray(grey.astype(np.uint8)).save(out, format="PNG")
    return out.getvalue()
