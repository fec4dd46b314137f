# SPDX-License-Identifier: Apache-2.0
"""A request that a run end in order, from who is not its manager (`rashpa stop`): a file beside the journal.

Who asks makes it, holds a lock on it while he waits, and removes it. The manager looks for it while it waits for the emulators, and writes its answer
into it when the run is over; one whose maker has gone is removed then.
"""

import contextlib
import fcntl
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from rashpa.control.journal import SUFFIX
from rashpa.data.regular_file import read_regular

_SUFFIX = "_stop.json"
_MOST_BYTES = 1 << 20


class StopError(ValueError):
    """The run cannot be asked; says why, and what to try."""


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


_ANSWER = TypeAdapter(StopAnswer)


def request_path(journal: Path) -> Path:
    """Of the run that has this journal."""
    return journal.with_name(journal.name.removesuffix(SUFFIX) + _SUFFIX)


class StopRequest:
    """Of who asks. Removed by `close`."""

    def __init__(self, journal: Path, by: str) -> None:
        """StopError when another one has asked already, or nothing can be written there."""
        self.path = request_path(journal)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            self._file = os.open(self.path, flags, 0o600)
        except FileExistsError:
            asked = _text_of(self.path).get("by", "somebody")
            raise StopError(f"{self.path}: {asked} has asked already; wait, or remove the file") from None
        except OSError as error:
            raise StopError(f"{self.path}: the run cannot be asked: {error.strerror}") from None
        with contextlib.suppress(OSError):  # file systems without locks
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.write(self._file, json.dumps({"by": by}).encode())

    def answer(self) -> StopAnswer | None:
        """Of the manager; None until it has given one."""
        values = _text_of(self.path).get("answer")
        try:
            return None if values is None else _ANSWER.validate_python(values)
        except ValidationError:
            raise StopError(f"{self.path}: not an answer of this version of rashpa; see the run's report") from None

    def close(self) -> None:
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(self._file), self.path.stat()):
                self.path.unlink()
        os.close(self._file)


class StopRequests:
    """Of a run, as its manager sees them."""

    def __init__(self, journal: Path) -> None:
        self._path = request_path(journal)

    def asked(self) -> str:
        """By whom; empty while nobody has."""
        values = _text_of(self._path)
        return str(values.get("by", "")) if "answer" not in values else ""

    def answer(self, answer: StopAnswer) -> None:
        """To who waits for it; nobody else needs one. OSError never."""
        with contextlib.suppress(OSError):
            file = os.open(self._path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                values = _text_of(self._path)
                text = json.dumps({**values, "answer": asdict(answer)}).encode()
                os.pwrite(file, text.ljust(os.fstat(file).st_size), 0)
            finally:
                os.close(file)
        self.forget()

    def forget(self) -> None:
        """Removes a request that nobody waits for any more, as of an earlier run."""
        with contextlib.suppress(OSError):
            file = os.open(self._path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._path.unlink()
            finally:
                os.close(file)


def _text_of(path: Path) -> dict[str, Any]:
    """Empty when there is no file, or it is half written."""
    try:
        values = json.loads(read_regular(path, _MOST_BYTES))
    except (OSError, ValueError):
        return {}
    return values if isinstance(values, dict) else {}
