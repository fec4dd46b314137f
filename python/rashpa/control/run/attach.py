# SPDX-License-Identifier: Apache-2.0
"""Takes over a run whose manager is gone: finds its nodes by the journal, watches the run to its end, and closes the books."""

import socket
import time

from rashpa.control.handover.journal import Journal, JournalError, Record
from rashpa.control.nodes.launcher import AdoptedLauncher, RunCertificate
from rashpa.control.nodes.node_client import NodeError
from rashpa.control.nodes.running_time import since_boot
from rashpa.control.plan.planned_node import PlannedNode
from rashpa.control.plan.run_plan import Plan
from rashpa.control.run.adopted_node import AdoptedNode
from rashpa.control.run.manager import Manager, Observer, unobserved
from rashpa.control.run.run_nodes import RunNodes
from rashpa.control.telegrams.telegram import Status

_BEGUN = {"receiver": ("running", "finished"), "emulator": ("running", "paused", "finished")}


class AdoptedNodes(RunNodes):
    """Of the run that the record tells of."""

    def __init__(self, record: Record, token: str) -> None:
        certificate = RunCertificate(record.certificate) if record.certificate else None
        super().__init__(AdoptedLauncher(certificate), token, {})
        self.owner = record.owner
        self.local_token = record.local_token
        self._known = {known.name: known for known in record.nodes}

    async def _start(self, plan: Plan, node: PlannedNode) -> None:  # noqa: ARG002
        if node.name not in self._known:
            text = f"{node.label} is no process of this run; who has taken a run over starts none: give the URL of one that runs"
            raise NodeError(node.label, text, "config")
        self.local[node.name] = AdoptedNode(node.label, self._known[node.name])


class AttachedManager(Manager):
    """In place of the one that has written the record. `journal`: which has been taken over."""

    def __init__(
        self, plan: Plan, record: Record, journal: Journal, observer: Observer = unobserved, token: str = ""
    ) -> None:
        nodes = AdoptedNodes(record, plan.file.nodes.token or token)
        super().__init__(plan, observer, journal=journal, nodes=nodes)
        self._record = record
        self._began = time.monotonic() - (max(0.0, since_boot() - record.began) if record.began else 0.0)
        self._groups.begin(self._began)
        self._joined = record.joined
        self._outcome.cautions = (f"{record.holder} was gone; {self._holder} has taken the run over",)

    async def _carry_through(self) -> None:
        self._tell("attaching")
        await self._nodes.connect(self._plan)
        await self._find_run()
        for name in self._alive(self._clients):
            self._outcome.capabilities[name] = await self._clients[name].capabilities()
        async with self._nodes.renewed(self._heard):
            await self._claim()
            self._note()
            await self._overruns.take_over()
            await self._see_through()

    async def _find_run(self) -> None:
        """NodeError, after all were asked, when one is not in the run any more, or the run had not begun. Members of groups may be gone."""
        trouble = {name: error for name in self._clients if (error := await self._absent(name))}
        members = [name for name in trouble if name in self._groups.members]
        if len(members) == len(trouble):
            for name in members:
                reason = await self._reason_of(trouble[name], name)
                if not await self._groups.give_up(name, reason):
                    raise trouble[name]
                self._last.setdefault(
                    name, Status(self._labels[name], "receiver", "fault", reason)
                )  # nobody has heard more
        elif trouble:
            raise next(error for name, error in trouble.items() if name not in members)

    async def _absent(self, name: str) -> NodeError | None:
        """Why a node is not in the run; else it is ours, and what it says is known."""
        client = self._clients[name]
        try:
            status = await client.status()
        except NodeError as error:
            return error
        if status.holder not in (self._record.holder, self._holder):
            why = status.message or f"it belongs to {status.holder or 'nobody'}"
            text = (
                f"{client.name} has ended the run: {why}. Files that it wrote are closed: `rashpa inspect` shows them"
            )
            return NodeError(client.name, text, "state")
        self._claimed.add(name)
        self._last[name], self._heard[name] = status, time.monotonic()
        if status.state == "fault":
            return NodeError(client.name, status.message, "state")
        if status.state not in _BEGUN[status.role]:
            text = f"{client.name} is {status.state}: the manager was gone before the acquisition began; start the run again"
            return NodeError(client.name, text, "state")
        return None


def attached(journal: Journal, observer: Observer = unobserved, token: str = "") -> AttachedManager:
    """The manager that goes on. JournalError and RunFileError when there is nothing to be taken over."""
    record = journal.take_over()
    journal.report = journal.report or record.report
    here = socket.gethostname()
    if any(node.pid for node in record.nodes) and record.host != here:
        journal.close()
        raise JournalError(
            f"{journal.path}: the nodes of this run are processes of {record.host}, and this is {here}; attach there"
        )
    return AttachedManager(record.plan(), record, journal, observer, token)
