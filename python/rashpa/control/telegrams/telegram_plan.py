# SPDX-License-Identifier: Apache-2.0
"""Defines the parts of telegrams that describe a node's task in a run, its addresses and its memory."""

from dataclasses import dataclass, field

from rashpa.control.runfile.engine_keys import BufferKeys, FaultsKeys, GroupKeys, ReductionKeys, RunKeys
from rashpa.control.runfile.kernels import Kernel
from rashpa.control.runfile.links import LinkOptions, default_options
from rashpa.control.telegrams.part_orders import SinkOrder
from rashpa.data.geometry.orientation import Orientation

PART = "part"
"""Key in the metadata of a field that holds parts of the run file: the element around each."""
KEYS = "keys"
"""Key in the metadata of a field whose keys are attributes of the element around it: their model."""


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """Describes one end of a queue pair; endpoints are in the order of DTPs in the Configure telegram. With pcie, `address` is the receiver's control
    block, /proc/<process>/fd/<file>, and `qpn` is the DTP's position. `records_rkey`: the key of records, where they lie in another block than lines;
    0: `rkey`. `word_offset`: the address of the last word, into which the source writes the immediate of each event behind the event, with `rkey`; 0:
    none. A source that writes it says so by the same number."""

    address: str
    port: int
    qpn: int
    rkey: int
    credit_offset: int = 0
    window_bytes: int = 0
    psn: int = 0
    records_rkey: int = 0
    word_offset: int = 0


