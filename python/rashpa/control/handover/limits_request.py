# SPDX-License-Identifier: Apache-2.0
"""Requests to change limits of vetoes while a run goes on, from outside its manager (`rashpa limits`, the dashboard). They lie beside the run's journal
(`run_request`)."""

import time
from dataclasses import dataclass, field
from pathlib import Path

from rashpa.control.handover.journal import no_such_run
from rashpa.control.handover.run_request import AnswerError, ManagerGoneError, RequestKind, RunRequest
from rashpa.control.orders.limit_values import LimitsError

_TURN_S = 0.05


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
    ends = time.monotonic() + patience_s
    request = _request(journal, wanted, ends)
    try:
        answer = request.wait(max(0.0, ends - time.monotonic()))
    except ManagerGoneError:
        if not journal.exists():
            raise LimitsError(str(no_such_run(journal))) from None
        raise LimitsError(f"{journal}: the run has no manager any more; take it over with `rashpa attach`") from None
    except TimeoutError:
        raise LimitsError(f"{journal}: no answer within {patience_s:.0f} s; see the run with `rashpa status`") from None
    except AnswerError as error:
        raise LimitsError(str(error)) from None
    finally:
        request.close()
    if answer.refused:
        raise LimitsError(answer.refused)
    return answer.done


def _request(journal: Path, wanted: Limits, ends: float) -> RunRequest[Limits, LimitsAnswer]:
    """Put a request in place; there is one at a time, and others wait until `ends`. Raise LimitsError when it cannot be made."""
    while True:
        try:
            return RunRequest(LIMITS, journal, wanted)
        except FileExistsError:
            if time.monotonic() > ends:
                raise LimitsError(f"{LIMITS.path(journal)}: somebody else has asked already; wait a moment") from None
        except OSError as error:
            if not journal.exists():
                raise LimitsError(str(no_such_run(journal))) from None
            raise LimitsError(f"{journal}: the run cannot be asked: {error.strerror}") from None
        time.sleep(_TURN_S)
