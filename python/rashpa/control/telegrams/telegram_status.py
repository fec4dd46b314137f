# SPDX-License-Identifier: Apache-2.0
"""What a node says of itself: state, counters and books of its part of a run; what has happened; why a telegram was not obeyed."""

from dataclasses import dataclass, field

REPLAYED = ("expected", "made", "missing", "errored")
"""Of the images of a stored run that is played, as rashpa.data.base.books counts them."""


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
    """What the emulator counts of one DTP. `images_due`: that had their turn, whether sent, skipped or withheld;
    `credits_refused`: packets that came to the place of its credits and were none, and words that cannot be credits."""

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
class ConsumerStatus:
    """Somebody whom a sink sends images to: `endpoint`, what it connects to; `connected`, how many are; `sent`, images that its queue has taken;
    `missed`, those for which it had no room, or that came while nobody was there (of pub: how often a client had no room)."""

    endpoint: str
    connected: int
    sent: int
    missed: int


@dataclass(frozen=True)
class SinkStatus:
    """The books of one sink: accepted = written + dropped + errored + waiting, and nothing waits at the end. `accepted`: images that it was to
    keep; `first`: the lowest that it has not got; `error`: the first one; `consumers`: whom it sends to; `restarts`: times that the process which
    sends to them has died, and another one came."""

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


@dataclass(frozen=True)
class FeedbackStatus:
    """What a buffer has published. `ring`: the file, `zmq`: the endpoint to connect to; empty: not there. `sent`: of the published images, given to
    ZeroMQ; `dropped`: never, as the process that publishes was behind; `full`: times that a subscriber had no room and began to lose images;
    `restarts`: times that this process has died, and another one came."""

    ring: str
    zmq: str
    published: int
    sent: int
    dropped: int
    full: int
    restarts: int = 0


@dataclass(frozen=True)
class BufferStatus:
    """What the receiver counts of one buffer; counts: groups `veto` and `error`, images by reason. `unit`: how it works, in words. `to_write`:
    images whose slots a sink holds, or the unit, of `slots` in all (0: not told). `file`: the master on the receiver's machine; empty: none. `busy`: the step that has been at work on one image for long, in words; empty: none. `bytes_written`: of written images before compression, `bytes_stored`: what went to storage;
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
    file: str = ""
    busy: str = ""


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
    for triggers, `dataset` (REPLAYED) where it plays a stored run and, of what a card has counted, `card`. `rate_hz`: frames a
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


@dataclass(frozen=True)
class Notify:
    """Something that happened on a node: what = overrun | incomplete | finished | fault."""

    node: str
    what: str
    text: str


@dataclass(frozen=True)
class Status:
    """State and counters of a node, and what has happened since it was configured. Also the answer to every order. `holder`: whose it is.
    `prepared`: while it is configured, the share of its dataset that lies in memory."""

    node: str
    role: str
    state: str
    message: str = ""
    holder: str = ""
    source: SourceStatus | None = None
    destination: DestinationStatus | None = None
    notifications: tuple[Notify, ...] = field(default=())
    prepared: float = 0.0


@dataclass(frozen=True)
class Fault:
    """The answer to a telegram that was not obeyed: which node, in which state, code (telegram | state | config | resource | file | deadline |
    denied | internal), and what to try."""

    node: str
    state: str
    code: str
    text: str


def count_of(counts: tuple[Count, ...], group: str) -> dict[str, int]:
    """The counters of one group by name."""
    return {count.name: count.value for count in counts if count.group == group}
