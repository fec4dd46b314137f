# SPDX-License-Identifier: Apache-2.0
"""Finds the runs on this machine, and makes clients of their nodes, from the journals that managers hold open."""

import os
from pathlib import Path

from rashpa.control.handover.journal import SUFFIX, JournalError, Record, journal_lives, read_record
from rashpa.control.nodes.launcher import RunCertificate
from rashpa.control.nodes.node_client import NodeClient
from rashpa.control.plan.model import Plan
from rashpa.control.runfile.run_file_reader import RunFileError

_PROCESSES = Path("/proc")


def journals_here() -> list[Path]:
    """Return the journals of runs with living managers on this machine, as far as this user may inspect their processes."""
    found = {path for process in _PROCESSES.glob("[0-9]*") for path in _journals_of(process)}
    return sorted(path for path in found if path.is_file() and journal_lives(path))


def _journals_of(process: Path) -> set[Path]:
    """Return the journals that a process holds open; empty for a process that has ended or belongs to another user."""
    found = set()
    try:
        for number in os.listdir(process / "fd"):  # noqa: PTH208 (names, of which most are no links to files)
            target = os.readlink(process / "fd" / number)  # noqa: PTH115 (a text, which may say "(deleted)")
            if target.endswith(SUFFIX):
                found.add(Path(target))
    except OSError:
        return found
    return found


def clients_at(journal: Path, token: str, authority: str) -> list[NodeClient]:
    """Return clients of the nodes of a run. `token`, `authority`: for nodes that the run has not started itself. Raise JournalError or RunFileError."""
    try:
        record = read_record(journal)
    except OSError as error:
        raise JournalError(f"{journal}: cannot be read: {error.strerror}") from None
    return list(clients_of(record, record.plan(), token, authority).values())


def clients_of(record: Record, plan: Plan, token: str, authority: str) -> dict[str, NodeClient]:
    """Return clients of the nodes of a run, by name. `token`, `authority`: for nodes that the run has not started itself."""
    trusted = RunCertificate(record.certificate).context() if record.certificate else None
    planned = {node.name: node for node in plan.nodes}
    found = {}
    for known in record.nodes:
        node = planned.get(known.name)
        label = node.label if node is not None else known.name
        if known.pid:
            found[known.name] = NodeClient(label, known.url, record.local_token, trusted=trusted)
        else:
            found[known.name] = NodeClient(
                label, known.url, plan.file.nodes.token or token, authority or plan.authority
            )
    return found


def going_on(plan: Plan, journal: Path) -> bool:
    """Return True when the run of the plan goes on at this machine: its journal is readable and has a living manager."""
    if not journal_lives(journal):
        return False
    try:
        return read_record(journal).plan().file.run.name == plan.file.run.name
    except (OSError, JournalError, RunFileError):
        return False
