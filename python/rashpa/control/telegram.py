# SPDX-License-Identifier: Apache-2.0
"""The telegrams as frozen dataclasses; `telegram_xml` turns them into XML and back (schema/telegram.xsd).

A class is an element, a field of a plain type is an attribute of the same name, a tuple of numbers or names is a list in one attribute, a
field that holds a telegram part is a child element (absent when None), a tuple of parts is a sequence of child elements. What the run file has
models for is held as such (`PART`): kernels, sinks, options of a link; `part_xml` makes elements of them.

One file of more than 500 lines on purpose: it is read beside the one schema, class by class, and holds no logic.
"""

from dataclasses import dataclass, field

from rashpa.control.kernels import Kernel
from rashpa.control.links import LinkOptions
from rashpa.control.part_orders import SinkOrder
from rashpa.data.orientation import Orientation

VERSION = 2
NAMESPACE = "urn:rashpa:telegram:2"


PART = "part"
"""Key in the metadata of a field that holds parts of the run file: the element around each."""


# ---- parts: addresses and memory ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Endpoint:
    """One end of one queue pair; DTPs in the order of the Configure telegram. With pcie `address` is the receiver's control block,
    /proc/<process>/fd/<file>, and `qpn` the DTP's position."""

    address: str
    port: int
    qpn: int
    rkey: int
    credit_offset: int
    window_bytes: int = 0
    psn: int = 0


@dataclass(frozen=True)
class Placement:
    """Where a DTP's lines and records lie in the destination's registered memory; bytes, except slots and lines."""

    pixels_offset: int
    slot_bytes: int
    slots: int
    first_line_offset: int
    pitch: int
    line_bytes: int
    lines: int
    records_offset: int


@dataclass(frozen=True)
class Parameter:
    """A named value of a dataset, whose lists of files may be long; the value is JSON."""

    name: str
    value: str


@dataclass(frozen=True)
class Dataset:
    """What an emulator plays, and where a receiver finds the calibration that belongs to it: kind and parameters of a run file's [dataset].
    Big data never travels in a telegram: the node loads or makes them."""

    kind: str
    parameters: tuple[Parameter, ...] = ()


@dataclass(frozen=True)
class DeadModule:
    """From frame number `from_frame` on the module sends nothing."""

    module: int
    from_frame: int


@dataclass(frozen=True)
class Faults:
    """What the emulator injects. Probabilities are per packet (stall: per image of a DTP)."""

    seed: int = 0
    drop: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    corrupt: float = 0.0
    stall: float = 0.0
    stall_us: int = 0
    dead_modules: tuple[DeadModule, ...] = ()


@dataclass(frozen=True)
class Neighbour:
    """The MAC address that packets to a receiver's IP address go to."""

    address: str
    mac: str


@dataclass(frozen=True)
class Card:
    """The card that plays an emulator's DTPs. `directory`: of its nodes, which the node must have been started for; "sim": one that the node
    simulates. One in a network needs MAC addresses."""

    directory: str
    mac: str = ""
    neighbours: tuple[Neighbour, ...] = ()


# ---- parts: what a node is to do ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SourceDtp:
    """One DTP as the emulator sees it: a region of a module, which it has turned (data/orientation.py), a time slice, and where it goes, over
    which link of this side and of the other."""

    id: int
    module: int
    x: int
    y: int
    width: int
    height: int
    every: int
    phase: int
    images: int
    placement: Placement
    destination: Endpoint
    turn: int = 0
    flip: bool = False
    link: str = "roce"
    peer_link: str = "roce"


@dataclass(frozen=True)
class GroupMember:
    """A receiver of a group: the stack of its buffer, and the ids of the DTPs that bring it an image."""

    name: str
    stack: int
    dtps: tuple[int, ...]


@dataclass(frozen=True)
class Group:
    """Receivers among which images are dealt, each to one of them. `replay_frames`: behind the newest one, that can be sent again; `response_ms`: the
    longest silence of a member that owes something."""

    name: str
    replay_frames: int
    response_ms: int
    members: tuple[GroupMember, ...]


