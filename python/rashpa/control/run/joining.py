# SPDX-License-Identifier: Apache-2.0
"""Receivers that join a group of a run while it goes on.

The receiver is claimed and configured first; its answer says where the emulator is to write. The emulator makes DTPs of its own for it, and holds it. From then
on it belongs to the plan: armed with the emulator's endpoints, started, and fed. Until then nothing of the run depends on it.
"""

import asyncio
import contextlib
from collections.abc import Mapping, MutableMapping
from typing import Protocol

from rashpa.control.books.group_course import GroupCourse
from rashpa.control.capacity.capacity import CapacityError, check_abilities, overloads
from rashpa.control.handover.join_desk import JoinDesk, Request
from rashpa.control.nodes.node_client import NodeClient, NodeError
from rashpa.control.plan.groups import Joined
from rashpa.control.plan.receivers import PlannedReceiver
from rashpa.control.plan.run_plan import Plan, joined_plan
from rashpa.control.run.configuring import configure_receiver, join_emulator
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram import Capabilities, Status


class Host(Protocol):
    """The manager, as far as joining goes."""

    @property
    def plan(self) -> Plan: ...
    @property
    def clients(self) -> Mapping[str, NodeClient]: ...
    @property
    def capabilities(self) -> MutableMapping[str, Capabilities]: ...
    @property
    def groups(self) -> GroupCourse: ...
    @property
    def forced(self) -> bool:
        """Whether what is too much is tried nevertheless."""
        ...

    async def reach(self, receiver: PlannedReceiver) -> NodeClient:
        """Starts it where it is local; it is claimed, and its lease renewed. NodeError."""
        ...

    async def let_go(self, receiver: PlannedReceiver, client: NodeClient) -> None:
        """Of a receiver that does not take part after all."""
        ...

    def take_in(
        self, plan: Plan, receiver: PlannedReceiver, client: NodeClient, joined: Joined, status: Status
    ) -> None:
        """From now on this is the plan. `status`: what the receiver has said last."""
        ...


class Joining:
    """Of one run: looks for requests, and carries out one at a time beside the run."""

    def __init__(self, host: Host, desk: JoinDesk | None) -> None:
        self._host = host
        self._desk = desk
        self._task: asyncio.Task[None] | None = None

    def look(self) -> None:
        """Begins with the next request, if there is one."""
        if self._desk is None or (self._task is not None and not self._task.done()):
            return
        if (request := self._desk.next()) is not None:
            self._task = asyncio.create_task(self._carry_out(request, self._desk))

    async def end(self) -> None:
        """Nobody is taken in any more; who is at it comes to the end first."""
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        if self._desk is not None:
            self._desk.close()

    async def cancel(self) -> None:
        """The run is given up."""
        if self._task is not None:
            self._task.cancel()
        await self.end()

    async def _carry_out(self, request: Request, desk: JoinDesk) -> None:
        try:
            desk.answer(request, await self._join(request.joined))
        except (RunFileError, CapacityError, NodeError) as error:
            desk.answer(request, "", str(error))
        except BaseException:
            desk.answer(request, "", "the run was given up")
            raise

    async def _join(self, joined: Joined) -> str:
        host = self._host
        plan = joined_plan(host.plan, joined)
        receiver = plan.receivers[-1]
        group = plan.membership(receiver.name)
        emulator = host.clients[plan.emulator_of(plan.dtps_of(receiver.name)[0])]
        client = await host.reach(receiver)
        try:
            can = await client.capabilities()
            self._check(plan, {**host.capabilities, receiver.name: can})
            ends = await configure_receiver(plan, receiver, client)
            status = await client.status()
            sources = await join_emulator(plan, receiver.name, emulator, ends)
        except BaseException:
            with contextlib.suppress(NodeError):
                await host.let_go(receiver, client)
            raise
        try:
            host.capabilities[receiver.name] = can
            host.take_in(plan, receiver, client, joined, status)
            await client.order(telegram.Arm(sources))
            await client.order(telegram.Start())
            await emulator.order(telegram.Feed(group.name, receiver.name, True))
        except NodeError as error:  # the run goes on without it, as without any member
            await host.groups.give_up(receiver.name, str(error))
            raise
        return f"{receiver.label} is a member of group {group.name}"

    def _check(self, plan: Plan, known: Mapping[str, Capabilities]) -> None:
        """CapacityError when it cannot do its part."""
        check_abilities(plan, known)
        if (too_much := overloads(plan, known)) and not self._host.forced:
            raise CapacityError("\n".join(too_much))
