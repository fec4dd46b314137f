# SPDX-License-Identifier: Apache-2.0
"""Defines the tables `[[buffer]]` of a run file."""

import re
from typing import Annotated

from pydantic import Field, model_validator

from rashpa.control.runfile.engine_keys import BufferKeys, ReductionKeys
from rashpa.control.runfile.kernels import Kernel
from rashpa.control.runfile.key_types import MOST_MODULES, ModuleNumber, Position, Rectangle
from rashpa.control.runfile.section import Section
from rashpa.control.runfile.sink_sections import Sink
from rashpa.data.datasets.spec import PATH, FileName


class Dtp(Section):
    """A data transfer process that is placed by hand."""

    module: ModuleNumber
    region: Rectangle = Field(description="x, y, width, height in pixels of the module as it is turned")
    place: Position = Field(description="x, y in pixels of the buffer's image")


class Feedback(Section):
    """The decision on each image, published at once for programs that control the experiment: in a ring on the receiver's machine, by ZeroMQ, or both."""

    ring: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_.\-]{0,63}$",
        description="name of the ring, /dev/shm/rashpa.<name> where the receiver's --feedback names no other folder",
    )
    zmq: str | None = Field(
        default=None,
        pattern=r"^tcp://(\d{1,3}(\.\d{1,3}){3}|\[[0-9A-Fa-f:]{2,39}\]):\d{1,5}$",
        description="address at which a PUB socket listens, port 0: any free one; other than loopback as the receiver's --publish allows. Nothing is encrypted",
    )
    images: int = Field(
        default=4096,
        ge=2,
        le=1 << 20,
        description="images in the ring: how far a reader may be behind before it loses some",
    )

    @model_validator(mode="after")
    def _somewhere(self) -> "Feedback":
        if self.ring is None and self.zmq is None:
            raise ValueError("feedback goes nowhere; name a ring, a zmq endpoint, or both")
        return self


class Reduction(ReductionKeys):
    """The reduction of images by the emulator, before they are sent: it subtracts an offset, sets pixels below the threshold to 0, then bins."""

    offset: list[FileName] = Field(
        default=[],
        max_length=MOST_MODULES,
        description="image [height][width] of each module as it is read out, in the detector's pixel type, subtracted first; differences below the least "
        "count become it",
    )


class _Place(Section):
    """The place of a buffer, and the pixels that go there."""

    name: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_\-]{0,31}$")
    receiver: str | None = Field(
        default=None, description="receiver on which the buffer lies; the first one when not given"
    )
    group: str | None = Field(
        default=None,
        description="group in place of receiver: each member has such a buffer, and images are dealt among them",
    )
    region: Rectangle | None = Field(
        default=None, description="x, y, width, height in the assembled image; all of it when not given"
    )
    bands: int = Field(default=1, ge=1, le=255, description="DTPs a module, one above the other")
    dtp: list[Dtp] = Field(default=[], description="DTPs by hand, in place of region and bands")
    reduction: Reduction | None = Field(default=None, description="none: images are sent as they are read out")


class Buffer(BufferKeys, _Place):
    """A RASHPA buffer: the pixels and frames that go there, and their processing."""

    device: Annotated[int, Field(ge=0, le=255)] | Annotated[str, Field(pattern=r"^[ -~]{1,64}$")] = Field(
        default=0, description="cuda, opencl: number of the device; opencl: or a part of its name, whatever the case"
    )
    devices: list[Annotated[int, Field(ge=0, le=255)]] = Field(
        default=[],
        max_length=16,
        description="numbers of several devices that share the work, in place of device",
    )
    card: Annotated[str, Field(min_length=1, max_length=256)] | None = Field(
        default=None,
        json_schema_extra=PATH,
        description='fpga, in place of device: "sim", a simulated card for the run, or the directory of a card\'s nodes: /dev of a real one',
    )
    kernel: list[Kernel] = Field(default=[], max_length=64)
    feedback: Feedback | None = Field(default=None, description="none: nothing is published")
    sink: list[Sink] = Field(
        min_length=1,
        max_length=6,
        description='sinks to which accepted images go, at least one; [[buffer.sink]] with kind = "null" counts them and stores nothing',
    )

    @property
    def device_names(self) -> tuple[str, ...]:
        """Return the names of the unit's devices."""
        return tuple(map(str, self.devices)) or (str(self.device),)

    @property
    def splits_images(self) -> bool:
        """Return True when each device of the unit processes a strip of every image."""
        return self.share == "rows" and len(self.devices) > 1


def event_lines(events: str) -> int:
    """Return the lines of a part that has an event of its own, by `"lines:N"`; 0 for `"image"`. Raise ValueError for anything else."""
    if events == "image":
        return 0
    found = re.fullmatch(r"lines:([1-9][0-9]{0,8})", events)
    if found is None:
        raise ValueError(f'"{events}" is neither "image" nor "lines:N" with N of 1 or more')
    return int(found[1])


def events_of(lines: int, events: str) -> int:
    """Return the events of an image with `lines` lines."""
    part = event_lines(events)
    return -(-lines // part) if part else 1
