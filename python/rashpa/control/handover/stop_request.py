# SPDX-License-Identifier: Apache-2.0
"""A request that a run end in order, from who is not its manager (`rashpa stop`): beside the run's journal (`run_request`).

The manager looks for it while it waits for the emulators, and answers when the run is over.
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


class StopError(ValueError):
    """The run cannot be asked; says why, and what to try."""


@dataclass(frozen=True)
class Stop:
    """`by`: who wants it, for people."""

    by: str


@dataclass(frozen=True)
class StopAnswer:
    """What became of the run. `refused`: why it goes on; `planned`: its frames by the run file, 0 where nobody knew."""

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
    """Of the run that has this journal."""
    return STOP.path(journal)


class StopRequest:
    """Of who asks. Removed by `close`."""

    def __init__(self, journal: Path, by: str) -> None:
        """StopError when another one has asked already, or nothing can be written there."""
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
        """Of the manager; None until it has given one. StopError."""
        try:
            return self._request.answer()
        except AnswerError as error:
            raise StopError(f"{error}; see the run's report") from None

    def wait(self, timeout_s: float) -> StopAnswer:
        """For the end of the run. StopError when the manager dies before, or takes too long."""
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
    """Of a run, as its manager sees them."""

    def __init__(self, journal: Path) -> None:
        self._desk = RequestDesk(STOP, journal)

    def asked(self) -> str:
        """By whom; empty while nobody has."""
        wanted = self._desk.next()
        return wanted.what.by if wanted is not None else ""

    def answer(self, answer: StopAnswer) -> None:
        """To who waits for it; nobody else needs one. OSError never."""
        if (wanted := self._desk.next()) is not None:
            self._desk.answer(wanted, answer)
        else:
            self._desk.forget()

    def forget(self) -> None:
        """Removes a request that nobody waits for any more, as of an earlier run."""
        self._desk.forget()
