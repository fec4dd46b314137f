# SPDX-License-Identifier: Apache-2.0
"""Where `rashpa join` and the manager of a run meet: two files beside the run's journal, a request and its answer.

Only who may give the run's nodes orders may ask: a request counts when it belongs to the user of the manager, as the journal does. Files are put in place
whole. One request at a time.
"""

import contextlib
import json
import os
import secrets
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from rashpa.control.groups import Joined
from rashpa.control.journal import SUFFIX, Journal, JournalError, journal_lives

_REQUEST, _ANSWER = "_join.json", "_joined.json"
_MOST_BYTES = 1 << 16
_POLL_S = 0.05
_T = TypeVar("_T")


@dataclass(frozen=True)
class Request:
    """`id`: of this request alone."""

    id: str
    joined: Joined


@dataclass(frozen=True)
class Answer:
    """`trouble`: why the receiver does not take part; empty when it does."""

    id: str
    text: str
    trouble: str


class JoinDesk:
    """The manager's side. `journal`: of its run."""

    def __init__(self, journal: Journal) -> None:
        self._request, self._answer = _paths(journal.path)

    def next(self) -> Request | None:
        """Who asks now. What is no request is taken away."""
        try:
            file = os.open(self._request, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return None
        with os.fdopen(file, "rb") as stream:
            own = os.fstat(file).st_uid == os.getuid()
            data = stream.read(_MOST_BYTES)
        with contextlib.suppress(OSError):
            self._request.unlink()
        return _parsed(Request, data) if own else None

    def answer(self, request: Request, text: str, trouble: str = "") -> None:
        """As far as it can be written: who asks gives up by itself."""
        with contextlib.suppress(OSError):
            _put(self._answer, Answer(request.id, text, trouble))

    def close(self) -> None:
        """Nobody is taken in any more."""
        for path in (self._request, self._answer):
            with contextlib.suppress(OSError):
                path.unlink()


def ask_to_join(journal: Path, joined: Joined, patience_s: float) -> Answer:
    """Asks the manager of a run, and waits. JournalError when nobody answers: the run has ended, or its manager."""
    request, answer = _paths(journal)
    asked = Request(secrets.token_hex(8), joined)
    try:
        _put(request, asked, new=True)
    except FileExistsError:
        raise JournalError(f"{request}: another receiver is joining; try again") from None
    except FileNotFoundError:
        raise JournalError(f"{journal}: the run has ended") from None
    except OSError as error:
        raise JournalError(f"{request}: cannot be written: {error.strerror}") from None
    try:
        return _awaited(lambda: _answer_to(asked, answer), journal, patience_s)
    finally:
        _withdraw(asked, request)


def _awaited(answered: Callable[[], Answer | None], journal: Path, patience_s: float) -> Answer:
    ends = time.monotonic() + patience_s
    while True:
        alive = journal_lives(journal)
        if (found := answered()) is not None:
            return found
        if not alive:
            raise JournalError(f"{journal}: the run has ended, or its manager has: `rashpa attach` takes it over")
        if time.monotonic() > ends:
            raise JournalError(
                f"{journal}: no answer within {patience_s:g} s; the run may be at its beginning or end: look with `rashpa status`"
            )
        time.sleep(_POLL_S)


def _answer_to(asked: Request, path: Path) -> Answer | None:
    try:
        found = _parsed(Answer, path.read_bytes()[:_MOST_BYTES])
    except OSError:
        return None
    if found is None or found.id != asked.id:
        return None
    with contextlib.suppress(OSError):
        path.unlink()
    return found


def _withdraw(asked: Request, path: Path) -> None:
    with contextlib.suppress(OSError):
        found = _parsed(Request, path.read_bytes()[:_MOST_BYTES])
        if found is not None and found.id == asked.id:
            path.unlink()


def _paths(journal: Path) -> tuple[Path, Path]:
    stem = journal.name.removesuffix(SUFFIX)
    return journal.with_name(stem + _REQUEST), journal.with_name(stem + _ANSWER)


def _parsed(kind: type[_T], data: bytes) -> _T | None:
    try:
        values: Any = json.loads(data)
        return TypeAdapter(kind).validate_python(values)
    except (ValueError, ValidationError):
        return None


def _put(path: Path, what: Request | Answer, *, new: bool = False) -> None:
    """`new`: FileExistsError when there is one."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.unlink(missing_ok=True)
    file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(file, "wb") as stream:
        stream.write(json.dumps(asdict(what)).encode())
    try:
        if new:
            os.link(beside, path)
        else:
            beside.rename(path)
    finally:
        beside.unlink(missing_ok=True)
