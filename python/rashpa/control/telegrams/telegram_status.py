# SPDX-License-Identifier: Apache-2.0
"""Defines the status of a node (state, counters and books of its part of a run), events, and faults that refuse a telegram."""

from dataclasses import dataclass, field

REPLAYED = ("expected", "made", "missing", "errored")
"""The counters of a replayed run's images, as in rashpa.data.base.books."""


@dataclass(frozen=True, kw_only=True)
class Books:
    """Holds the counts of images that must balance (docs/explanations/books.md)."""

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
        """Return the number of images that have arrived completely or in part."""
        return self.complete + self.partial

    @property
    def decided(self) -> int:
        """Return the number of images with a known completeness."""
        return self.complete + self.partial + self.missing

    @property
    def balanced(self) -> bool:
        """Return True when expected = arrived + missing, arrived = accepted + vetoed + errored, and accepted = written. Partial images are decided
        like complete ones."""
        return (
            self.expected == self.arrived + self.missing
            and self.arrived == self.accepted + self.vetoed + self.errored
            and self.accepted == self.written
        )

    def __add__(self, other: "Books") -> "Books":
        return Books(
            expected=self.expected + other.expected,
            complete=self.complete + other.complete,
            partial=self.partial + other.partial,
            missing=self.missing + other.missing,
            accepted=self.accepted + other.accepted,
            vetoed=self.vetoed + other.vetoed,
            errored=self.errored + other.errored,
            written=self.written + other.written,
        )


@dataclass(frozen=True, kw_only=True)
class Count:
    """Holds a counter of the node. `group`: its kind, such as link, injector, vetoes, errors or losses."""

    group: str
    name: str
    value: int


@dataclass(frozen=True, kw_only=True)
class Latency:
    """Holds the latencies of one stage, in microseconds. `below`: the number below each of the bounds of `latency`; empty when unknown."""

    stage: str
    count: int
    p50: float
    p99: float
    max: float
    sum: float = 0.0
    below: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SourceDtpStatus:
    """Holds the emulator's counters of one DTP. `images_due`: images that had their turn, whether sent, skipped or withheld; `credits_refused`:
    packets at the place of its credits that were none, and values that cannot be credits; `part_events`: events of parts that are not the last of
    their image."""

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
    credits_refused: int = 0
    part_events: int = 0


@dataclass(frozen=True, kw_only=True)
class DestinationDtpStatus:
    """Holds the receiver's counters of one DTP. `counts`: group `loss`, images by cause."""

    id: int
    module: int
    expected: int
    complete: int
    partial: int
    missing: int
    lines_missing: int
    counts: tuple[Count, ...] = ()


@dataclass(frozen=True, kw_only=True)
class FirstErrored:
    """Describes the lowest image of a buffer that is errored, or that a sink has not received. `reason`: unit | overwritten | storage | dropped;
    `text`: the first reported error."""

    index: int
    frame: int
    reason: str
    text: str


@dataclass(frozen=True, kw_only=True)
class ConsumerStatus:
    """Describes a consumer to which a sink sends images. `endpoint`: the address to which it connects; `connected`: the number of connections;
    `sent`: images that its queue has accepted. `missed`: images that did not fit into its queue, or came without a connection (with pub: how often a
    client's queue was full)."""

    endpoint: str
    connected: int
    sent: int
    missed: int


@dataclass(frozen=True, kw_only=True)
class SinkStatus:
    """Holds the books of one sink: accepted = written + dropped + errored + waiting, and nothing waits at the end. `accepted`: images that it should
    store; `first`: the lowest image that it has not stored; `error`: the first error; `consumers`: the programs to which it sends; `restarts`: how
    often its sending process died and was replaced."""

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
    consumers: tuple[ConsumerStatus, ...] = ()
    restarts: int = 0


@dataclass(frozen=True, kw_only=True)
class FeedbackStatus:
    """Describes the published decisions of a buffer. `ring`: the file, `zmq`: the endpoint to connect to; either is empty when not used. `sent`:
    published images given to ZeroMQ; `dropped`: published images not given to ZeroMQ, because the publishing process was behind. `full`: how often a
    subscriber's queue was full and it began to lose images; `restarts`: how often that process died and was replaced."""

    ring: str
    zmq: str
    published: int
    sent: int
    dropped: int
    full: int
    restarts: int = 0


