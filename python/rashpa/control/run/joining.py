# SPDX-License-Identifier: Apache-2.0
"""Adds receivers to a group of a run while it goes on.

The receiver is claimed and configured first; its answer says where the emulator must write. The emulator makes separate DTPs for it, and sends it
nothing yet. From then on the receiver belongs to the plan: it is armed with the emulator's endpoints, started, and fed. Before, no part of the run
depends on it.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping, MutableMapping

from rashpa.control.books.group_course import GroupCourse
from rashpa.control.capacity.capacity import CapacityError, check_abilities, overloads
from rashpa.control.handover.join_request import JoinAnswer
from rashpa.control.handover.run_request import RequestDesk, Wanted
from rashpa.control.nodes.fleet import Fleet
from rashpa.control.nodes.node_client import NodeError
from rashpa.control.plan.groups import Joined
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import joined_plan
from rashpa.control.run.configuring import configure_receiver, join_emulator
from rashpa.control.run.limit_orders import orders_like
from rashpa.control.run.run_nodes import RunNodes
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram import Capabilities


class Joining:
    """Receives requests to join one run, and carries out one at a time while the run goes on."""

    def __init__(
        self,
        fleet: Fleet,
        nodes: RunNodes,
        groups: GroupCourse,
        capabilities: MutableMapping[str, Capabilities],
        desk: RequestDesk[Joined, JoinAnswer] | None,
        follow: Callable[[Joined], None],
        *,
        forced: bool = False,
    ) -> None:
        self._fleet, self._nodes, self._groups = fleet, nodes, groups
        self._capabilities = capabilities
        self._desk = desk
        self._follow = follow
        self._forced = forced
        self._task: asyncio.Task[None] | None = None

    def look(self) -> None:
        """Begin to carry out the next request, if there is one."""
        if self._desk is None or (self._task is not None and not self._task.done()):
            return
        if (request := self._desk.next()) is not None:
            self._task = asyncio.create_task(self._answer(request, self._desk))

    async def end(self) -> None:
        """Accept no more receivers, and wait until the present one has joined."""
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        if self._desk is not None:
            self._desk.close()

    async def cancel(self) -> None:
        """Cancel joining, because the run is given up."""
        if self._task is not None:
            self._task.cancel()
        await self.end()

    async def _answer(self, request: Wanted[Joined], desk: RequestDesk[Joined, JoinAnswer]) -> None:
        try:
            desk.answer(request, JoinAnswer(await self._join(request.what)))
        except (RunFileError, CapacityError, NodeError) as error:
            desk.answer(request, JoinAnswer("", str(error)))
        except BaseException:
            desk.answer(request, JoinAnswer("", "the run was given up"))
            raise

    async def _join(self, joined: Joined) -> str:
        fleet = self._fleet
        plan = joined_plan(fleet.plan, joined)
        receiver = plan.receivers[-1]
        group = plan.membership(receiver.name)
        emulator = fleet.clients[plan.emulator_of(plan.dtps_of(receiver.name)[0])]
        client = await self._nodes.reach(plan, receiver, fleet.holder)
        try:
            can = await client.capabilities(plan.units_of(receiver.name))
            self._check(plan, {**self._capabilities, receiver.name: can})
            ends = await configure_receiver(plan, receiver, client)
            status = await client.status()
            sources = await join_emulator(plan, receiver.name, emulator, ends)
        except BaseException:
            with contextlib.suppress(NodeError):
                await self._nodes.let_go(receiver, client)
            raise
        try:
            self._capabilities[receiver.name] = can
            fleet.take_in(plan, receiver, client, status)
            self._groups.follow(receiver.name)
            self._follow(joined)
            await client.order(telegram.Arm(endpoints=sources))
            await client.order(telegram.Start())
            for buffer in plan.buffers_of(receiver.name):
                for order in orders_like(fleet, buffer):
                    await client.order(order)
            await emulator.order(telegram.Feed(group=group.name, member=receiver.name, fed=True))
        except NodeError as error:  # the run goes on without it, as without any member
            await self._groups.give_up(receiver.name, str(error))
            raise
        return f"{receiver.label} is a member of group {group.name}"

    def _check(self, plan: Plan, known: Mapping[str, Capabilities]) -> None:
        """Raise CapacityError when the receiver cannot do its part of the run."""
        check_abilities(plan, known)
        if (too_much := overloads(plan, known)) and not self._forced:
            raise CapacityError("\n".join(too_much))
