# SPDX-License-Identifier: Apache-2.0
"""Sends requests of `rashpa join` to the manager of a run (`run_request`), to add a receiver to the run."""

from dataclasses import dataclass
from pathlib import Path

from rashpa.control.handover.journal import JournalError
from rashpa.control.handover.run_request import RequestKind, asked
from rashpa.control.plan.groups import Joined


@dataclass(frozen=True)
class JoinAnswer:
    """Holds the manager's answer. `trouble`: the reason why the receiver does not join; empty when it does."""

    text: str
    trouble: str = ""


JOIN = RequestKind("_join.json", Joined, JoinAnswer)


def ask_to_join(journal: Path, joined: Joined, patience_s: float) -> JoinAnswer:
    """Ask the manager of a run to add the receiver, after earlier requests, and return its answer. Raise JournalError when none comes because the run
    or its manager has ended."""
    return asked(JOIN, journal, joined, patience_s, JournalError, "`rashpa attach` takes it over")
