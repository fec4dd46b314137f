# SPDX-License-Identifier: Apache-2.0
"""Chunks made on the device have the room that the receiver takes for them."""

from types import SimpleNamespace
from typing import Any

import pytest

from rashpa.control.plan.chunks import chunk_room, on_device, work_room
from rashpa.control.runfile.sink_sections import Hdf5Sink, NullSink, Stream2Sink


@pytest.mark.parametrize(("image_bytes", "blocks"), [(1, 1), (8192, 1), (8193, 2), (1024 * 512 * 2, 128)])
def test_room_is_that_of_whole_blocks(image_bytes: int, blocks: int) -> None:
    assert chunk_room(image_bytes) == 8244 * blocks
    assert work_room(image_bytes) == (8244 + 8256) * blocks


def buffer(*sinks: Any, unit: str = "cuda", splits: bool = False) -> Any:
    return SimpleNamespace(unit=unit, splits_images=splits, sink=list(sinks))


HDF5 = Hdf5Sink(kind="hdf5")
STEPS: Any = SimpleNamespace(steps=["jungfrau"], makes_list=False)


@pytest.mark.parametrize(
    ("section", "steps", "chunks"),
    [
        (buffer(HDF5), STEPS, True),
        (buffer(HDF5, Stream2Sink(kind="stream2"), NullSink(kind="null")), STEPS, True),
        (buffer(NullSink(kind="null")), STEPS, False),
        (buffer(HDF5, Hdf5Sink(kind="hdf5", compress="host")), STEPS, False),
        (buffer(), STEPS, False),
        (buffer(HDF5, unit="cpu"), STEPS, False),
        (buffer(HDF5, splits=True), STEPS, False),
        (buffer(HDF5), SimpleNamespace(steps=[], makes_list=False), False),
        (buffer(HDF5), SimpleNamespace(steps=["csr"], makes_list=True), False),
    ],
)
def test_images_become_chunks_where_all_sinks_store_them(section: Any, steps: Any, chunks: bool) -> None:
    assert on_device(section, steps) is chunks
