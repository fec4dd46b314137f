# SPDX-License-Identifier: Apache-2.0
"""Manages groups of receivers during a run: a lost member is given up, and the run continues. At the end, members stop in an order that always leaves
a receiver for every image."""

import time
from collections.abc import Awaitable, Callable, Collection, Mapping

from rashpa.control.books.outcome import Outcome
from rashpa.control.nodes.fleet import Fleet, LostMember
from rashpa.control.nodes.node_client import NodeError
from rashpa.control.plan.groups import PlannedGroup
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram import GroupStatus, MemberStatus

Watch = Callable[[Collection[str]], Awaitable[None]]


class GroupCourse:
    """Manages the groups of one run; nodes have the names of the plan. `last`: the last status of each node. `lost`: members that the run continues
    without."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._began = time.monotonic()
        self.joined: dict[str, float] = {}  # when members have joined, in seconds of the run

    def begin(self, moment: float) -> None:
        """Set the monotonic time at which the run began."""
        self._began = moment

    def tell(self, outcome: Outcome) -> None:
        """Add lost and joined members to the outcome."""
        outcome.lost, outcome.joined = dict(self._fleet.lost), dict(self.joined)

    def follow(self, joined: str) -> None:
        """Use the present plan, which has the new member `joined`."""
        self.joined[joined] = time.monotonic() - self._began

    def status(self, group: PlannedGroup) -> GroupStatus | None:
        """Return the last status of the group from its emulator."""
        known = self._fleet.last.get(self._fleet.plan.emulators_of(group)[0])
        groups = known.source.groups if known and known.source else ()
        return next((one for one in groups if one.name == group.name), None)

    def through(self, emulator: str) -> bool:
        """Return True when the emulator sends nothing more without an order: its groups are settled, and all images outside of groups are sent."""
        status = self._fleet.status(emulator)
        if status.state == "finished" or status.source is None or not status.source.groups:
            return status.state == "finished"
        images = {
            dtp.id: buffer.images
            for buffer in self._fleet.plan.buffers
            if self._fleet.plan.group_of(buffer.receiver) is None
            for dtp in buffer.dtps
        }
        sent = all(dtp.images_due >= images.get(dtp.id, 0) for dtp in status.source.dtps)
        return sent and all(group.settled for group in status.source.groups)

    async def give_up(self, receiver: str, reason: str) -> bool:
        """Give up a member that does not answer, or cannot continue; other members get its unfinished images. Return False when the receiver is no
        member, or the last member of its group."""
        group = self._fleet.plan.group_of(receiver)
        if group is None:
            return False
        if receiver in self._fleet.lost:
            return True
        if all(member in self._fleet.lost for member in group.members if member != receiver):
            return False
        emulator = self._fleet.plan.emulators_of(group)[0]
        done = self._proven(group, receiver)
        self._fleet.lost[receiver] = LostMember(reason, time.monotonic() - self._began, done)
        status = await self._fleet.clients[emulator].order(
            telegram.Resend(group=group.name, member=receiver, image=done)
        )
        groups = status.source.groups if status.source else ()
        after = (
            one.done for found in groups if found.name == group.name for one in found.members if one.name == receiver
        )
        self._fleet.lost[receiver] = LostMember(reason, self._fleet.lost[receiver].after_s, max([done, *after]))
        return True

    def _proven(self, group: PlannedGroup, receiver: str) -> int:
        """Return the number of a member's images that its credits have confirmed."""
        member = self._member(group, receiver)
        return member.done if member else 0

    def _member(self, group: PlannedGroup, receiver: str) -> MemberStatus | None:
        status = self.status(group)
        return next((one for one in status.members if one.name == receiver), None) if status else None

    async def settle(self, watch: Watch) -> None:
        """Stop the members of settled groups: first members with missing images, one by one, while others can still receive these images; then the
        rest.

        `watch`: a function that waits until nodes have finished or are lost.
        """
        for group in self._fleet.plan.groups:
            emulator = self._fleet.plan.emulators_of(group)[0]
            left = list(group.members)
            while left := [member for member in left if member not in self._fleet.lost]:
                await watch([emulator])
                known = {one.name: one for one in self._status_of(group).members if one.name in left}
                owing = [name for name in known if known[name].dealt > known[name].done]
                chosen = owing[:1] or left
                for name in chosen:
                    self._fleet.last[emulator] = await self._fleet.clients[emulator].order(
                        telegram.Feed(group=group.name, member=name, fed=False)
                    )
                held = {one.name: one for one in self._status_of(group).members}
                await self._stop(chosen, held)
                await watch(chosen)
                left = [member for member in left if member not in chosen]

    def _status_of(self, group: PlannedGroup) -> GroupStatus:
        status = self.status(group)
        if status is None:
            label = self._fleet.plan.emulators_of(group)[0]
            raise NodeError(
                label, f"{label} says nothing of group {group.name}; install the same rashpa everywhere", "telegram"
            )
        return status

    async def _stop(self, members: Collection[str], known: Mapping[str, MemberStatus]) -> None:
        for name in members:
            dealt = (
                known[name].dealt if name in known else 0
            )  # one of which its emulator knows nothing was given nothing
            ends = tuple(telegram.DtpEnd(dtp=dtp.id, images=dealt) for dtp in self._fleet.plan.dtps_of(name))
            try:
                await self._fleet.clients[name].order(telegram.Stop(ends=ends))
            except NodeError as error:
                if not error.lost or not await self.give_up(name, str(error)):
                    raise

    @property
    def members(self) -> tuple[str, ...]:
        """Return the members of all groups."""
        return tuple(member for group in self._fleet.plan.groups for member in group.members)
