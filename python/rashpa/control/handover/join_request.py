# SPDX-License-Identifier: Apache-2.0
"""Requests of `rashpa join` to the manager of a run (`run_request`): a receiver that takes part from now on, and its answer."""

from dataclasses import dataclass
from pathlib import Path

from rashpa.control.handover.journal import JournalError
from rashpa.control.handover.run_request import RequestKind, asked
from rashpa.control.plan.groups import Joined


@dataclass(frozen=True)
class JoinAnswer:
    """Holds the manager's answer. `trouble`: why the receiver does not take part; empty when it does."""

    text: str
    trouble: str = ""


JOIN = RequestKind("_join.json", Joined, JoinAnswer)


def ask_to_join(journal: Path, joined: Joined, patience_s: float) -> JoinAnswer:
    """Ask the manager of a run, behind earlier requests, and wait for the answer. Raise JournalError when none comes, since the run or its manager has ended."""
    return asked(JOIN, journal, joined, patience_s, JournalError, "`rashpa attach` takes it over")
