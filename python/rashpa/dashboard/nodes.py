# SPDX-License-Identifier: Apache-2.0
"""Finds the nodes to show: those in the journal of the run that goes on, otherwise those with a URL in the run file."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rashpa.control.handover.journal import JournalError, Record, journal_lives, journal_path, read_record
from rashpa.control.handover.runs_here import clients_of
from rashpa.control.nodes.named_nodes import clients_of_plan, clients_of_urls, nodes_elsewhere
from rashpa.control.nodes.node_client import NodeClient
from rashpa.control.plan.model import Plan
from rashpa.control.runfile.run_file_reader import RunFileError

USUAL = ("http://127.0.0.1:4780", "http://127.0.0.1:4781")


@dataclass(frozen=True)
class Going:
    """Describes a run that goes on. `managed`: True when its manager is alive."""

    record: Record
    plan: Plan
    managed: bool

    @property
    def identity(self) -> tuple[str, float]:
        """Return a value that identifies the run."""
        return self.record.owner, self.record.began


class Nodes:
    """Finds the nodes. `plan`: None when no run is given; then `urls` are the nodes. `token`, `authority`: for nodes that a run has not started
    itself."""

    def __init__(self, plan: Plan | None, urls: Sequence[str], token: str, authority: str) -> None:
        self.plan = plan
        self._urls = urls
        self._token = token
        self._authority = authority
        self._read: tuple[tuple[int, int, int], Going] | None = None

    @property
    def journal(self) -> Path | None:
        """Return the path of the journal for runs of the plan, None without a plan."""
        return journal_path(self.plan) if self.plan is not None else None

    def going(self) -> Going | None:
        """Return the run that goes on, as far as this user may know it. Its journal is read again when it has changed."""
        path = self.journal
        if path is None:
            return None
        try:
            facts = path.stat()
            key = (facts.st_ino, facts.st_mtime_ns, facts.st_size)
            if self._read is None or self._read[0] != key:
                record = read_record(path)
                self._read = key, Going(record, record.plan(), managed=True)
        except (OSError, JournalError, RunFileError):
            self._read = None
            return None
        found = self._read[1]
        return Going(found.record, found.plan, journal_lives(path))

    def clients(self, going: Going | None) -> dict[str, NodeClient]:
        """Return clients by node name: of the nodes of the run, or between runs of the nodes that stay up. Raise NodeError for an invalid certificate
        file."""
        if going is not None:
            return clients_of(going.record, going.plan, self._token, self._authority)
        if self.plan is not None:
            clients = clients_of_plan(self.plan, self._token, self._authority)
            return dict(zip((node.name for node in nodes_elsewhere(self.plan)), clients, strict=True))
        return dict(zip(self._urls, clients_of_urls(self._urls, self._token, self._authority), strict=True))
