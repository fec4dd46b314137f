# SPDX-License-Identifier: Apache-2.0
"""The orders to a node, in the order of a run, and the two answers that bring addresses and memory."""

from dataclasses import dataclass, field

from rashpa.control.runfile.kernels import Kernel
from rashpa.control.telegrams.telegram_plan import (
    PART,
    Destination,
    DtpEnd,
    Endpoint,
    GroupMember,
    Placement,
    Source,
    SourceDtp,
)


@dataclass(frozen=True, kw_only=True)
class Order:
    """The common part of orders. `owner`: a secret of the manager that claimed the node for its run; empty: no owner. A node with an owner obeys its owner
    alone."""

    owner: str = ""


@dataclass(frozen=True, kw_only=True)
class Claim(Order):
    """Makes `owner` the owner of an idle node without an owner; `holder` is the owner's name for others. It stays so until Reset, or until the owner was
    silent for the node's lease. From the owner itself: another process of the same owner has taken the run over, and `holder` names it."""

    holder: str


@dataclass(frozen=True, kw_only=True)
class Orphaned:
    """The order to a node for the case that its owner is gone: it goes on to the end of the run, which has come when nothing has happened for `quiet_s`, and
    keeps the books for `keep_s`."""

    quiet_s: float
    keep_s: float


@dataclass(frozen=True, kw_only=True)
class Configure(Order):
    """Gives a node its part of a run: `source` to an emulator, `destination` to a receiver. It claims a node without an owner. `orphaned`: absent, the run
    ends when the owner is gone."""

    run: int = 1
    name: str = "run"
    source: Source | None = None
    destination: Destination | None = None
    orphaned: Orphaned | None = None


@dataclass(frozen=True, kw_only=True)
class Configured:
    """The answer of a node that has taken memory, sockets and files. One endpoint per DTP in order; placements from receivers only."""

    node: str
    endpoints: tuple[Endpoint, ...] = ()
    placements: tuple[Placement, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Arm(Order):
    """Tells a receiver the sources of its DTPs, in order; an emulator needs none."""

    endpoints: tuple[Endpoint, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Start(Order):
    """Makes a receiver listen, and an emulator send."""


@dataclass(frozen=True, kw_only=True)
class Pause(Order):
    """Makes an emulator stop sending between two frames, which are the same for all its DTPs and groups. It stops before `frame`, or after the latest frame that a DTP has begun, whichever is later."""

    frame: int = 0


@dataclass(frozen=True, kw_only=True)
class HoldDeadlines(Order):
    """Makes a receiver hold the deadlines of images, or let them pass again: its sources get the order to pause or to end, one after the other. Stop ends it at
    the latest."""

    held: bool


@dataclass(frozen=True, kw_only=True)
class SetLimits(Order):
    """Gives a veto of a receiver's buffer other limits from the next stack on. `number`: of the kernel in the buffer's list, from 0; `kernel`: the same with
    other values of parameters that may change; `by`: the requester, for people. The answer's BufferStatus has the change, with its first image."""

    buffer: str
    number: int
    by: str = ""
    kernel: Kernel = field(metadata={PART: "Kernel"})


@dataclass(frozen=True, kw_only=True)
class Resume(Order):
    """Makes an emulator go on. `rate_hz`: the frames a second from now on; 0: as before. A card keeps its rate, and refuses another."""

    rate_hz: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Stop(Order):
    """Ends a run in order. An emulator stops sending; a receiver expects no more images and closes those that are open. `ends`: for buffers whose end is open until now; others end with the last arrival. `frames`: a paused emulator that gets its end goes on until it has played this number; 0: it ends
    where it is."""

    ends: tuple[DtpEnd, ...] = ()
    frames: int = 0


@dataclass(frozen=True, kw_only=True)
class Join(Order):
    """Adds a member with DTPs of its own to a group of an emulator, by links that it has already. The member gets no images until Feed. The answer,
    Configured, has the endpoints of these DTPs."""

    group: str
    member: GroupMember
    dtps: tuple[SourceDtp, ...]


@dataclass(frozen=True, kw_only=True)
class Resend(Order):
    """Makes an emulator give up a member of a group: its images from `image` on are dealt to others, as far as the window reaches."""

    group: str
    member: str
    image: int


@dataclass(frozen=True, kw_only=True)
class Feed(Order):
    """Makes an emulator give images to a member of a group, or stop it. The member keeps its images."""

    group: str
    member: str
    fed: bool


@dataclass(frozen=True, kw_only=True)
class Abort(Order):
    """Ends a run at once: open images count as missing, files are completed. `force`: for any owner of the node."""

    force: bool = False


@dataclass(frozen=True, kw_only=True)
class Reset(Order):
    """Frees everything that a run holds; afterwards the node is idle, and has no owner. `force`: for any owner."""

    force: bool = False


@dataclass(frozen=True, kw_only=True)
class Trigger:
    """Lets an emulator that waits for triggers take `frames` more frames. Any sender with the node's token may give it. The node refuses it while frames of
    the trigger before are not sent."""

    frames: int = 1


@dataclass(frozen=True, kw_only=True)
class GetStatus(Order):
    """Asks a node for its state and counters; from its owner, it also renews the lease."""
