# SPDX-License-Identifier: Apache-2.0
"""Takes over a run whose manager has died: finds its nodes with the journal, watches the run to its end, and closes the books."""

import functools
import socket
import time
from typing import Any

from rashpa.control.handover.journal import Journal, JournalError, Record
from rashpa.control.nodes.launcher import AdoptedLauncher, RunCertificate
from rashpa.control.nodes.node_client import NodeError
from rashpa.control.nodes.running_time import since_boot
from rashpa.control.plan.model import Plan
from rashpa.control.plan.planned_node import PlannedNode
from rashpa.control.run.adopted_node import AdoptedNode
from rashpa.control.run.course import Course
from rashpa.control.run.manager import Manager
from rashpa.control.run.run_nodes import RunNodes
from rashpa.control.run.run_notes import Observer, unobserved
from rashpa.control.telegrams.telegram import Status

_BEGUN = {"receiver": ("running", "finished"), "emulator": ("running", "paused", "finished")}


class AdoptedNodes(RunNodes):
    """Holds the nodes of the run, as the record describes them."""

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


class AttachedCourse(Course):
    """Continues the run of the record from its present state."""

    def __init__(self, record: Record, *parts: Any, **options: Any) -> None:
        super().__init__(*parts, **options)
        self._record = record
        notes = self._notes
        notes.began = time.monotonic() - (max(0.0, since_boot() - record.began) if record.began else 0.0)
        notes.joined = record.joined
        notes.caution(f"{record.holder} was gone; {self._fleet.holder} has taken the run over")
        self.groups.begin(notes.began)

    async def carry_through(self) -> None:
        """Carry the run from its present state to closed books. Raise NodeError when a node fails."""
        fleet = self._fleet
        self._notes.tell("attaching")
        await self._nodes.connect(fleet.plan)
        await self._find_run()
        for name in fleet.alive(fleet.clients):
            self._outcome.capabilities[name] = await fleet.clients[name].capabilities(fleet.plan.units_of(name))
        async with self._nodes.renewed(fleet.heard):
            await self._claim()
            self._notes.note()
            await self._overruns.take_over()
            await self._see_through()

    async def _find_run(self) -> None:
        """Ask all nodes for their status. Raise NodeError when one no longer belongs to the run, or when the run had not begun. Members of groups may
        be lost."""
        fleet = self._fleet
        trouble = {name: error for name in fleet.clients if (error := await self._absent(name))}
        members = [name for name in trouble if name in self.groups.members]
        if len(members) == len(trouble):
            for name in members:
                reason = await self._nodes.reason_of(trouble[name], name)
                if not await self.groups.give_up(name, reason):
                    raise trouble[name]
                fleet.last.setdefault(
                    name, Status(node=fleet.label(name), role="receiver", state="fault", message=reason)
                )  # nobody has heard more
        elif trouble:
            raise next(error for name, error in trouble.items() if name not in members)

    async def _absent(self, name: str) -> NodeError | None:
        """Return the reason why a node does not belong to the run; None when it does, and its status is stored."""
        client = self._fleet.clients[name]
        try:
            status = await client.status()
        except NodeError as error:
            return error
        if status.holder not in (self._record.holder, self._fleet.holder):
            why = status.message or f"it belongs to {status.holder or 'nobody'}"
            text = (
                f"{client.name} has ended the run: {why}. Files that it wrote are closed: `rashpa inspect` shows them"
            )
            return NodeError(client.name, text, "state")
        self._fleet.claimed.add(name)
        self._fleet.keep(name, status)
        if status.state == "fault":
            return NodeError(client.name, status.message, "state")
        if status.state not in _BEGUN[status.role]:
            text = f"{client.name} is {status.state}: the manager was gone before the acquisition began; start the run again"
            return NodeError(client.name, text, "state")
        return None


def attached(journal: Journal, observer: Observer = unobserved, token: str = "") -> Manager:
    """Return the manager that continues the run. Raise JournalError or RunFileError when there is no run to take over."""
    record = journal.take_over()
    journal.report = journal.report or record.report
    here = socket.gethostname()
    if any(node.pid for node in record.nodes) and record.host != here:
        journal.close()
        raise JournalError(
            f"{journal.path}: the nodes of this run are processes of {record.host}, and this is {here}; attach there"
        )
    plan = record.plan()
    nodes = AdoptedNodes(record, plan.file.nodes.token or token)
    return Manager(plan, observer, journal=journal, nodes=nodes, course=functools.partial(AttachedCourse, record))