@dataclass(frozen=True)
class Source:
    """Everything an emulator needs. `emulator`: what the run file calls it. `options`: of each link that its DTPs take. `modules`: of the whole detector.
    `card`: none where threads play the DTPs. `end`: "told", `frames` come at most, and Stop says how many."""

    bind_address: str
    frames: int
    modules: int
    width: int
    height: int
    pixel: str
    rate_hz: float
    flow: str
    on_full: str
    first_processor: int
    dataset: Dataset
    faults: Faults
    dtps: tuple[SourceDtp, ...]
    options: tuple[LinkOptions, ...] = field(metadata={PART: "LinkOptions"})
    emulator: str = "emulator"
    card: Card | None = None
    end: str = "known"
    trigger: str = "internal"
    groups: tuple[Group, ...] = ()


@dataclass(frozen=True)
class DestinationDtp:
    """One DTP as the receiver sees it: pixels (x, y, width, height) of the buffer's image, from (source_x, source_y) of the module as it was
    turned."""

    id: int
    module: int
    x: int
    y: int
    width: int
    height: int
    source_x: int
    source_y: int
    turn: int = 0
    flip: bool = False

    @property
    def orientation(self) -> Orientation:
        """Both."""
        return Orientation(self.turn, self.flip)


@dataclass(frozen=True)
class SpecialValue:
    """A value of the detector's pixels that is no count."""

    value: int
    meaning: str


@dataclass(frozen=True)
class Feedback:
    """Where a buffer publishes what it has decided: the name of a ring of so many images, the endpoint of a ZeroMQ socket; empty: not there."""

    ring: str
    zmq: str
    images: int


@dataclass(frozen=True)
class Buffer:
    """A RASHPA buffer with its pipeline and sinks. `end`: "known", `images` are due; "told", at most so many, and Stop says how many. `dealt`: it is one of several
    among which images are dealt, and records tell their frames."""

    name: str
    width: int
    height: int
    pixel: str
    slots: int
    stack: int
    every: int
    phase: int
    images: int
    deadline_ms: int
    partial: str
    keep_darks: bool
    threads: int
    unit: str
    trigger: str
    device: str
    dtps: tuple[DestinationDtp, ...]
    kernels: tuple[Kernel, ...] = field(default=(), metadata={PART: "Kernel"})
    sinks: tuple[SinkOrder, ...] = field(default=(), metadata={PART: "Sink"})
    special: tuple[SpecialValue, ...] = ()
    end: str = "known"
    feedback: Feedback | None = None
    dealt: bool = False


@dataclass(frozen=True)
class Destination:
    """Everything a receiver needs. `receiver`: what the run file calls it. `modules`, `module_width`, `module_height`: the shape of the calibration. `peer_link`: the emulators'."""

    receiver: str
    peer_link: str
    bind_address: str
    port: int
    link_threads: int
    flow: str
    poll: str
    memory: str
    first_processor: int
    modules: int
    module_width: int
    module_height: int
    dataset: Dataset
    buffers: tuple[Buffer, ...]
    options: LinkOptions = field(metadata={PART: "LinkOptions"})

    @property
    def link(self) -> str:
        """Its own."""
        return self.options.kind


@dataclass(frozen=True)
class DtpEnd:
    """Images of a DTP with an index below `images` were due, and no others."""

    dtp: int
    images: int


# ---- parts: what a node says ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Unit:
    """A processing unit that the node has, or could have had: `what` is the device, or why it cannot be used."""

    name: str
    usable: bool
    what: str


@dataclass(frozen=True)
class Link:
    """A link that the node has. `bytes_per_s` of payload that it takes or gives in all; 0: not known, not checked."""

    name: str
    bytes_per_s: int
    pmtus: tuple[int, ...]


@dataclass(frozen=True)
class Interface:
    """A network interface of the machine, with its addresses; `device`: of RDMA, when there is one. `bits_per_s` each way; 0: not known, not
    checked."""

    name: str
    device: str
    bits_per_s: int
    addresses: tuple[str, ...]


@dataclass(frozen=True)
class Throughput:
    """How fast a unit of the node has carried out a pipeline, without link and sinks: images a second of `width` × `height` pixels, the slowest of
    several rounds. `pipeline`: `throughput.fingerprint_of` of a buffer; `what`: in words; `date`: when it was measured."""

    pipeline: str
    what: str
    width: int
    height: int
    images_per_s: float
    date: str


