# SPDX-License-Identifier: Apache-2.0
"""Arranges calibration maps like a buffer's image: each DTP's part of its module's maps is placed where its pixels arrive."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rashpa.control.telegrams.telegram import Buffer
from rashpa.data.geometry.orientation import Orientation
from rashpa.node.engine.engine import EngineError

GAP = 1  # NXmx pixel_mask bit 0


@dataclass(frozen=True)
class Maps:
    """Holds pedestal and gain, float32 [3][height][width] (ADU, ADU/keV), and mask, uint32 [height][width] (NXmx bits; not 0: no valid calibration).
    With storage cells, pedestal is [cells][3][height][width]; so is gain where cells differ in it."""

    pedestal: NDArray[np.float32]
    gain: NDArray[np.float32]
    mask: NDArray[np.uint32]
    rms: NDArray[np.float32] | None = None
    """ADU, of the pedestal of G0: [height][width], with storage cells [cells][height][width]; None: not known."""
    cells: tuple[int, ...] = ()
    """The storage cell of each set of pedestals; none: one set for images of every cell."""


BAD = 256  # NXmx pixel_mask bit 8: by a user


def bad_of_buffer(buffer: Buffer) -> NDArray[np.uint32]:
    """Return the mask of the regions that the order declares bad."""
    mask = np.zeros((buffer.height, buffer.width), np.uint32)
    for one in buffer.bad:
        mask[one.y : one.y + one.height, one.x : one.x + one.width] = BAD
    return mask


def maps_of_buffer(buffer: Buffer, modules: Sequence[Maps]) -> Maps:
    """Return the maps of the buffer's image, from the maps of whole modules in readout order. Pixels that no DTP fills are masked as gap."""
    shape = (buffer.height, buffer.width)
    known = all(modules[dtp.module].rms is not None for dtp in buffer.dtps if dtp.module < len(modules))
    used = [modules[dtp.module] for dtp in buffer.dtps if dtp.module < len(modules)]
    sets = used[0].pedestal.shape[:-2] if used else (3,)
    gain_sets = max((one.gain.shape[:-2] for one in used), key=len, default=(3,))
    result = Maps(
        np.zeros((*sets, *shape), np.float32),
        np.zeros((*gain_sets, *shape), np.float32),
        np.full(shape, GAP, np.uint32),
        np.zeros((*sets[:-1], *shape), np.float32) if known else None,
        used[0].cells if used else (),
    )
    for dtp in buffer.dtps:
        if dtp.module >= len(modules):
            raise EngineError(
                "config",
                f"buffer {buffer.name} takes module {dtp.module}, but the dataset has calibration for {len(modules)} modules; "
                "name a calibration for every [[detector.module]]",
            )
        maps = _turned(modules[dtp.module], dtp.orientation)
        source = np.s_[dtp.source_y : dtp.source_y + dtp.height, dtp.source_x : dtp.source_x + dtp.width]
        target = np.s_[dtp.y : dtp.y + dtp.height, dtp.x : dtp.x + dtp.width]
        if maps.mask[source].shape != (dtp.height, dtp.width):
            raise EngineError(
                "config",
                f"calibration of module {dtp.module} is {maps.mask.shape[1]} × {maps.mask.shape[0]} pixels; DTP {dtp.id} takes pixels "
                f"beyond that. It must have the size of the module",
            )
        result.pedestal[..., *target] = maps.pedestal[..., *source]
        result.gain[..., *target] = maps.gain[..., *source]
        result.mask[target] = maps.mask[source]
        if result.rms is not None and maps.rms is not None:
            result.rms[..., *target] = maps.rms[..., *source]
    return result


def _turned(maps: Maps, way: Orientation) -> Maps:
    """Return the maps in the orientation that the module has in the image."""
    rms = None if maps.rms is None else way.turned(maps.rms)
    return Maps(way.turned(maps.pedestal), way.turned(maps.gain), way.turned(maps.mask), rms, maps.cells)


def gaps_of_buffer(buffer: Buffer) -> NDArray[np.uint32]:
    """Return the mask of a buffer's image that has no calibration: only gaps are masked."""
    mask = np.full((buffer.height, buffer.width), GAP, np.uint32)
    for dtp in buffer.dtps:
        mask[dtp.y : dtp.y + dtp.height, dtp.x : dtp.x + dtp.width] = 0
    return mask
