# SPDX-License-Identifier: Apache-2.0
"""What a manager notes of its run."""

import socket

from rashpa.control.handover.journal import VERSION, Journal, KnownNode, Record
from rashpa.control.nodes.process_identity import identity_of
from rashpa.control.plan.groups import Joined
from rashpa.control.plan.run_plan import Plan
from rashpa.control.run.run_nodes import RunNodes


def note(journal: Journal, plan: Plan, holder: str, nodes: RunNodes, began: float, joined: tuple[Joined, ...]) -> None:
    """Writes it down. `joined`: receivers that are not in the run file. OSError."""
    pids = {name: nodes.local[name].pid if name in nodes.local else 0 for name in nodes.clients}
    known = (
        KnownNode(name, client.url, pids[name], identity_of(pids[name]) if pids[name] else "")
        for name, client in nodes.clients.items()
    )
    certificate = nodes.launcher.certificate
    journal.write(
        Record(
            VERSION,
            holder,
            nodes.owner,
            nodes.local_token,
            socket.gethostname(),
            str(plan.source.path.resolve()),
            plan.source.text,
            plan.source.is_toml,
            str(plan.file.run.folder.resolve()),
            journal.report,
            began,
            tuple(known),
            certificate.certificate if certificate is not None else "",
            joined,
        )
    )
