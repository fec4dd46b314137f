# SPDX-License-Identifier: Apache-2.0
"""What a node is told: the orders of a run in their order, and the two answers that bring addresses and memory."""

from dataclasses import dataclass, field

from rashpa.control.telegrams.telegram_plan import (
    Destination,
    DtpEnd,
    Endpoint,
    GroupMember,
    Placement,
    Source,
    SourceDtp,
)


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
class HoldDeadlines(Order):
    """Whether a receiver lets no deadline of an image pass: its sources are told to pause or to end, one after the other. Until Stop at the latest."""

    held: bool


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
