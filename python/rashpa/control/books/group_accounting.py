# SPDX-License-Identifier: Apache-2.0
"""Computes the books of a group: each image of the stream counts once, at whichever member it is (docs/explanations/groups.md)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rashpa.control.books.accounting import (
    COMPLETE,
    MISSING,
    OPEN,
    PARTIAL,
    STATE_NAMES,
    BufferAccount,
    Table,
    image_fates,
)
from rashpa.control.nodes.fleet import LostMember
from rashpa.control.nodes.heard import status_of
from rashpa.control.plan.groups import PlannedGroup
from rashpa.control.plan.model import Plan, PlannedBuffer
from rashpa.control.telegrams.telegram import Books, GroupStatus, MemberStatus, SourceStatus, Status

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class MemberAccount:
    """Holds the account of the images that a member was given: `dealt` = complete + partial + missing. `counted`: images of the group that count at
    this member; `duplicates`: images that arrived but count at another member. `lost`: reason and time when the run continued without it. Of a lost
    member, only images count that its credits had confirmed. `joined_s`: seconds of the run when it joined, None for a member from the start."""

    name: str
    buffer: str
    dealt: int
    complete: int
    partial: int
    missing: int
    counted: int
    duplicates: int
    resent: int
    lates: int
    silent_ms: float
    lost: LostMember | None
    joined_s: float | None = None


@dataclass(frozen=True)
class GroupAccount:
    """Holds the account of the images of a group: images = complete + partial + missing. `left_window`: missing images that could not be sent again;
    `skipped`: images for which no member had a free slot."""

    name: str
    images: int
    complete: int
    partial: int
    missing: int
    resent: int
    duplicates: int
    left_window: int
    skipped: int
    unexplained: int
    first_unexplained: str
    members: tuple[MemberAccount, ...]

    @property
    def as_buffer(self) -> BufferAccount:
        """Return the account in the form of a buffer's account, so that it can be added to others."""
        counts = (self.complete, self.partial, self.missing)
        return BufferAccount(f"group {self.name}", *counts, self.unexplained, self.first_unexplained)

    @property
    def cautions(self) -> Iterator[str]:
        """Yield a caution for each member that did not reach the end of the run."""
        for member in self.members:
            if member.lost is not None:
                again = member.dealt - member.lost.done
                yield (
                    f"group {self.name}: the run went on without {member.name} from {member.lost.after_s:.1f} s on ({member.lost.reason}); "
                    f"{member.counted} images count as its own, {again} others that it had been given were due to be sent again"
                )

    @property
    def reasons(self) -> Iterator[str]:
        """Yield the reasons why the account is red."""
        if self.left_window:
            yield (
                f"group {self.name}: {self.left_window} of {self.images} images had left the window of frames that can be sent again when their "
                "receiver was given up; give it more replay_frames"
            )


@dataclass(frozen=True)
class _Copies:
    """Holds the images given to a member: their positions in the stream, their results, and the results that the source's log expects."""

    images: Numbers
    found: Table
    due: Table


def account_groups(
    plan: Plan,
    dealt: Mapping[str, bytes],
    fates: Mapping[int, bytes],
    completeness: Mapping[str, bytes],
    lost: Mapping[str, LostMember],
    sources: Mapping[str, SourceStatus],
    joined: Mapping[str, float],
) -> tuple[GroupAccount, ...]:
    """Return the accounts of all groups, from the nodes' tables by member, DTP and buffer."""
    tables = {dtp: np.frombuffer(table, np.uint8) for dtp, table in fates.items()}
    accounts = []
    for group in plan.groups:
        buffers = {member: plan.buffers_of(member)[0] for member in group.members}
        copies = {
            member: _copies_of(
                buffer,
                np.frombuffer(dealt[member], "<u8"),
                tables,
                completeness.get(buffer.section.name),
                lost.get(member),
            )
            for member, buffer in buffers.items()
        }
        source = sources[plan.emulators_of(group)[0]]
        status = next(known for known in source.groups if known.name == group.name)
        accounts.append(_account(group, buffers, copies, status, lost, joined))
    return tuple(accounts)


def groups_so_far(
    plan: Plan, last: Mapping[str, Status], lost: Mapping[str, LostMember], joined: Mapping[str, float]
) -> tuple[GroupAccount, ...]:
    """Return the accounts of the groups of a run that was given up, from the last status of its nodes, without tables of images."""
    return tuple(_so_far(plan, group, last, lost, joined) for group in plan.groups)