@dataclass(frozen=True)
class Books:
    """The integers that must balance (docs/explanations/books.md)."""

    expected: int = 0
    complete: int = 0
    partial: int = 0
    missing: int = 0
    accepted: int = 0
    vetoed: int = 0
    errored: int = 0
    written: int = 0

    @property
    def arrived(self) -> int:
        """Images of which all or a part has arrived."""
        return self.complete + self.partial

    @property
    def decided(self) -> int:
        """Images of which it is known what has arrived."""
        return self.complete + self.partial + self.missing

    @property
    def balanced(self) -> bool:
        """Expected = arrived + missing, arrived = accepted + vetoed + errored, accepted = written; partial images are decided on like complete ones."""
        return (
            self.expected == self.arrived + self.missing
            and self.arrived == self.accepted + self.vetoed + self.errored
            and self.accepted == self.written
        )

    def __add__(self, other: "Books") -> "Books":
        return Books(
            self.expected + other.expected,
            self.complete + other.complete,
            self.partial + other.partial,
            self.missing + other.missing,
            self.accepted + other.accepted,
            self.vetoed + other.vetoed,
            self.errored + other.errored,
            self.written + other.written,
        )


@dataclass(frozen=True)
class Count:
    """A counter of the node: of the link, of the injector, of vetoes, of errors or of losses, as `group` says."""

    group: str
    name: str
    value: int


@dataclass(frozen=True)
class Latency:
    """Of one stage, in microseconds. `below`: how many took less than each of the bounds of `latency`; empty: not told."""

    stage: str
    count: int
    p50: float
    p99: float
    max: float
    sum: float = 0.0
    below: tuple[int, ...] = ()


@dataclass(frozen=True)
class SourceDtpStatus:
    """What the emulator counts of one DTP. `images_due`: that had their turn, whether sent, skipped or withheld."""

    id: int
    images_sent: int
    images_skipped: int
    payload_bytes: int
    packets: int
    waits: int
    window_timeouts: int
    late_ns: int
    cnps_received: int
    send_errors: int = 0
    acks: int = 0
    naks: int = 0
    rnr_naks: int = 0
    retransmitted_packets: int = 0
    retransmission_timeouts: int = 0
    connection_errors: int = 0
    images_due: int = 0


@dataclass(frozen=True)
class DestinationDtpStatus:
    """What the receiver counts of one DTP; counts: group `loss`, images by cause."""

    id: int
    module: int
    expected: int
    complete: int
    partial: int
    missing: int
    lines_missing: int
    counts: tuple[Count, ...] = ()


@dataclass(frozen=True)
class FirstErrored:
    """The lowest image of a buffer that is errored, or that a sink has not got; reason = unit | overwritten | storage | dropped, `text`: the
    first error that was told of."""

    index: int
    frame: int
    reason: str
    text: str


@dataclass(frozen=True)
class SinkStatus:
    """The books of one sink: accepted = written + dropped + errored + waiting, and nothing waits at the end. `accepted`: images that it was to
    keep; `first`: the lowest that it has not got; `error`: the first one."""

    name: str
    on_full: str
    accepted: int
    written: int
    dropped: int
    errored: int
    waiting: int
    bytes_written: int
    bytes_stored: int
    error: str
    first: FirstErrored | None = None


@dataclass(frozen=True)
class FeedbackStatus:
    """What a buffer has published. `ring`: the file, `zmq`: the endpoint to connect to; empty: not there. `sent`: of the published images, given to
    ZeroMQ; `dropped`: never, as its thread was behind; `full`: times that a subscriber had no room and began to lose images."""

    ring: str
    zmq: str
    published: int
    sent: int
    dropped: int
    full: int


@dataclass(frozen=True)
class BufferStatus:
    """What the receiver counts of one buffer; counts: groups `veto` and `error`, images by reason. `unit`: how it works, in words. `to_write`:
    images whose slots a sink holds, or the unit, of `slots` in all (0: not told). `bytes_written`: of written images before compression, `bytes_stored`: what went to storage;
    over all sinks. Without `end_known` the books expect what is known to be due so far."""

    name: str
    sink_error: str
    unit: str
    unit_error: str
    bytes_written: int
    bytes_stored: int
    books: Books
    counts: tuple[Count, ...] = ()
    latencies: tuple[Latency, ...] = ()
    dtps: tuple[DestinationDtpStatus, ...] = ()
    to_write: int = 0
    first_errored: FirstErrored | None = None
    sinks: tuple[SinkStatus, ...] = ()
    slots: int = 0
    end_known: bool = True
    feedback: FeedbackStatus | None = None


