# SPDX-License-Identifier: Apache-2.0
"""Keeps the nodes of one run for its manager: their clients, the last status of each, and the nodes that the run continues without."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rashpa.control.nodes.gather_limited import gather_all, gather_limited
from rashpa.control.nodes.heard import status_of
from rashpa.control.nodes.node_client import NodeClient, NodeError
from rashpa.control.plan.model import Plan
from rashpa.control.plan.planned_node import PlannedNode
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram import Capabilities, Status


@dataclass(frozen=True)
class LostMember:
    """Describes a receiver that the run continued without. `after_s`: seconds of the run; `done`: images that its credits had confirmed by then."""

    reason: str
    after_s: float
    done: int


class Fleet:
    """Holds the nodes by the names of the plan. `plan`: the present plan, since receivers may join; `clients`: the nodes' clients; `holder`: the name
    of this run as owner. `last`: the last status of each node; `heard`: its monotonic time. `busy`: by buffer, a step that hangs. `claimed`: nodes
    that may belong to this run. `lost`: members of groups that the run continues without."""

    def __init__(self, plan: Plan, clients: dict[str, NodeClient], holder: str = "") -> None:
        self.plan = plan
        self.clients = clients
        self.holder = holder
        self.last: dict[str, Status] = {}
        self.heard: dict[str, float] = {}
        self.busy: dict[str, str] = {}
        self.claimed: set[str] = set()
        self.lost: dict[str, LostMember] = {}

    @property
    def receivers(self) -> list[str]:
        return [receiver.name for receiver in self.plan.receivers]

    @property
    def emulators(self) -> list[str]:
        return [emulator.name for emulator in self.plan.emulators]

    def alive(self, names: Iterable[str]) -> list[str]:
        """Return those of `names` that still take part in the run."""
        return [name for name in names if name not in self.lost]

    def label(self, name: str) -> str:
        """Return the name for people."""
        return next(node.label for node in self.plan.nodes if node.name == name)

    def name_of(self, error: NodeError) -> str:
        """Return the node that an error is about, empty when there is none."""
        return next((node.name for node in self.plan.nodes if node.label == error.node), "")

    def status(self, name: str) -> Status:
        """Return the last status of a node, one with the state UNHEARD before the first."""
        return status_of(self.last, name)

    def heard_of(self, names: Iterable[str]) -> dict[str, Status]:
        """Return the last status of each named node that has sent one."""
        return {name: self.last[name] for name in names if name in self.last}

    def keep(self, name: str, status: Status) -> None:
        """Store the status that a node has just sent."""
        self.last[name], self.heard[name] = status, time.monotonic()
        for buffer in status.destination.buffers if status.destination else ():
            if buffer.busy:
                self.busy[buffer.name] = f"buffer {buffer.name}: {buffer.busy}"
            else:
                self.busy.pop(buffer.name, None)

    async def look_at(self, name: str) -> None:
        """Ask a node for its status, and store it. Raise NodeError when it does not answer."""
        self.keep(name, await self.clients[name].status())

    async def ask_abilities(self) -> dict[str, Capabilities]:
        """Return the capabilities of all nodes, by name. The nodes only examine units that the plan names. Raise NodeError when a node does not
        answer."""

        async def ask(name: str) -> Capabilities:
            return await self.clients[name].capabilities(self.plan.units_of(name))

        return dict(zip(self.clients, await gather_limited(ask, self.clients), strict=True))

    async def order_each(self, orders: Mapping[str, telegram.Telegram]) -> None:
        """Send each node its order, all at the same time. Raise NodeError after all have answered."""
        await gather_all(self.clients[name].order(order) for name, order in orders.items())

    async def order_all(self, names: Iterable[str], order: telegram.Telegram) -> None:
        """Send one order to all these nodes. Raise NodeError after all have answered."""
        await self.order_each(dict.fromkeys(names, order))

    async def order_unless_finished(self, names: Iterable[str], order: telegram.Telegram) -> list[Status]:
        """Send an order to these nodes and store their answers. Nodes that have finished get no order. Raise NodeError after all have answered."""
        names = list(names)
        said = await gather_all(self.clients[name].order_unless_finished(order) for name in names)
        self.last.update(zip(names, said, strict=True))
        return said

    def take_in(self, plan: Plan, node: PlannedNode, client: NodeClient, status: Status) -> None:
        """Add a node, and replace the plan by one that contains it. `status`: the node's last status."""
        self.plan = plan
        self.clients[node.name] = client
        self.claimed.add(node.name)
        self.keep(node.name, status)
