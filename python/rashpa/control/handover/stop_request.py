# SPDX-License-Identifier: Apache-2.0
"""Sends a request to end a run in order, from outside its manager (`rashpa stop`): a file beside the run's journal (`run_request`).

The manager checks for it while it waits for the emulators, and answers when the run is over.
"""

from dataclasses import dataclass
from pathlib import Path

from rashpa.control.handover.run_request import (
    AnswerError,
    ManagerGoneError,
    RequestDesk,
    RequestKind,
    RunRequest,
    wanted_before,
)
from rashpa.data.base.rashpa_error import RashpaError


class StopError(RashpaError, ValueError):
    """Reports that the run cannot be asked to stop; the text gives reason and remedy."""


@dataclass(frozen=True)
class Stop:
    """Holds a request. `by`: the user who asks, for people."""

    by: str


@dataclass(frozen=True)
class StopAnswer:
    """Holds the result of the run. `refused`: the reason why it goes on; `planned`: its number of frames in the run file, 0 when unknown."""

    refused: str = ""
    frames: int = 0
    planned: int = 0
    good: bool = False
    balanced: bool = False
    expected: int = 0
    complete: int = 0
    written: int = 0
    problem: str = ""
    reasons: tuple[str, ...] = ()


STOP = RequestKind("_stop.json", Stop, StopAnswer)


def request_path(journal: Path) -> Path:
    """Return the path of the request file for the run that has this journal."""
    return STOP.path(journal)


class StopRequest:
    """Makes a request and waits for its answer. `close` removes the request."""

    def __init__(self, journal: Path, by: str) -> None:
        """Write a request file. Raise StopError while an earlier request waits, or when the file cannot be written."""
        self.path = request_path(journal)
        self._journal = journal
        try:
            self._request = RunRequest(STOP, journal, Stop(by))
        except FileExistsError:
            before = wanted_before(STOP, journal)
            asked = before.by if before is not None else "somebody"
            raise StopError(f"{self.path}: {asked} has asked already; wait, or remove the file") from None
        except OSError as error:
            raise StopError(f"{self.path}: the run cannot be asked: {error.strerror}") from None

    def answer(self) -> StopAnswer | None:
        """Return the manager's answer, None until there is one. Raise StopError."""
        try:
            return self._request.answer()
        except AnswerError as error:
            raise StopError(f"{error}; see the run's report") from None

    def wait(self, timeout_s: float) -> StopAnswer:
        """Wait for the end of the run and return its result. Raise StopError when the manager dies before, or when it takes longer than `timeout_s`."""
        try:
            return self._request.wait(timeout_s)
        except AnswerError as error:
            text = f"{error}; see the run's report"
        except ManagerGoneError:
            text = f"{self._journal}: the manager has ended without an answer; look at its output and at the report"
        except TimeoutError:
            text = f"{self._journal}: the run has not ended within {timeout_s:.0f} s; see it with `rashpa status`"
        raise StopError(text)

    def close(self) -> None:
        self._request.close()


class StopRequests:
    """Receives requests, for the manager of a run."""

    def __init__(self, journal: Path) -> None:
        self._desk = RequestDesk(STOP, journal)

    def asked(self) -> str:
        """Return the user who asks, empty without a request."""
        wanted = self._desk.next()
        return wanted.what.by if wanted is not None else ""

    def answer(self, answer: StopAnswer) -> None:
        """Write the answer if the requester still waits. Never raise OSError."""
        if (wanted := self._desk.next()) is not None:
            self._desk.answer(wanted, answer)
        else:
            self._desk.forget()

    def forget(self) -> None:
        """Remove a request without a waiting requester, such as one to an earlier run."""
        self._desk.forget()
