# SPDX-License-Identifier: Apache-2.0
"""Defines the orders to a node, in the order of a run, and the two answers that return addresses and memory."""

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
    """Holds the common fields of orders. `owner`: a secret of the manager that claimed the node for its run; empty without an owner. A node with an
    owner accepts orders only from its owner."""

    owner: str = ""


@dataclass(frozen=True, kw_only=True)
class Claim(Order):
    """Makes `owner` the owner of an idle node without an owner; `holder` is the owner's name for others. Ownership lasts until Reset, or until the
    owner was silent for the node's lease. When the owner sends it again, another process of the same owner has taken over the run; `holder`
    names that process."""

    holder: str


@dataclass(frozen=True, kw_only=True)
class Orphaned:
    """Tells a node what to do when its owner has died: continue to the end of the run, which is reached when nothing has happened for `quiet_s`
    seconds, and keep the books for `keep_s` seconds."""

    quiet_s: float
    keep_s: float


@dataclass(frozen=True, kw_only=True)
class Configure(Order):
    """Gives a node its part of a run: `source` to an emulator, `destination` to a receiver. It claims a node without an owner. `orphaned`: when
    absent, the run ends when its owner has died."""

    run: int = 1
    name: str = "run"
    source: Source | None = None
    destination: Destination | None = None
    orphaned: Orphaned | None = None


@dataclass(frozen=True, kw_only=True)
class Configured:
    """Answers Configure when a node has allocated memory, sockets and files. It has one endpoint for each DTP, in order; only receivers add
    placements."""

    node: str
    endpoints: tuple[Endpoint, ...] = ()
    placements: tuple[Placement, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Arm(Order):
    """Gives a receiver the endpoints of the sources of its DTPs, in order; an emulator needs none."""

    endpoints: tuple[Endpoint, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Start(Order):
    """Makes a receiver listen, or an emulator send."""


@dataclass(frozen=True, kw_only=True)
class Pause(Order):
    """Makes an emulator stop sending between two frames, the same for all its DTPs and groups. It stops before `frame`, or after the latest frame
    that a DTP has begun, whichever is later."""

    frame: int = 0


@dataclass(frozen=True, kw_only=True)
class HoldDeadlines(Order):
    """Makes a receiver suspend the deadlines of images, or enforce them again. It is used while sources, one after the other, get the order to pause
    or to end. Stop enforces them again at the latest."""

    held: bool


@dataclass(frozen=True, kw_only=True)
class SetLimits(Order):
    """Changes the limits of a veto in a receiver's buffer from the next stack on. `number`: the number of the kernel in the buffer's list, from 0;
    `kernel`: the same kernel with new values of parameters that may change; `by`: the user who asks, for people. The BufferStatus in the answer has
    the change, with its first image."""

    buffer: str
    number: int
    by: str = ""
    kernel: Kernel = field(metadata={PART: "Kernel"})


@dataclass(frozen=True, kw_only=True)
class Resume(Order):
    """Makes a paused emulator continue. `rate_hz`: the new frame rate, 0 for the old one. A card keeps its rate, and refuses another."""

    rate_hz: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Stop(Order):
    """Ends a run in order. An emulator stops sending; a receiver expects no more images and closes open ones. `ends`: for buffers with an open end;
    other buffers end with their last image. `frames`: a paused emulator continues until it has played this number; with 0 it ends at its present
    frame."""

    ends: tuple[DtpEnd, ...] = ()
    frames: int = 0


@dataclass(frozen=True, kw_only=True)
class Join(Order):
    """Adds a member with its own DTPs to a group of an emulator, over links that the emulator already has. The member gets no images until Feed. The
    answer, Configured, has the endpoints of these DTPs."""

    group: str
    member: GroupMember
    dtps: tuple[SourceDtp, ...]


@dataclass(frozen=True, kw_only=True)
class Resend(Order):
    """Makes an emulator give up a member of a group: its images from `image` on are dealt to others, if they are still in the replay window."""

    group: str
    member: str
    image: int


@dataclass(frozen=True, kw_only=True)
class Feed(Order):
    """Makes an emulator begin or stop giving images to a member of a group. The member keeps the images that it has."""

    group: str
    member: str
    fed: bool


@dataclass(frozen=True, kw_only=True)
class Abort(Order):
    """Ends a run at once: open images count as missing, files are completed. `force`: accept the order for a node of any owner."""

    force: bool = False


@dataclass(frozen=True, kw_only=True)
class Reset(Order):
    """Releases everything that a run holds; afterwards the node is idle and has no owner. `force`: accept the order for a node of any owner."""

    force: bool = False


@dataclass(frozen=True, kw_only=True)
class Trigger:
    """Makes an emulator that waits for triggers take `frames` more frames. Any sender with the node's token may send it. The node refuses it while
    frames of the previous trigger are not sent."""

    frames: int = 1


@dataclass(frozen=True, kw_only=True)
class GetStatus(Order):
    """Asks a node for its state and counters. From the owner, it also renews the lease."""
