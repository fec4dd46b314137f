# SPDX-License-Identifier: Apache-2.0
"""What a manager notes of its run."""

import socket
from collections.abc import Mapping
from pathlib import Path

from rashpa.control.adopted_node import AdoptedNode
from rashpa.control.journal import VERSION, Journal, KnownNode, Record
from rashpa.control.launcher import Launcher
from rashpa.control.local_node import LocalNode
from rashpa.control.process_identity import identity_of
from rashpa.control.run_plan import Plan


def note(
    journal: Journal,
    plan: Plan,
    holder: str,
    owner: str,
    local_token: str,
    began: float,
    urls: Mapping[str, str],
    own: Mapping[str, LocalNode | AdoptedNode],
    launcher: Launcher,
) -> None:
    """Writes it down. `urls`: of all nodes, by name; `own`: processes of the manager. OSError."""
    pids = {name: own[name].pid if name in own else 0 for name in urls}
    nodes = (
        KnownNode(name, url, pids[name], identity_of(pids[name]) if pids[name] else "") for name, url in urls.items()
    )
    journal.write(
        Record(
            VERSION,
            holder,
            owner,
            local_token,
            socket.gethostname(),
            str(plan.source.path.resolve()),
            plan.source.text,
            plan.source.is_toml,
            str(Path(plan.file.run.output).resolve()),
            journal.report,
            began,
            tuple(nodes),
            launcher.certificate.certificate if launcher.certificate is not None else "",
        )
    )