@dataclass(frozen=True)
class MemberStatus:
    """What the emulator knows of a member of a group, in images. state = fed | late | held | ejected | broken; `done`: that its credits say it needs no
    more; `taken`: from it, to be dealt again; `resent`: to it, that another had before; `duplicates`: that it was done with after another; `lates`: how often
    it was late; `silent_ms`: how long it had been silent when that was noticed last; `response_ms`: of a stack; `given_ago_ms`: since it was given an image."""

    name: str
    state: str
    dealt: int
    done: int
    taken: int
    resent: int
    duplicates: int
    lates: int
    response_ms: float
    silent_ms: float
    given_ago_ms: float = 0.0


@dataclass(frozen=True)
class GroupStatus:
    """What the emulator counts of a group. `fresh`: images that have been due; `waiting`: that are to be dealt again; `lost`: that had left the window when
    they should have been; `skipped`: due while nobody had a free slot; `settled`: all is dealt, and no member that is fed owes a whole stack."""

    name: str
    fresh: int
    waiting: int
    resent: int
    duplicates: int
    lost: int
    skipped: int
    settled: bool
    members: tuple[MemberStatus, ...] = ()


@dataclass(frozen=True)
class SourceStatus:
    """Of an emulator, under the run file's name for it; counts: groups `injected`, `trigger` (accepted, refused, frames let through) where it waits
    for triggers and, of what a card has counted, `card`. `rate_hz`: frames a
    second that it was told; 0: as fast as it goes. `frames_begun`: up to the latest that a DTP has begun."""

    elapsed_s: float
    counts: tuple[Count, ...] = ()
    dtps: tuple[SourceDtpStatus, ...] = ()
    emulator: str = "emulator"
    rate_hz: float = 0.0
    frames_begun: int = 0
    groups: tuple[GroupStatus, ...] = ()


@dataclass(frozen=True)
class DestinationStatus:
    """Of a receiver, under the run file's name for it; counts: group `link`."""

    receiver: str
    elapsed_s: float
    memory: str
    first_incomplete: str
    counts: tuple[Count, ...] = ()
    buffers: tuple[BufferStatus, ...] = ()


# ---- telegrams ------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GetCapabilities:
    """Asks a node what it can do."""


@dataclass(frozen=True)
class Capabilities:
    """What a node can do. `memory_bytes` is free now; `max_dtps` is the largest number of DTPs; `throughputs` are of this hardware and software."""

    node: str
    role: str
    software: str
    processors: int
    memory_bytes: int
    max_dtps: int
    pixels: tuple[str, ...]
    kernels: tuple[str, ...]
    sinks: tuple[str, ...]
    links: tuple[Link, ...]
    units: tuple[Unit, ...] = ()
    interfaces: tuple[Interface, ...] = ()
    throughputs: tuple[Throughput, ...] = ()


@dataclass(frozen=True)
class Order:
    """What orders have in common. `owner`: whose run this is, a secret of the manager that claimed the node; empty: nobody's. A node that is
    owned obeys its owner alone."""

    owner: str = field(default="", kw_only=True)


@dataclass(frozen=True)
class Claim(Order):
    """Makes the node the owner's, when it is idle or nobody's; `holder` says to others whose it is. It stays so until Reset, or until nothing
    was heard of the owner for the node's lease. Of the owner itself: another process of his has taken the run over, as `holder` says."""

    holder: str


@dataclass(frozen=True)
class Orphaned:
    """What a node does when its owner is gone: it goes on to the end of the run, which has come when nothing has happened for `quiet_s`, and keeps
    the books for `keep_s`."""

    quiet_s: float
    keep_s: float


