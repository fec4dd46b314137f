# SPDX-License-Identifier: Apache-2.0
"""Masks the pixels that the detector's geometry declares bad, before the kernels of a run."""

from collections.abc import Sequence

import numpy as np

from rashpa import _native
from rashpa.control.telegrams.telegram import Buffer
from rashpa.data.base.pixels import bad_pixels
from rashpa.node.engine.calibration import bad_of_buffer


def bad_pixels_step(buffer: Buffer, before: Sequence[_native.Kernel]) -> _native.Kernel:
    """Return the step that masks the buffer's bad pixels in images, as they are after the kernels `before`."""
    mask = _native.Reshaping(list(before), buffer.width, buffer.height).mask(bad_of_buffer(buffer))
    return _native.bad_pixels_kernel(bad_pixels(mask).astype(np.uint8))
