# SPDX-License-Identifier: Apache-2.0
"""Sends requests to the manager of a run as files beside the run's journal; the manager writes its answer into the file.

The requester writes the file as a whole, holds a lock on it while it waits, and removes it. The manager writes the answer into the file, and removes
files without a waiting requester. A request is valid when the file belongs to the manager's own user: a user with access to the journal could take
over the run, and only such a user may give orders to its nodes. The manager refuses any other file of that name, with one log entry. There is one
request of a kind at a time.
"""

import asyncio
import contextlib
import errno
import fcntl
import json
import logging
import os
import secrets
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from rashpa.control.handover.journal import SUFFIX, journal_lives, no_such_run
from rashpa.data.base.rashpa_error import RashpaError
from rashpa.data.files.private_file import put_private
from rashpa.data.files.regular_file import open_own, read_own, reason

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_MOST_BYTES = 1 << 20
_LOOK_S = 0.05
_TURN_S = 0.05
_W = TypeVar("_W", bound="DataclassInstance")
_A = TypeVar("_A", bound="DataclassInstance")
_log = logging.getLogger(__name__)


class ManagerGoneError(RashpaError):
    """Reports that there is no manager to answer."""


class AnswerError(RashpaError, ValueError):
    """Reports an answer that this program does not understand."""


@dataclass(frozen=True)
class RequestKind(Generic[_W, _A]):
    """Describes a kind of request: the types of request and answer. `suffix`: the ending of its file's name, in place of the journal's."""

    suffix: str
    what: type[_W]
    answer: type[_A]

    def path(self, journal: Path) -> Path:
        """Return the path of the request file for the run that has this journal."""
        return journal.with_name(journal.name.removesuffix(SUFFIX) + self.suffix)


@dataclass(frozen=True)
class Wanted(Generic[_W]):
    """Holds a request. `id`: identifies this request."""

    id: str
    what: _W


@dataclass(frozen=True)
class _Content:
    """Holds the content of a request file."""

    id: str
    what: dict[str, Any]
    answer: dict[str, Any] | None = None

    @property
    def text(self) -> bytes:
        return json.dumps(asdict(self)).encode()


_CONTENT = TypeAdapter(_Content)


class RunRequest(Generic[_W, _A]):
    """Makes a request and waits for its answer. `close` removes the request."""

    def __init__(self, kind: RequestKind[_W, _A], journal: Path, what: _W) -> None:
        """Write a request file. Raise FileExistsError while an earlier request waits; OSError when the file cannot be written, or when the run
        belongs to another user."""
        self.path = kind.path(journal)
        _check_owner(journal)
        self._journal = journal
        self._answers = TypeAdapter(kind.answer)
        self._id = secrets.token_hex(8)
        self._file = put_private(self.path, _Content(self._id, asdict(what)).text, new=True)

    def answer(self) -> _A | None:
        """Return the manager's answer, None until there is one. Raise AnswerError when it cannot be decoded."""
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
        """Wait for the answer and return it. Raise ManagerGoneError when the manager ends without an answer, TimeoutError after `patience_s` seconds,
        or AnswerError."""
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
        """Remove the request, whether answered or not."""
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(self._file), self.path.lstat()):
                self.path.unlink()
        os.close(self._file)


class RequestDesk(Generic[_W, _A]):
    """Receives requests of one kind, for the manager of the run."""

    def __init__(self, kind: RequestKind[_W, _A], journal: Path) -> None:
        self._path = kind.path(journal)
        self._wants = TypeAdapter(kind.what)
        self._refused = ""

    def next(self) -> Wanted[_W] | None:
        """Return a request that is not answered yet, None when there is none. Refuse and remove an invalid file. Never raise OSError."""
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
        """Write the answer if the requester still waits. Never raise OSError."""
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
        """Remove a request without a waiting requester, such as one to an earlier run."""
        with contextlib.suppress(OSError):
            file = self._open()
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._path.unlink()
            finally:
                os.close(file)

    def close(self) -> None:
        """Accept no more requests: remove a request without an answer."""
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


@contextlib.asynccontextmanager
async def attended(
    desk: RequestDesk[_W, _A] | None, attend: Callable[[RequestDesk[_W, _A]], Coroutine[Any, Any, None]]
) -> AsyncIterator[None]:
    """Run `attend` with the desk during the context, if there is a desk. A request to an earlier run is removed first."""
    if desk is None:
        yield
        return
    desk.forget()
    task = asyncio.create_task(attend(desk))
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        desk.close()


def asked(
    kind: RequestKind[_W, _A], journal: Path, what: _W, patience_s: float, fault: Callable[[str], Exception], gone: str
) -> _A:
    """Ask the manager of a run, after earlier requests, and return its answer. `gone`: the advice for a run without a manager. Raise the exception
    that `fault` makes of the reason when there is no such run, no manager, or no answer within `patience_s` seconds."""
    ends = time.monotonic() + patience_s
    request = _placed(kind, journal, what, ends, fault, gone)
    try:
        return request.wait(max(0.0, ends - time.monotonic()))
    except ManagerGoneError:
        raise _without_manager(journal, fault, gone) from None
    except TimeoutError:
        raise fault(f"{journal}: no answer within {patience_s:.0f} s; see the run with `rashpa status`") from None
    except AnswerError as error:
        raise fault(str(error)) from None
    finally:
        request.close()


def _placed(
    kind: RequestKind[_W, _A], journal: Path, what: _W, ends: float, fault: Callable[[str], Exception], gone: str
) -> RunRequest[_W, _A]:
    """Write a request file. There is one request at a time; while another one exists, wait until the time `ends`."""
    while True:
        try:
            return RunRequest(kind, journal, what)
        except FileExistsError:
            if not journal_lives(journal):
                raise _without_manager(journal, fault, gone) from None
            if time.monotonic() > ends:
                raise fault(f"{kind.path(journal)}: somebody else has asked already; wait a moment") from None
        except OSError as error:
            if not journal.exists():
                raise fault(str(no_such_run(journal))) from None
            raise fault(f"{journal}: the run cannot be asked: {error.strerror}") from None
        time.sleep(_TURN_S)


def _without_manager(journal: Path, fault: Callable[[str], Exception], gone: str) -> Exception:
    if not journal.exists():
        return fault(str(no_such_run(journal)))
    return fault(f"{journal}: the run has no manager any more; {gone}")


def wanted_before(kind: RequestKind[_W, _A], journal: Path) -> _W | None:
    """Return the request of another requester that waits for its answer, None when there is none or it cannot be read."""
    with contextlib.suppress(OSError, ValueError):
        return TypeAdapter(kind.what).validate_python(_content_of(kind.path(journal)).what)
    return None


def _content_of(path: Path) -> _Content:
    """Read a request file. Raise OSError when there is none, or when it belongs to another user; ValueError when it is no request."""
    return _CONTENT.validate_json(read_own(path, _MOST_BYTES))


def _check_owner(journal: Path) -> None:
    """Raise PermissionError for a user whose request the manager would never answer."""
    with contextlib.suppress(FileNotFoundError):
        owner, own = journal.stat().st_uid, os.geteuid()
        if owner != own:
            raise PermissionError(
                errno.EPERM, f"the run is user {owner}'s, and this process user {own}'s; ask as that user", str(journal)
            )
