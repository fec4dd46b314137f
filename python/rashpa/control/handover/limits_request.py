# SPDX-License-Identifier: Apache-2.0
"""Requests to change limits of vetoes while a run goes on, from outside its manager (`rashpa limits`, the dashboard). They lie beside the run's journal
(`run_request`)."""

from dataclasses import dataclass, field
from pathlib import Path

from rashpa.control.handover.run_request import RequestKind, asked
from rashpa.control.orders.limit_values import LimitsError


@dataclass(frozen=True)
class Limits:
    """Holds a request. `step`: of the buffer's kernels, by the reason of its veto, its name or its number; `values`: texts by key; `buffer`: of the run file,
    empty where there is one; `by`: the requester, for people."""

    step: str
    values: dict[str, str] = field(default_factory=dict)
    buffer: str = ""
    by: str = ""


@dataclass(frozen=True)
class LimitsAnswer:
    """Holds the changes, a line each, or the reason of a refusal."""

    done: str = ""
    refused: str = ""


LIMITS = RequestKind("_limits.json", Limits, LimitsAnswer)


def set_limits(journal: Path, wanted: Limits, patience_s: float) -> str:
    """Ask the manager of a run for other limits, behind earlier requests. Return the changes, a line each. Raise LimitsError when it refuses."""
    answer = asked(LIMITS, journal, wanted, patience_s, LimitsError, "take it over with `rashpa attach`")
    if answer.refused:
        raise LimitsError(answer.refused)
    return answer.done