@dataclass(frozen=True)
class Configure(Order):
    """Gives a node its part of a run: `source` to an emulator, `destination` to a receiver. Claims a node that is nobody's. `orphaned`: absent,
    the run ends when the owner is gone."""

    run: int
    name: str
    source: Source | None = None
    destination: Destination | None = None
    orphaned: Orphaned | None = None


@dataclass(frozen=True)
class Configured:
    """Memory, sockets and files are taken. One endpoint per DTP in order; placements from receivers only."""

    node: str
    endpoints: tuple[Endpoint, ...] = ()
    placements: tuple[Placement, ...] = ()


@dataclass(frozen=True)
class Arm(Order):
    """Tells a receiver who its DTPs come from, in order; an emulator needs none."""

    endpoints: tuple[Endpoint, ...] = ()


@dataclass(frozen=True)
class Start(Order):
    """A receiver listens, an emulator sends."""


@dataclass(frozen=True)
class Pause(Order):
    """An emulator stops sending between two frames, the same for all its DTPs and groups: before `frame`, or behind the foremost that one has begun,
    whichever is later."""

    frame: int = 0


@dataclass(frozen=True)
class Resume(Order):
    """An emulator goes on. `rate_hz`: with so many frames a second from now on; 0: as before. A card keeps its rate, and refuses another."""

    rate_hz: float = 0.0


@dataclass(frozen=True)
class Stop(Order):
    """Orderly end. An emulator stops sending; a receiver is told that nothing more will come and closes what is open. `ends`: for buffers that are
    told their ends, which otherwise end with what has come. `frames`: a paused emulator that is told its end goes on until it has played so
    many; 0: it ends where it is."""

    ends: tuple[DtpEnd, ...] = ()
    frames: int = 0


@dataclass(frozen=True)
class Join(Order):
    """An emulator has one more member in a group, with DTPs of its own, by links that it has already. It is held until Feed says otherwise. The answer,
    Configured, has the endpoints of these DTPs."""

    group: str
    member: GroupMember
    dtps: tuple[SourceDtp, ...]


@dataclass(frozen=True)
class Resend(Order):
    """An emulator gives up a member of a group: what it has from its image `image` on is dealt to others, as far as the window reaches."""

    group: str
    member: str
    image: int


@dataclass(frozen=True)
class Feed(Order):
    """Whether an emulator is to give images to a member of a group. What it has stays its own."""

    group: str
    member: str
    fed: bool


@dataclass(frozen=True)
class Abort(Order):
    """End at once: what is open counts as missing, files are completed. `force`: whoever owns the node."""

    force: bool = False


@dataclass(frozen=True)
class Reset(Order):
    """Gives everything back; the node is idle, and nobody's. `force`: whoever owns it."""

    force: bool = False


@dataclass(frozen=True)
class Trigger:
    """Lets an emulator that waits for triggers take so many more frames. From whoever holds the node's token. Refused while frames of the trigger
    before are not sent."""

    frames: int = 1


@dataclass(frozen=True)
class GetStatus(Order):
    """Asks a node for its state and counters; of its owner, renews the lease."""


@dataclass(frozen=True)
class Notify:
    """Something that happened on a node: what = overrun | incomplete | finished | fault."""

    node: str
    what: str
    text: str


@dataclass(frozen=True)
class Status:
    """State and counters of a node, and what has happened since it was configured. Also the answer to every order. `holder`: whose it is."""

    node: str
    role: str
    state: str
    message: str = ""
    holder: str = ""
    source: SourceStatus | None = None
    destination: DestinationStatus | None = None
    notifications: tuple[Notify, ...] = field(default=())


@dataclass(frozen=True)
class Fault:
    """The answer to a telegram that was not obeyed: which node, in which state, code (telegram | state | config | resource | file | deadline |
    denied | internal), and what to try."""

    node: str
    state: str
    code: str
    text: str


Telegram = (
    GetCapabilities
    | Capabilities
    | Claim
    | Configure
    | Configured
    | Arm
    | Start
    | Pause
    | Resume
    | Stop
    | Join
    | Resend
    | Feed
    | Abort
    | Reset
    | Trigger
    | GetStatus
    | Status
    | Notify
    | Fault
)


def count_of(counts: tuple[Count, ...], group: str) -> dict[str, int]:
    """The counters of one group by name."""
    return {count.name: count.value for count in counts if count.group == group}