@dataclass(frozen=True, kw_only=True)
class Placement:
    """Describes the place of a DTP's lines and records in the destination's registered memory; all values are in bytes, except slots, lines
    and `event_lines`: the lines of a part that has an event of its own; 0: an image has one."""

    pixels_offset: int
    slot_bytes: int
    slots: int
    first_line_offset: int
    pitch: int
    line_bytes: int
    lines: int
    records_offset: int
    event_lines: int = 0


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """Holds a named value of a dataset or a calibration, as JSON; lists of files may be long."""

    name: str
    value: str


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """Describes the dataset of an emulator: kind and parameters of the table [dataset]. A receiver without another calibration also gets it, to find the
    calibration of the dataset. Frames never travel in a telegram: the node loads or makes them."""

    kind: str
    parameters: tuple[Parameter, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """Describes where a receiver finds pedestal and gain of the detector's modules: keys of the table [detector.calibration]."""

    parameters: tuple[Parameter, ...] = ()


@dataclass(frozen=True, kw_only=True)
class DeadModule:
    """Describes a module that sends nothing from frame number `from_frame` on."""

    module: int
    from_frame: int


@dataclass(frozen=True, kw_only=True)
class Faults:
    """Describes the faults that the emulator injects: `keys` are those of [faults]. Probabilities are for each packet; that of stall is for each
    image of a DTP."""

    seed: int = 0
    keys: FaultsKeys = field(default=FaultsKeys(), metadata={KEYS: FaultsKeys})
    dead_modules: tuple[DeadModule, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Neighbour:
    """Holds the MAC address to which packets for a receiver's IP address are sent."""

    address: str
    mac: str


@dataclass(frozen=True, kw_only=True)
class Card:
    """Describes the card that plays an emulator's DTPs. `directory`: the folder of its device files, which the node must have been started with;
    "sim" for a card that the node simulates. A card in a network needs MAC addresses."""

    directory: str
    mac: str = ""
    neighbours: tuple[Neighbour, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Reduction:
    """Describes how the emulator reduces the images of a DTP before it sends them: `keys` are those of [buffer.reduction]. Counts are `least` … `most`,
    and greater ones become `saturated`; float32 pixels ignore all three. `offset`: the file of the module's offset image, empty without one."""

    keys: ReductionKeys = field(default=ReductionKeys(), metadata={KEYS: ReductionKeys})
    least: int = 0
    most: int = 0
    saturated: int = 0
    offset: str = ""


@dataclass(frozen=True, kw_only=True)
class SourceDtp:
    """Describes a DTP at the emulator: a region of a module, rotated by the emulator (data/geometry/orientation.py), a time slice, its destination,
    the links of both ends, and the reduction of the region. The placement is that of the reduced image."""

    id: int
    module: int
    x: int
    y: int
    width: int
    height: int
    every: int = 1
    phase: int = 0
    images: int
    placement: Placement
    destination: Endpoint
    turn: int = 0
    flip: bool = False
    link: str = "roce"
    peer_link: str = "roce"
    reduction: Reduction | None = None


@dataclass(frozen=True, kw_only=True)
class GroupMember:
    """Describes a receiver of a group: the stack of its buffer, and the ids of the DTPs that send it an image."""

    name: str
    stack: int
    dtps: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Group:
    """Describes receivers among which images are dealt, each image to one of them. `replay_frames`: the number of latest frames that can be sent
    again; `keys`: those of [[group]]."""

    name: str
    replay_frames: int
    keys: GroupKeys = field(default=GroupKeys(), metadata={KEYS: GroupKeys})
    members: tuple[GroupMember, ...]


@dataclass(frozen=True, kw_only=True)
class Source:
    """Describes the whole task of an emulator. `emulator`: its name in the run file. `options`: options of each link that its DTPs use. `modules`:
    number of modules of the whole detector. `card`: None when threads play the DTPs. `end`: "told" when at most `frames` are played, and Stop gives
    the number. `run`: keys of [run]."""

    bind_address: str = "127.0.0.1"
    frames: int
    modules: int
    width: int
    height: int
    pixel: str = "uint16"
    rate_hz: float = 0.0
    flow: str = "credits"
    on_full: str = "pause"
    first_processor: int = -1
    dataset: Dataset
    faults: Faults = Faults()
    dtps: tuple[SourceDtp, ...]
    options: tuple[LinkOptions, ...] = field(metadata={PART: "LinkOptions"})
    emulator: str = "emulator"
    card: Card | None = None
    end: str = "known"
    trigger: str = "internal"
    groups: tuple[Group, ...] = ()
    numa: str = "auto"
    run: RunKeys = field(default=RunKeys(), metadata={KEYS: RunKeys})


@dataclass(frozen=True, kw_only=True)
class DestinationDtp:
    """Describes a DTP at the receiver: pixels (x, y, width, height) of the buffer's image, from (source_x, source_y) of the rotated module."""

    id: int
    module: int = 0
    x: int = 0
    y: int = 0
    width: int
    height: int
    source_x: int = 0
    source_y: int = 0
    turn: int = 0
    flip: bool = False

    @property
    def orientation(self) -> Orientation:
        """Return turn and flip as one orientation."""
        return Orientation(self.turn, self.flip)


@dataclass(frozen=True, kw_only=True)
class BadRegion:
    """Describes a rectangle of the buffer's image with bad pixels in every image."""

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, kw_only=True)
class SpecialValue:
    """Describes a value of the detector's pixels that is no count."""

    value: int
    meaning: str


@dataclass(frozen=True, kw_only=True)
class Feedback:
    """Describes where a buffer publishes its decisions: the name of a ring and its number of images, and the endpoint of a ZeroMQ socket. An empty
    text means none."""

    ring: str
    zmq: str
    images: int


@dataclass(frozen=True, kw_only=True)
class Buffer:
    """Describes a RASHPA buffer with its pipeline and sinks. `end`: "known" when `images` are due, "told" when that is the maximum and Stop gives the
    number. `dealt`: True when it is one of several among which images are dealt; records then name their frames. `quiet_ms`: how long an incomplete
    stack waits for images that were not sent while its sources may wait for its slots; 0: until the end. `masked`: the pixels that hold no count, as
    the run file describes them. `keys`: those of [[buffer]] that the receiver implements."""

    name: str
    width: int
    height: int
    pixel: str = "uint16"
    keys: BufferKeys = field(default=BufferKeys(), metadata={KEYS: BufferKeys})
    images: int
    device: str = "0"
    dtps: tuple[DestinationDtp, ...]
    kernels: tuple[Kernel, ...] = field(default=(), metadata={PART: "Kernel"})
    sinks: tuple[SinkOrder, ...] = field(default=(), metadata={PART: "Sink"})
    special: tuple[SpecialValue, ...] = ()
    bad: tuple[BadRegion, ...] = ()
    end: str = "known"
    feedback: Feedback | None = None
    dealt: bool = False
    card: str = ""
    quiet_ms: int = 0
    masked: str = "delivered"


@dataclass(frozen=True, kw_only=True)
class Destination:
    """Describes the whole task of a receiver. `receiver`: its name in the run file. `modules`, `module_width`, `module_height`: the shape of the
    calibration, by default that of the DTPs. `peer_link`: the emulators' link, by default its own. `port`: 0 for any free one; the answer names it."""

    receiver: str = "receiver"
    peer_link: str = ""
    bind_address: str = "127.0.0.1"
    port: int = 0
    link_threads: int = 1
    flow: str = "credits"
    poll: str = "event"
    memory: str = "huge"
    first_processor: int = -1
    modules: int = 0
    module_width: int = 0
    module_height: int = 0
    dataset: Dataset = Dataset(kind="pattern")
    buffers: tuple[Buffer, ...]
    options: LinkOptions = field(default=default_options("roce"), metadata={PART: "LinkOptions"})
    numa: str = "auto"
    calibration: Calibration | None = None

    def __post_init__(self) -> None:
        """Set missing values: the other end has the same link, and the detector has the modules that the DTPs name."""
        dtps = [dtp for buffer in self.buffers for dtp in buffer.dtps]
        sides = [dtp.orientation.sides(dtp.source_x + dtp.width, dtp.source_y + dtp.height) for dtp in dtps]
        derived = {
            "peer_link": self.options.kind,
            "modules": max((dtp.module + 1 for dtp in dtps), default=1),
            "module_width": max((width for width, _ in sides), default=1),
            "module_height": max((height for _, height in sides), default=1),
        }
        for name, value in derived.items():
            if not getattr(self, name):
                object.__setattr__(self, name, value)

    @property
    def link(self) -> str:
        """Return the kind of link of this destination."""
        return self.options.kind


@dataclass(frozen=True, kw_only=True)
class DtpEnd:
    """Describes the end of a DTP: images with an index below `images` were due, and no others."""

    dtp: int
    images: int
