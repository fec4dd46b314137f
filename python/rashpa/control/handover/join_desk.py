# SPDX-License-Identifier: Apache-2.0
"""The meeting point of `rashpa join` and the manager of a run: a request beside the run's journal (`run_request`), and its answer."""

import time
from dataclasses import dataclass
from pathlib import Path

from rashpa.control.handover.journal import Journal, JournalError, journal_lives, no_such_run
from rashpa.control.handover.run_request import (
    AnswerError,
    ManagerGoneError,
    RequestDesk,
    RequestKind,
    RunRequest,
    Wanted,
)
from rashpa.control.plan.groups import Joined

_TURN_S = 0.05


@dataclass(frozen=True)
class Answer:
    """Holds the manager's answer. `trouble`: why the receiver does not take part; empty when it does."""

    text: str
    trouble: str


@dataclass(frozen=True)
class Request:
    """Holds a request to join. `id`: of this request alone."""

    id: str
    joined: Joined


JOIN = RequestKind("_join.json", Joined, Answer)


class JoinDesk:
    """Takes requests at the manager's side. `journal`: of its run."""

    def __init__(self, journal: Journal) -> None:
        self._desk = RequestDesk(JOIN, journal.path)

    def next(self) -> Request | None:
        """Return the request that waits for an answer, None without one. Remove a file that is no request."""
        wanted = self._desk.next()
        return Request(wanted.id, wanted.what) if wanted is not None else None

    def answer(self, request: Request, text: str, trouble: str = "") -> None:
        """Answer a request, as far as the file can be written: a requester without answer gives up by itself."""
        self._desk.answer(Wanted(request.id, request.joined), Answer(text, trouble))

    def close(self) -> None:
        """Take no more requests."""
        self._desk.close()


def ask_to_join(journal: Path, joined: Joined, patience_s: float) -> Answer:
    """Ask the manager of a run, behind earlier requests, and wait for the answer. Raise JournalError when none comes, since the run or its manager has ended."""
    ends = time.monotonic() + patience_s
    request = _asked(journal, joined, ends)
    try:
        return request.wait(ends - time.monotonic())
    except ManagerGoneError:
        text = _gone(journal)
    except TimeoutError:
        text = f"{journal}: no answer within {patience_s:g} s; the run may be at its beginning or end: look with `rashpa status`"
    except AnswerError as error:
        text = str(error)
    finally:
        request.close()
    raise JournalError(text)


def _asked(journal: Path, joined: Joined, ends: float) -> RunRequest[Joined, Answer]:
    path = JOIN.path(journal)
    while True:
        try:
            return RunRequest(JOIN, journal, joined)
        except FileExistsError:
            if not journal_lives(journal):
                raise JournalError(_gone(journal)) from None
            if time.monotonic() > ends:
                raise JournalError(f"{path}: another receiver is joining; try again") from None
            time.sleep(_TURN_S)
        except FileNotFoundError:
            raise no_such_run(journal) from None
        except OSError as error:
            raise JournalError(f"{path}: cannot be written: {error.strerror}") from None


def _gone(journal: Path) -> str:
    return f"{journal}: the run has ended, or its manager has: `rashpa attach` takes it over"