def _so_far(
    plan: Plan,
    group: PlannedGroup,
    last: Mapping[str, Status],
    lost: Mapping[str, LostMember],
    joined: Mapping[str, float],
) -> GroupAccount:
    source = status_of(last, plan.emulators_of(group)[0]).source
    status = next((known for known in (source.groups if source else ()) if known.name == group.name), None)
    dealt = {member.name: member for member in (status.members if status else ())}
    members = []
    for name, buffer in zip(group.members, group.buffers, strict=True):
        destination = status_of(last, name).destination
        known = next((one for one in (destination.buffers if destination else ()) if one.name == buffer), None)
        books, given = known.books if known else Books(), dealt.get(name)
        counts = _so_far_of(books, given)
        members.append(replace(counts, name=name, buffer=buffer, lost=lost.get(name), joined_s=joined.get(name)))
    images = plan.buffers_of(group.members[0])[0].images
    duplicates = min(status.duplicates if status else 0, sum(member.counted for member in members))
    came = min(images, sum(member.counted for member in members) - duplicates)
    partial = min(came, sum(member.partial for member in members))
    return GroupAccount(
        name=group.name,
        images=images,
        complete=came - partial,
        partial=partial,
        missing=images - came,
        resent=status.resent if status else 0,
        duplicates=duplicates,
        left_window=status.lost if status else 0,
        skipped=status.skipped if status else 0,
        unexplained=0,
        first_unexplained="",
        members=tuple(members),
    )


def _so_far_of(books: Books, given: MemberStatus | None) -> MemberAccount:
    """Return the account of a member: the images that it has; the rest of the images that it was given is missing."""
    dealt = max(given.dealt if given else 0, books.arrived)
    return MemberAccount(
        name="",
        buffer="",
        dealt=dealt,
        complete=books.complete,
        partial=books.partial,
        missing=dealt - books.arrived,
        counted=books.arrived,
        duplicates=0,
        resent=given.resent if given else 0,
        lates=given.lates if given else 0,
        silent_ms=given.silent_ms if given else 0.0,
        lost=None,
    )


def _copies_of(
    buffer: PlannedBuffer,
    frames: NDArray[np.uint64],
    fates: Mapping[int, Table],
    completeness: bytes | None,
    lost: LostMember | None,
) -> _Copies:
    images = (frames.astype(np.int64) - buffer.section.phase) // buffer.section.every
    due = _padded(image_fates([fates[dtp.id] for dtp in buffer.dtps]), images.size)
    if completeness is not None:
        return _Copies(images, _padded(np.frombuffer(completeness, np.uint8), images.size), due)
    found = due.copy()  # its credits say what it was done with, its source what of that had been sent whole
    found[lost.done if lost else 0 :] = MISSING
    return _Copies(images, found, found)


def _padded(table: Table, size: int) -> Table:
    found = np.full(size, MISSING, np.uint8)
    known = table[:size]
    found[: known.size] = np.where(known == OPEN, MISSING, known)
    return found


def _account(
    group: PlannedGroup,
    buffers: Mapping[str, PlannedBuffer],
    copies: Mapping[str, _Copies],
    status: GroupStatus,
    lost: Mapping[str, LostMember],
    joined: Mapping[str, float],
) -> GroupAccount:
    first = next(iter(buffers.values()))
    best = np.full(first.images, MISSING, np.uint8)
    owner = np.full(first.images, -1, np.int64)
    worst_due = np.zeros(first.images, np.uint8)
    given = np.zeros(first.images, np.int64)
    for number, one in enumerate(copies.values()):
        np.add.at(given, one.images, 1)
        np.maximum.at(worst_due, one.images, one.due)
        own = np.full(first.images, MISSING, np.uint8)
        np.minimum.at(own, one.images, one.found)
        owner[own < best] = number
        best = np.minimum(best, own)
    worst_due[given == 0] = MISSING
    # an image that was sent once must be as its source says, one that was sent again no worse than its worst copy
    strange = np.flatnonzero(np.where(given > 1, best > worst_due, best != worst_due))
    text = ""
    if strange.size:
        image = int(strange[0])
        text = (
            f"group {group.name} image {image} (frame {first.frame_of(image)}): the emulator's log says {STATE_NAMES[worst_due[image]]}, "
            f"{STATE_NAMES[best[image]]} was found"
        )
    known = {member.name: member for member in status.members}
    members = tuple(
        replace(
            _member(group.buffer_of(name), copies[name], int((owner == number).sum()), known[name], lost.get(name)),
            joined_s=joined.get(name),
        )
        for number, name in enumerate(copies)
    )
    return GroupAccount(
        name=group.name,
        images=first.images,
        complete=int((best == COMPLETE).sum()),
        partial=int((best == PARTIAL).sum()),
        missing=int((best == MISSING).sum()),
        resent=status.resent,
        duplicates=sum(member.duplicates for member in members),
        left_window=status.lost,
        skipped=status.skipped,
        unexplained=int(strange.size),
        first_unexplained=text,
        members=members,
    )


def _member(buffer: str, copies: _Copies, counted: int, status: MemberStatus, lost: LostMember | None) -> MemberAccount:
    complete, partial, missing = (int((copies.found == state).sum()) for state in (COMPLETE, PARTIAL, MISSING))
    return MemberAccount(
        name=status.name,
        buffer=buffer,
        dealt=int(copies.images.size),
        complete=complete,
        partial=partial,
        missing=missing,
        counted=counted,
        duplicates=complete + partial - counted,
        resent=status.resent,
        lates=status.lates,
        silent_ms=status.silent_ms,
        lost=lost,
    )
