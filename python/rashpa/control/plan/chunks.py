# SPDX-License-Identifier: Apache-2.0
"""Finds the buffers whose images become compressed chunks on the device, and the memory that these need. The rules are those of
src/rashpa/receiver/buffers/buffer_output.cpp and of unit cuda."""

from rashpa.control.runfile.pipeline import Pipeline
from rashpa.control.runfile.run_file import Buffer
from rashpa.control.runfile.sink_sections import Hdf5Sink, NullSink, Stream2Sink

_BLOCK = 8192  # bytes of pixels
_BLOCK_ROOM = 8244  # of a chunk, for a block that does not shrink, with its length
_WORK_ROOM = 8256  # of the device, for a block before it has its place


def on_device(section: Buffer, steps: Pipeline) -> bool:
    """Return True when accepted images leave the device as chunks, except for small stacks of a resident kernel."""
    if section.unit != "cuda" or not steps.steps or steps.makes_list or section.splits_images:
        return False
    storing = [sink for sink in section.sink if not isinstance(sink, NullSink)]
    takes = [
        isinstance(sink, Stream2Sink) or (isinstance(sink, Hdf5Sink) and sink.compress == "auto") for sink in storing
    ]
    return bool(takes) and all(takes)


def chunk_room(image_bytes: int) -> int:
    """Return the largest number of bytes of an image's chunk."""
    return -(-image_bytes // _BLOCK) * _BLOCK_ROOM


def work_room(image_bytes: int) -> int:
    """Return the bytes of device memory that are needed to make a chunk."""
    return -(-image_bytes // _BLOCK) * _WORK_ROOM + chunk_room(image_bytes)
