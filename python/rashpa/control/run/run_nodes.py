# SPDX-License-Identifier: Apache-2.0
"""Holds the nodes of a run for its manager: processes that it has started, and the clients of all nodes."""

import asyncio
import contextlib
import secrets
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace

from rashpa.control.nodes.gather_limited import gather_all
from rashpa.control.nodes.launcher import Launcher
from rashpa.control.nodes.lean_httpx import httpx
from rashpa.control.nodes.local_node import LocalNode
from rashpa.control.nodes.node_client import NodeClient, NodeError, get_ready
from rashpa.control.nodes.running_time import within
from rashpa.control.orders.grant import grant_of
from rashpa.control.plan.model import Plan
from rashpa.control.plan.planned_node import PlannedNode
from rashpa.control.run.adopted_node import AdoptedNode
from rashpa.control.runfile.token import new_token
from rashpa.control.telegrams import telegram

_RENEW_S = 1.0  # how often the nodes' leases (10 s) are renewed, whatever else takes its time, where nothing else is asked of them …
_RENEWALS_PER_S = 50.0  # … and at most this many in all
_LONGEST_RENEW_S = 3.0  # a third of the lease
_CLOSE_S = 5.0  # of a connection to one that does not answer
_ENDED_S = 0.05  # for the end of a process to be known


class RunNodes:
    """Holds nodes by name: `local` are those started for the run, `clients` are those of all nodes. `owner`: the secret by which the run owns them;
    `local_token`: the token of nodes that it starts."""

    def __init__(self, launcher: Launcher, token: str, transports: Mapping[str, httpx.AsyncBaseTransport]) -> None:
        self.launcher = launcher
        self.owner = secrets.token_hex(16)
        self.local_token = new_token()
        self.local: dict[str, LocalNode | AdoptedNode] = {}
        self.clients: dict[str, NodeClient] = {}
        self._token = token
        self._transports = transports
        self._renewals: dict[str, asyncio.Task[None]] = {}
        self._heard: Mapping[str, float] = {}

    async def connect(self, plan: Plan) -> None:
        """Start the local nodes, all at the same time. Raise NodeError when one does not start."""
        if started := [node for node in plan.nodes if self._is_started(node)]:
            starts = (self._start(plan, node) for node in started)
            await gather_all((*starts, asyncio.to_thread(get_ready)))
        self.clients.update({node.name: self._client_of(plan, node) for node in plan.nodes})

    async def reach(self, plan: Plan, node: PlannedNode, holder: str) -> NodeClient:
        """Connect to one more node, which is not yet part of the run: start it if it is local, claim it, and renew its lease. Raise NodeError when
        that fails."""
        if self._is_started(node):
            await self._start(plan, node)
        client = self._client_of(plan, node)
        try:
            await client.order(telegram.Claim(holder=holder))
        except BaseException:
            await self._part(node, client)
            raise
        self._renewals[node.name] = asyncio.create_task(self._renew(node.name, client))
        return client

    async def let_go(self, node: PlannedNode, client: NodeClient) -> None:
        """Free a connected node that the run will not use. Raise NodeError when that fails."""
        if (renewal := self._renewals.pop(node.name, None)) is not None:
            renewal.cancel()
        try:
            await client.order(telegram.Reset())
        finally:
            await self._part(node, client)

    @contextlib.asynccontextmanager
    async def renewed(self, heard: Mapping[str, float]) -> AsyncIterator[None]:
        """Renew the leases during the context. `heard`: the monotonic time of each last status."""
        self._heard = heard
        self._renewals = {
            name: asyncio.create_task(self._renew(name, client, part=number / len(self.clients)))
            for number, (name, client) in enumerate(self.clients.items())
        }
        try:
            yield
        finally:
            for renewal in self._renewals.values():
                renewal.cancel()
            await asyncio.gather(*self._renewals.values(), return_exceptions=True)

    def kill(self) -> None:
        """Kill the processes at once."""
        for local in self.local.values():
            local.kill()

    async def close(self) -> None:
        """Close connections and end processes, within a bounded time."""
        for client in self.clients.values():
            with contextlib.suppress(TimeoutError):
                async with within(_CLOSE_S):
                    await client.close()
        await asyncio.gather(*(local.close() for local in self.local.values()))

    async def reason_of(self, error: NodeError, name: str) -> str:
        """Return the reason why a node does not answer; for a node started for the run, how its process ended."""
        local = self.local.get(name)
        return (await local.ended() or str(error)) if local is not None and error.lost else str(error)

    async def gone(self) -> str:
        """Return how a node that was started for the run has ended, empty when all run. Other nodes may refuse orders because of it."""
        for local in self.local.values():
            if ended := await local.ended(_ENDED_S):
                return ended
        return ""

    def _is_started(self, node: PlannedNode) -> bool:
        return node.node == "local" and node.name not in self._transports

    async def _start(self, plan: Plan, node: PlannedNode) -> None:
        grant, launcher = grant_of(plan, node.role, self.local_token), self.launcher
        if launcher.certificate is not None:
            grant = replace(grant, certificate=launcher.certificate.certificate, key=launcher.certificate.key)
        self.local[node.name] = await LocalNode.start(node.label, launcher.command(node), grant, launcher.ready_s)

    def _client_of(self, plan: Plan, node: PlannedNode) -> NodeClient:
        name, label = node.name, node.label
        if name in self._transports:
            return NodeClient(label, "http://node", transport=self._transports[name], owner=self.owner)
        if name in self.local:
            certificate = self.launcher.certificate
            trusted = certificate.context() if certificate is not None else None
            return NodeClient(label, self.local[name].url, self.local_token, owner=self.owner, trusted=trusted)
        return NodeClient(label, node.node, self._token, plan.authority, owner=self.owner)

    async def _renew(self, name: str, client: NodeClient, part: float = 0.0) -> None:
        """Renew a lease for ever; other calls report a silent node. `part`: the share of the interval by which to begin later, so that nodes are not
        all asked at once."""
        every = min(max(_RENEW_S, len(self.clients) / _RENEWALS_PER_S), _LONGEST_RENEW_S)
        await asyncio.sleep(part * every)
        while True:
            await asyncio.sleep(every)
            if time.monotonic() - self._heard.get(name, 0.0) > every:
                with contextlib.suppress(NodeError):
                    await client.status()

    async def _part(self, node: PlannedNode, client: NodeClient) -> None:
        await client.close()
        if (local := self.local.pop(node.name, None)) is not None:
            await local.close()
