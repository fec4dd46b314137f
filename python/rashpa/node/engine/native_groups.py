# SPDX-License-Identifier: Apache-2.0
"""Converts groups, among which an emulator deals images, between telegrams and the native module."""

from rashpa import _native
from rashpa.control.telegrams import telegram


def native_group(group: telegram.Group) -> _native.Group:
    """Return the native form of a group."""
    native = _native.Group(group.keys.model_dump(mode="json"))
    native.name = group.name
    native.replay_frames = group.replay_frames
    native.members = [native_member(member) for member in group.members]
    return native


def native_member(member: telegram.GroupMember) -> _native.GroupMember:
    """Return the native form of a group's member."""
    native = _native.GroupMember()
    native.name = member.name
    native.stack = member.stack
    native.dtps = list(member.dtps)
    return native


def group_status(name: str, status: _native.GroupStatus) -> telegram.GroupStatus:
    """Return the status of a group in the form of telegrams."""
    members = tuple(
        telegram.MemberStatus(
            name=known.name,
            state=known.state,
            dealt=known.dealt,
            done=known.done,
            taken=known.taken,
            resent=known.resent,
            duplicates=known.duplicates,
            lates=known.lates,
            response_ms=known.response_ns / 1e6,
            silent_ms=known.silent_ns / 1e6,
            given_ago_ms=known.given_ago_ns / 1e6,
        )
        for known in status.members
    )
    return telegram.GroupStatus(
        name=name,
        fresh=status.fresh,
        waiting=status.waiting,
        resent=status.resent,
        duplicates=status.duplicates,
        lost=status.lost,
        skipped=status.skipped,
        settled=status.settled,
        members=members,
    )
