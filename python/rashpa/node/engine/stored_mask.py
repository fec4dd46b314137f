# SPDX-License-Identifier: Apache-2.0
"""Arranges the mask of a stored dataset like the images that a receiver gets."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rashpa.control.runfile.dataset_spec import StoredSpec
from rashpa.control.telegrams import telegram
from rashpa.data.geometry.orientation import UPRIGHT, Orientation
from rashpa.node.engine.dataset_parts import spec_of
from rashpa.node.engine.engine import EngineError
from rashpa.node.engine.folders import Folders

Mask = NDArray[np.uint32]


def stored_masks(order: telegram.Destination, folders: Folders) -> dict[str, Mask]:
    """Return the NXmx bits of the dataset's mask for each buffer. Return none when the file has no mask, or when this node may not read the file; the
    manager warns about that."""
    if order.dataset.kind != "stored":
        return {}
    spec = spec_of(order.dataset)
    if not isinstance(spec, StoredSpec):
        return {}
    path = Path(spec.path)
    try:
        folders.check_read(spec, Path.cwd())
    except EngineError:
        return {}
    # with HDF5, which nodes import for the orders that name such files
    from rashpa.data.stored.source_facts import read_source_facts
    from rashpa.data.stored.stored_piece import Reading

    modules = _Modules(spec)
    reading = Reading(folders.readable, tuple(map(Path, spec.follow)))
    mask = read_source_facts(path, modules.shape, reading).mask if path.is_file() else None
    if mask is None or not mask.any():
        return {}
    return {buffer.name: _of_buffer(buffer, modules.cut(mask)) for buffer in order.buffers}


class _Modules:
    """Describes places and orientations of modules in the stored images."""

    def __init__(self, spec: StoredSpec) -> None:
        ways = [Orientation(turn, flip) for turn, flip in spec.orientations] or [UPRIGHT] * len(spec.places)
        self.places = [
            (x, y, *way.sides(spec.width, spec.height), way)
            for (x, y), way in zip(spec.places or [(0, 0)], ways or [UPRIGHT], strict=True)
        ]

    @property
    def shape(self) -> tuple[int, int]:
        """Return rows and columns of the images."""
        return (
            max(y + height for _, y, _, height, _ in self.places),
            max(x + width for x, _, width, _, _ in self.places),
        )

    def cut(self, mask: Mask) -> list[Mask]:
        """Return the part of the mask for each module, in readout order."""
        return [way.turned_back(mask[y : y + height, x : x + width]) for x, y, width, height, way in self.places]


def _of_buffer(buffer: telegram.Buffer, modules: Sequence[Mask]) -> Mask:
    found = np.zeros((buffer.height, buffer.width), np.uint32)
    for dtp in buffer.dtps:
        part = dtp.orientation.turned(modules[dtp.module])
        source = np.s_[dtp.source_y : dtp.source_y + dtp.height, dtp.source_x : dtp.source_x + dtp.width]
        found[dtp.y : dtp.y + dtp.height, dtp.x : dtp.x + dtp.width] = part[source]
    return found
