# SPDX-License-Identifier: Apache-2.0
"""Completes the metadata of an order with the facts of its buffer."""

from rashpa.control.runfile.pipeline import PIXEL_BYTES
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.part_orders import DtpPlace, FileMetadata, ModulePlace


def told_metadata(said: FileMetadata, buffer: telegram.Buffer, made: tuple[int, int]) -> FileMetadata:
    """Return the metadata; where they give none, add the beam in the centre of the image, the pixel's bits, and the places of modules and DTPs.
    `made`: height and width of the image after the kernels."""
    height, width = made
    changes: dict[str, object] = {}
    if said.beam_center_x is None:
        changes["beam_center_x"] = width / 2
    if said.beam_center_y is None:
        changes["beam_center_y"] = height / 2
    if not said.bit_depth_readout:
        changes["bit_depth_readout"] = 8 * PIXEL_BYTES[buffer.pixel]
    if not said.dtps:
        changes["dtps"] = [_place(dtp) for dtp in buffer.dtps]
    if not said.modules:
        changes["modules"] = [_around(buffer, module) for module in sorted({dtp.module for dtp in buffer.dtps})]
    return said.model_copy(update=changes)


def _place(dtp: telegram.DestinationDtp) -> DtpPlace:
    return DtpPlace.model_validate(
        {name: getattr(dtp, name) for name in ("id", "module", "x", "y", "width", "height", "turn", "flip")}
    )


def _around(buffer: telegram.Buffer, module: int) -> ModulePlace:
    """Return the rectangle that encloses the buffer's part of a module."""
    parts = [dtp for dtp in buffer.dtps if dtp.module == module]
    left, top = min(dtp.x for dtp in parts), min(dtp.y for dtp in parts)
    right, bottom = max(dtp.x + dtp.width for dtp in parts), max(dtp.y + dtp.height for dtp in parts)
    return ModulePlace(name=f"m{module}", x=left, y=top, width=right - left, height=bottom - top)
