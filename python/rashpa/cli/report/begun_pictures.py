# SPDX-License-Identifier: Apache-2.0
"""Makes the pictures of a report in a forked process, on a second processor, while the command prints its tables and checks the files. A thread would
not help: both parts need the interpreter, a millisecond at a time."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import select
import signal
import sys
import threading
import time
import warnings
from typing import TYPE_CHECKING, NoReturn

from rashpa.cli.report.page_module import page_module
from rashpa.data.base.exit_code import ExitCode

if TYPE_CHECKING:
    from rashpa.cli.report.report_pictures import Shown
    from rashpa.control.books.outcome import Outcome

_PATIENCE_S = 20.0  # for the forked process; then this one makes them itself
_PIECE = 1 << 20
_HARMLESS = ("MainThread", "telling")  # threads that hold no lock that pictures need


class BegunPictures:
    """Holds the pictures and curves of a report while they are being made. The outcome must not change what it says about buffers and files. Where no
    process can be forked, or the forked one fails, `result` makes them."""

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome
        self._process, self._pipe = 0, -1
        # a lock that another thread holds at the fork would stay locked in the new process
        if all(thread.name in _HARMLESS for thread in threading.enumerate()):
            with contextlib.suppress(OSError):
                self._fork()

    def result(self) -> dict[str, Shown]:
        """Return the pictures and curves by buffer. Raise the error with which they failed."""
        if (made := self._from_process()) is not None:
            return made
        page_module()
        from rashpa.cli.report.report_pictures import pictures_of

        return pictures_of(self._outcome)

    def _fork(self) -> None:
        there, here = os.pipe()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # of Python, for processes with threads
                process = os.fork()
        except OSError:
            os.close(there)
            os.close(here)
            raise
        if process == 0:
            self._send(here)
        os.close(here)
        self._process, self._pipe = process, there

    def _send(self, pipe: int) -> NoReturn:
        """Make the pictures and write them to the pipe, in the forked process, and end it. A failure is silent: the other process finds it again."""
        with contextlib.suppress(BaseException):
            # a warning would be written by a thread that this process has not
            sys.stdout = sys.stderr = io.StringIO()
            page_module()
            from rashpa.cli.report.report_pictures import pictures_of

            with open(pipe, "wb") as file:
                pickle.dump(pictures_of(self._outcome), file, pickle.HIGHEST_PROTOCOL)
            os._exit(ExitCode.GOOD)
        os._exit(ExitCode.FAILED)

    def _from_process(self) -> dict[str, Shown] | None:
        """Return the result of the forked process, None without one. The process has ended then."""
        if not self._process:
            return None
        sent = self._received()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._process, signal.SIGKILL)  # it has nothing more to do
        os.waitpid(self._process, 0)
        os.close(self._pipe)
        self._process = 0
        with contextlib.suppress(Exception):
            found: dict[str, Shown] = pickle.loads(sent)  # noqa: S301  of this program
            return found
        return None

    def _received(self) -> bytes:
        """Return all that the forked process writes until it closes the pipe, empty when that takes too long."""
        parts: list[bytes] = []
        ends = time.monotonic() + _PATIENCE_S
        while select.select([self._pipe], [], [], max(0.0, ends - time.monotonic()))[0]:
            part = os.read(self._pipe, _PIECE)
            if not part:
                return b"".join(parts)
            parts.append(part)
        return b""
