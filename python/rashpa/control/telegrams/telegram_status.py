# SPDX-License-Identifier: Apache-2.0
"""The status of a node: state, counters and books of its part of a run; events; and the reason why a telegram was not obeyed."""

from dataclasses import dataclass, field

REPLAYED = ("expected", "made", "missing", "errored")
"""The counters of a replayed run's images, as in rashpa.data.base.books."""


@dataclass(frozen=True, kw_only=True)
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
        """Return the number of images of which all or a part has arrived."""
        return self.complete + self.partial

    @property
    def decided(self) -> int:
        """Return the number of images with a known completeness."""
        return self.complete + self.partial + self.missing

    @property
    def balanced(self) -> bool:
        """Return True when expected = arrived + missing, arrived = accepted + vetoed + errored, accepted = written; partial images are decided like complete
        ones."""
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
    """A counter of the node: of the link, of the injector, of vetoes, of errors or of losses, as `group` says."""

    group: str
    name: str
    value: int


@dataclass(frozen=True, kw_only=True)
class Latency:
    """The latencies of one stage, in microseconds. `below`: the number below each of the bounds of `latency`; empty: unknown."""

    stage: str
    count: int
    p50: float
    p99: float
    max: float
    sum: float = 0.0
    below: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SourceDtpStatus:
    """The emulator's counters of one DTP. `images_due`: images that had their turn, whether sent, skipped or withheld; `credits_refused`: packets at the
    place of its credits that were none, and words that cannot be credits."""

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


@dataclass(frozen=True, kw_only=True)
class DestinationDtpStatus:
    """The receiver's counters of one DTP; counts: group `loss`, images by cause."""

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
    """The lowest image of a buffer that is errored, or that a sink has not got; reason = unit | overwritten | storage | dropped, `text`: the first reported
    error."""

    index: int
    frame: int
    reason: str
    text: str


@dataclass(frozen=True, kw_only=True)
class ConsumerStatus:
    """A consumer to which a sink sends images: `endpoint`, the address that it connects to; `connected`, the number of connections; `sent`, images that its
    queue has taken; `missed`, images for which it had no room, or that came without a connection (of pub: how often a client had no room)."""

    endpoint: str
    connected: int
    sent: int
    missed: int


@dataclass(frozen=True, kw_only=True)
class SinkStatus:
    """The books of one sink: accepted = written + dropped + errored + waiting, and nothing waits at the end. `accepted`: images that it was to keep; `first`:
    the lowest that it has not got; `error`: the first one; `consumers`: the programs it sends to; `restarts`: times that the process which sends to them
    has died, and another one came."""

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
    """The published decisions of a buffer. `ring`: the file, `zmq`: the endpoint to connect to; empty: not there. `sent`: of the published images, given to
    ZeroMQ; `dropped`: never, as the process that publishes was behind; `full`: times that a subscriber had no room and began to lose images; `restarts`:
    times that this process has died, and another one came."""

    ring: str
    zmq: str
    published: int
    sent: int
    dropped: int
    full: int
    restarts: int = 0


@dataclass(frozen=True, kw_only=True)
class LimitChange:
    """A limit of a veto that changed while the run went on. `time_ns`: UTC since 1970; `number`: of the kernel in the buffer's list; `step`: the reason of
    the veto, or the kernel's name; `old`, `new`: values of the parameter `key`, as JSON; `first_image`: index of the first image that has the new one."""

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
    """The receiver's counters of one buffer; counts: groups `veto` and `error`, images by reason. `unit`: how it works, in words. `to_write`: images whose
    slots a sink or the unit holds, of `slots` in all (0: unknown). `file`: the master on the receiver's machine; empty: none. `busy`: the step that has
    worked on one image for long, in words; empty: none. `bytes_written`: of written images before compression, `bytes_stored`: bytes that went to storage;
    over all sinks. Without `end_known` the books expect the images that are known to be due so far. `limits`: their changes, in order."""

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
    """The emulator's knowledge of a member of a group, in images. state = fed | late | held | ejected | broken. `done`: images that it needs no more, by its
    credits; `taken`: from it, to be dealt again; `resent`: to it, that another had before; `duplicates`: that it finished after another; `lates`: how
    often it was late. `silent_ms`: its silence when that was noticed last; `response_ms`: of a stack; `given_ago_ms`: since its last image."""

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
    """The emulator's counters of a group. `fresh`: images that have been due; `waiting`: images that are to be dealt again; `lost`: images that had left the
    window by then; `skipped`: images that were due while no member had a free slot; `settled`: all is dealt, and no member that is fed owes a whole stack."""

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
    """The status of an emulator, under the run file's name for it; counts: groups `injected`, `trigger` (accepted, refused, frames let through) where it
    waits for triggers, `dataset` (REPLAYED) where it plays a stored run, and `card` for a card's counters. `rate_hz`: the ordered frames a second; 0: as
    fast as it goes. `frames_begun`: up to the latest that a DTP has begun."""

    elapsed_s: float
    counts: tuple[Count, ...] = ()
    dtps: tuple[SourceDtpStatus, ...] = ()
    emulator: str = "emulator"
    rate_hz: float = 0.0
    frames_begun: int = 0
    groups: tuple[GroupStatus, ...] = ()


@dataclass(frozen=True, kw_only=True)
class DestinationStatus:
    """The status of a receiver, under the run file's name for it; counts: group `link`."""

    receiver: str
    elapsed_s: float
    memory: str
    first_incomplete: str
    counts: tuple[Count, ...] = ()
    buffers: tuple[BufferStatus, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Notify:
    """An event on a node: overrun, incomplete, finished or fault, with a text."""

    node: str
    what: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Status:
    """State and counters of a node, and the events since it was configured. Also the answer to every order. `holder`: the name of its owner. `prepared`:
    while it is configured, the share of its dataset that lies in memory."""

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
    """The answer to a telegram that was not obeyed: the node, its state, code (telegram | state | config | resource | file | deadline | denied | internal),
    and a remedy."""

    node: str
    state: str
    code: str
    text: str


def count_of(counts: tuple[Count, ...], group: str) -> dict[str, int]:
    """Return the counters of one group by name."""
    return {count.name: count.value for count in counts if count.group == group}
