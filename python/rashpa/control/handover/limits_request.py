# SPDX-License-Identifier: Apache-2.0
"""Sends requests to change limits of vetoes in a run to its manager, from outside (`rashpa limits`, the dashboard). They are files beside the run's
journal (`run_request`)."""

from dataclasses import dataclass, field
from pathlib import Path

from rashpa.control.handover.run_request import RequestKind, asked
from rashpa.control.orders.limit_values import LimitsError


@dataclass(frozen=True)
class Limits:
    """Holds a request. `step`: one of the buffer's kernels, by the reason of its veto, its name or its number; `values`: texts by key; `buffer`: its
    name in the run file, may be empty when there is only one; `by`: the user who asks, for people."""

    step: str
    values: dict[str, str] = field(default_factory=dict)
    buffer: str = ""
    by: str = ""


@dataclass(frozen=True)
class LimitsAnswer:
    """Holds the changes, one line for each, or the reason of a refusal."""

    done: str = ""
    refused: str = ""


LIMITS = RequestKind("_limits.json", Limits, LimitsAnswer)


def set_limits(journal: Path, wanted: Limits, patience_s: float) -> str:
    """Ask the manager of a run to change limits, after earlier requests. Return the changes, one line for each. Raise LimitsError when it refuses."""
    answer = asked(LIMITS, journal, wanted, patience_s, LimitsError, "take it over with `rashpa attach`")
    if answer.refused:
        raise LimitsError(answer.refused)
    return answer.done
