# SPDX-License-Identifier: Apache-2.0
"""How somebody asks the manager of a run for something: by a file beside the run's journal, which gets its answer.

Who asks puts it in place whole, holds a lock on it while he waits, and removes it. The manager writes the answer into it, and removes one that nobody
waits for. A request counts when it is a file of the manager's own user, as the journal is: who has the journal may take the run over, and nobody else
may give its nodes orders. Anything else in its place is refused, once, in the log. One request of a kind at a time.
"""

import contextlib
import errno
import fcntl
import json
import logging
import os
import secrets
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from rashpa.control.handover.journal import SUFFIX, journal_lives
from rashpa.data.files.private_file import put_private
from rashpa.data.files.regular_file import open_own, read_own, reason

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_MOST_BYTES = 1 << 20
_LOOK_S = 0.05
_W = TypeVar("_W", bound="DataclassInstance")
_A = TypeVar("_A", bound="DataclassInstance")
_log = logging.getLogger(__name__)


class ManagerGoneError(Exception):
    """Nobody is left who could answer."""


class AnswerError(ValueError):
    """It has been answered, and nobody here understands how."""


@dataclass(frozen=True)
class RequestKind(Generic[_W, _A]):
    """`suffix`: of its files, in place of the journal's; what can be wanted, and what the answer says."""

    suffix: str
    what: type[_W]
    answer: type[_A]

    def path(self, journal: Path) -> Path:
        """Of the run that has this journal."""
        return journal.with_name(journal.name.removesuffix(SUFFIX) + self.suffix)


@dataclass(frozen=True)
class Wanted(Generic[_W]):
    """`id`: of this request alone."""

    id: str
    what: _W


@dataclass(frozen=True)
class _Content:
    """Of the file."""

    id: str
    what: dict[str, Any]
    answer: dict[str, Any] | None = None

    @property
    def text(self) -> bytes:
        return json.dumps(asdict(self)).encode()


_CONTENT = TypeAdapter(_Content)


class RunRequest(Generic[_W, _A]):
    """Of who asks. Removed by `close`."""

    def __init__(self, kind: RequestKind[_W, _A], journal: Path, what: _W) -> None:
        """FileExistsError when somebody else has asked and waits, OSError when nothing can be written there, or the run is another user's."""
        self.path = kind.path(journal)
        _check_owner(journal)
        self._journal = journal
        self._answers = TypeAdapter(kind.answer)
        self._id = secrets.token_hex(8)
        self._file = put_private(self.path, _Content(self._id, asdict(what)).text, new=True)

    def answer(self) -> _A | None:
        """Of the manager; None until he has given one. AnswerError."""
        try:
            found = _content_of(self.path)
        except (OSError, ValueError):  # gone, or half written
            return None
        if found.id != self._id or found.answer is None:
            return None
        try:
            return self._answers.validate_python(found.answer)
        except ValidationError:
            raise AnswerError(f"{self.path}: not an answer of this version of rashpa") from None

    def wait(self, patience_s: float) -> _A:
        """For the answer. ManagerGoneError when the manager goes without one, TimeoutError, AnswerError."""
        ends = time.monotonic() + patience_s
        while True:
            alive = journal_lives(self._journal)
            if (found := self.answer()) is not None:
                return found
            if not alive:
                raise ManagerGoneError
            if time.monotonic() > ends:
                raise TimeoutError
            time.sleep(_LOOK_S)

    def close(self) -> None:
        """Withdraws it, answered or not."""
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(self._file), self.path.lstat()):
                self.path.unlink()
        os.close(self._file)


class RequestDesk(Generic[_W, _A]):
    """Requests of one kind, as the manager of the run sees them."""

    def __init__(self, kind: RequestKind[_W, _A], journal: Path) -> None:
        self._path = kind.path(journal)
        self._wants = TypeAdapter(kind.what)
        self._refused = ""

    def next(self) -> Wanted[_W] | None:
        """What is wanted and has no answer. What is no request is refused and taken away. OSError never."""
        try:
            found = _content_of(self._path)
            what = None if found.answer is not None else self._wants.validate_python(found.what)
        except FileNotFoundError:
            self._refused = ""
        except OSError as error:
            self._refuse(reason(error))
        except ValueError:  # of models, too
            self._refuse("it is none of this version of rashpa")
        else:
            return Wanted(found.id, what) if what is not None else None
        return None

    def answer(self, wanted: Wanted[_W], answer: _A) -> None:
        """To who waits for it; nobody else needs one. OSError never."""
        with contextlib.suppress(OSError, ValueError), open_own(self._path) as own:
            found = _CONTENT.validate_json(own.read(_MOST_BYTES))
            file = self._open()
            try:
                if found.id == wanted.id and os.path.samestat(os.fstat(own.fileno()), os.fstat(file)):
                    text = replace(found, answer=asdict(answer)).text
                    os.pwrite(file, text.ljust(os.fstat(file).st_size), 0)
            finally:
                os.close(file)
        self.forget()

    def forget(self) -> None:
        """Removes a request that nobody waits for any more, as of an earlier run."""
        with contextlib.suppress(OSError):
            file = self._open()
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._path.unlink()
            finally:
                os.close(file)

    def close(self) -> None:
        """Nothing is taken any more: what has no answer is removed."""
        if self.next() is not None:
            self._remove()
        else:
            self.forget()

    def _open(self) -> int:
        return os.open(self._path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)

    def _refuse(self, why: str) -> None:
        self._remove()
        if why != self._refused:  # it may be there for ever, where it cannot be removed
            self._refused = why
            _log.warning("%s: a request that was refused: %s", self._path, why)

    def _remove(self) -> None:
        with contextlib.suppress(OSError):
            self._path.unlink()


def wanted_before(kind: RequestKind[_W, _A], journal: Path) -> _W | None:
    """What somebody else has asked for, who waits for his answer; None when that cannot be read."""
    with contextlib.suppress(OSError, ValueError):
        return TypeAdapter(kind.what).validate_python(_content_of(kind.path(journal)).what)
    return None


def _content_of(path: Path) -> _Content:
    """OSError when there is none, or it is none of this user; ValueError when it is no request."""
    return _CONTENT.validate_json(read_own(path, _MOST_BYTES))


def _check_owner(journal: Path) -> None:
    """PermissionError for who would wait for nothing."""
    with contextlib.suppress(FileNotFoundError):
        owner, own = journal.stat().st_uid, os.geteuid()
        if owner != own:
            raise PermissionError(
                errno.EPERM, f"the run is user {owner}'s, and this process user {own}'s; ask as that user", str(journal)
            )
