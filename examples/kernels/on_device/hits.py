# SPDX-License-Identifier: Apache-2.0
"""Kernels for rashpa on a GPU: CuPy counts bright pixels and vetoes images, PyTorch computes the centre of mass. README.md says how to run them."""

from typing import Any

import cupy
import torch

from rashpa.data.kernels.device_images import DeviceImages
from rashpa.data.kernels.kernel import Column, kernel


@kernel(
    takes=["int16"],
    columns=[Column("bright", "uint32", unit="pixels", doc="Pixels at or above the threshold")],
    reasons=["too_few_bright"],
    on_device=True,
)
def spots(images: DeviceImages, *, threshold: int = 10, min_bright: int = 1) -> tuple[dict[str, Any], Any]:
    """Bright pixels, by CuPy."""
    pixels = cupy.asarray(images)  # where they are
    bright = cupy.count_nonzero(pixels >= threshold, axis=(1, 2))
    return {"bright": bright}, (bright < min_bright).astype(cupy.uint8)


@kernel(
    takes=["int16"],
    columns=[
        Column("centre_x", unit="pixels", doc="Centre of mass of the bright pixels; NaN without any"),
        Column("centre_y", unit="pixels", doc="Centre of mass of the bright pixels; NaN without any"),
    ],
    on_device=True,
)
def centre(images: DeviceImages, *, threshold: int = 10) -> dict[str, Any]:
    """Where the bright pixels are, by PyTorch."""
    pixels = torch.from_dlpack(images)
    weights = torch.where(pixels >= threshold, pixels, 0).to(torch.float64)
    total = weights.sum(dim=(1, 2))
    rows = torch.arange(weights.shape[1], device=weights.device, dtype=torch.float64)
    columns = torch.arange(weights.shape[2], device=weights.device, dtype=torch.float64)
    return {
        "centre_x": (weights.sum(dim=1) @ columns) / total,
        "centre_y": (weights.sum(dim=2) @ rows) / total,
    }