@dataclass(frozen=True, kw_only=True)
class LimitChange:
    """Describes a change of a veto's limit during the run. `time_ns`: UTC since 1970; `number`: the number of the kernel in the buffer's list;
    `step`: the reason of the veto, or the kernel's name. `old`, `new`: values of the parameter `key`, as JSON; `first_image`: index of the first
    image with the new value."""

    time_ns: int
    number: int
    step: str
    key: str
    old: str
    new: str
    first_image: int
    by: str = ""


@dataclass(frozen=True, kw_only=True)
class BufferStatus:
    """Holds the receiver's counters of one buffer. `counts`: groups `veto` and `error`, images by reason. `unit`: a description of its work.
    `to_write`: images in slots that a sink or the unit still needs, of `slots` in all (0 when unknown). `file`: the master on the receiver's machine,
    empty without one. `busy`: the step that has worked on one image for long, as text, otherwise empty. `bytes_written`: uncompressed bytes of
    written images, `bytes_stored`: bytes stored, both over all sinks. Without `end_known`, the books expect the images that are known to be due so
    far. `limits`: changes of limits, in order."""

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
    file: str = ""
    busy: str = ""
    limits: tuple[LimitChange, ...] = ()


@dataclass(frozen=True, kw_only=True)
class MemberStatus:
    """Holds the emulator's counters of a member of a group, in images. `state`: fed | late | held | ejected | broken. `done`: images that it no
    longer needs, by its credits; `taken`: images taken from it, to be dealt again; `resent`: images sent to it that another member had before;
    `duplicates`: images that it finished after another member; `lates`: how often it was late. `silent_ms`: its silence when last noticed;
    `response_ms`: its response time for a stack; `given_ago_ms`: the time since its last image."""

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


@dataclass(frozen=True, kw_only=True)
class GroupStatus:
    """Holds the emulator's counters of a group. `fresh`: images that have been due; `waiting`: images to be dealt again; `lost`: images that had left
    the replay window before that; `skipped`: images that were due while no member had a free slot. `settled`: all images are dealt, and no fed member
    owes a whole stack."""

    name: str
    fresh: int
    waiting: int
    resent: int
    duplicates: int
    lost: int
    skipped: int
    settled: bool
    members: tuple[MemberStatus, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SourceStatus:
    """Holds the status of an emulator, under its name in the run file. `counts`: groups `injected`; `trigger` (accepted, refused, frames released)
    when it waits for triggers; `dataset` (REPLAYED) when it plays a stored run; `card` for a card's counters. `rate_hz`: the ordered frame rate, 0
    when unthrottled. `frames_begun`: the number of frames up to the latest that a DTP has begun."""

    elapsed_s: float
    counts: tuple[Count, ...] = ()
    dtps: tuple[SourceDtpStatus, ...] = ()
    emulator: str = "emulator"
    rate_hz: float = 0.0
    frames_begun: int = 0
    groups: tuple[GroupStatus, ...] = ()


@dataclass(frozen=True, kw_only=True)
class DestinationStatus:
    """Holds the status of a receiver, under its name in the run file. `counts`: group `link`."""

    receiver: str
    elapsed_s: float
    memory: str
    first_incomplete: str
    counts: tuple[Count, ...] = ()
    buffers: tuple[BufferStatus, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Notify:
    """Describes an event on a node: overrun, incomplete, finished or fault, with a text."""

    node: str
    what: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Status:
    """Holds state and counters of a node, and the events since it was configured. It is also the answer to every order. `holder`: the name of its
    owner. `prepared`: during Configure, the share of its dataset that is in memory."""

    node: str
    role: str
    state: str
    message: str = ""
    holder: str = ""
    source: SourceStatus | None = None
    destination: DestinationStatus | None = None
    notifications: tuple[Notify, ...] = field(default=())
    prepared: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Answers a telegram that the node refused: the node, its state, code (telegram | state | config | resource | file | deadline | denied |
    internal), and a text with a remedy."""

    node: str
    state: str
    code: str
    text: str


def count_of(counts: tuple[Count, ...], group: str) -> dict[str, int]:
    """Return the counters of one group by name."""
    return {count.name: count.value for count in counts if count.group == group}
