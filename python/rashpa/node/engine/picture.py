# SPDX-License-Identifier: Apache-2.0
"""Turns the previews of the native engine into previews with the facts of their buffer."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashpa import _native
from rashpa.control.telegrams import telegram
from rashpa.node.engine.calibration import gaps_of_buffer
from rashpa.node.engine.preview import Masked, Preview, Rectangle


class Picture:
    """Holds the facts that all previews of a buffer share. The first request computes them, because masks of gaps are as large as an image."""

    def __init__(self, buffer: telegram.Buffer, made: _native.BufferConfig) -> None:
        self._buffer = buffer
        self._kernels = made.kernels
        self._regions = {dtp.id: dtp for dtp in buffer.dtps}
        self._known: tuple[_native.Reshaping, Masked, Masked] | None = None

    def of(self, found: dict[str, Any]) -> Preview:
        """Return the preview of an image from the native engine. `found`: the image's facts, by name."""
        shape, made, arrived = self._facts()
        arriving: bool = found["arriving"]
        pixels: NDArray[Any] = found["pixels"]
        pixels.flags.writeable = False
        lost = tuple(self._rectangle(None if arriving else shape, *run) for run in found["lost"])
        columns, tables, profiles = found["columns"], found["tables"], found["profiles"]
        return Preview(
            found["index"],
            found["frame"],
            found["timestamp_ns"],
            found["partial"],
            pixels,
            arrived if arriving else made,
            lost,
            columns,
            tables,
            profiles,
            found["vetoed"],
            arriving,
        )

    def _facts(self) -> tuple[_native.Reshaping, Masked, Masked]:
        """Return the pipeline's change of shape, then the pixels without a value in a finished image, and in an arriving image."""
        if self._known is None:
            buffer = self._buffer
            shape = _native.Reshaping(self._kernels, buffer.width, buffer.height)
            holes = gaps_of_buffer(buffer)
            special = tuple(one.value for one in buffer.special)
            saturated = tuple(one.value for one in buffer.special if one.meaning == "saturated")
            arrived = Masked(buffer.masked == "delivered", special, _gaps(holes), saturated)
            made = Masked(gaps=_gaps(shape.mask(holes))) if buffer.kernels else arrived
            self._known = shape, made, arrived
        return self._known

    def _rectangle(self, shape: _native.Reshaping | None, dtp: int, first: int, lines: int) -> Rectangle:
        """Return the rectangle of successive lost lines, in the finished image or, without `shape`, in the arriving image."""
        region = self._regions[dtp]
        if shape is None:
            return region.x, region.y + first, region.width, lines
        return shape.region(region.x, region.y + first, region.width, lines)


def _gaps(mask: NDArray[np.uint32]) -> NDArray[np.bool_] | None:
    """Return the mask as booleans, None when no pixel is a gap."""
    gaps: NDArray[np.bool_] = mask != 0
    return gaps if np.any(gaps) else None
