# SPDX-License-Identifier: Apache-2.0
"""Runs long work in a thread, shows its progress, and ends it within a second of Ctrl-C, even during a library call."""

import contextlib
import os
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from rashpa.cli.run.pace import SAY_EVERY_S
from rashpa.cli.teller import Teller
from rashpa.data.base import telling
from rashpa.data.base.ended import ended_in_order
from rashpa.data.base.exit_code import ExitCode

_LOOK_S = 0.1
_PATIENCE_S = 0.3  # for work that was asked to end; a library that does not look ends with the process
_T = TypeVar("_T")


class StoppedError(BaseException):
    """Ends work that a user has asked to stop."""


class Work:
    """Holds the progress of a piece of work and a request to stop it. One thread does the work; another thread reads the progress."""

    def __init__(self) -> None:
        self._stopped = threading.Event()
        self._share: Callable[[], float] = float
        self.doing = ""

    def begin(self, doing: str, share: Callable[[], float] = float) -> None:
        """Begin the step `doing`; `share` returns its finished share, 0 to 1. Raise StoppedError when the work must end."""
        self._share, self.doing = share, doing
        self._end_if_stopped()

    def is_at(self, share: float) -> None:
        """Set the finished share of the step, 0 to 1. Raise StoppedError when the work must end."""
        self._share = lambda: share
        self._end_if_stopped()

    @property
    def share(self) -> float:
        """Return the finished share of the step, 0 to 1."""
        return min(max(self._share(), 0.0), 1.0)

    def stop(self) -> None:
        """Ask the work to end."""
        self._stopped.set()

    def _end_if_stopped(self) -> None:
        if self._stopped.is_set():
            raise StoppedError


class _Doing(Generic[_T]):
    """Does the work in a thread and keeps its result or its exception."""

    def __init__(self, do: Callable[[Work], _T], work: Work) -> None:
        self._do, self._work = do, work
        self._made: list[_T] = []
        self._error: BaseException | None = None
        self.thread = threading.Thread(target=self._run, name="work", daemon=True)

    def _run(self) -> None:
        try:
            self._made.append(self._do(self._work))
        except BaseException as error:  # noqa: BLE001  (the waiting thread gets it)
            self._error = error

    def result(self) -> _T:
        """Return the result of the work, or raise its exception."""
        if self._error is not None:
            raise self._error
        return self._made[0]


def carried_out(tell: Teller, do: Callable[[Work], _T], undo: Callable[[], None]) -> _T:
    """Do the work in a thread, show its progress, and return its result. After Ctrl-C, ask the work to end, call `undo` to remove an unfinished
    result, and end the process."""
    work = Work()
    doing = _Doing(do, work)
    try:
        with ended_in_order():
            doing.thread.start()
            _watch(doing.thread, work)
    except KeyboardInterrupt:
        work.stop()
        doing.thread.join(_PATIENCE_S)
        with contextlib.suppress(OSError):
            undo()
        tell.complain("interrupted; what was half made is taken away")
        telling.drain()
        os._exit(ExitCode.INTERRUPTED)  # a library may be at something for a minute yet
    return doing.result()


def _watch(thread: threading.Thread, work: Work) -> None:
    """Show the progress until `thread` ends: a bar on a terminal, otherwise a line every few seconds."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=16), TaskProgressColumn())
    said = time.monotonic()
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("", total=1.0)
        while thread.is_alive():
            thread.join(_LOOK_S)
            bar.update(task, description=work.doing, completed=work.share)
            if not console.is_terminal and time.monotonic() - said >= SAY_EVERY_S:
                said = time.monotonic()
                console.print(f"{work.doing}: {work.share:.0%}", markup=False, highlight=False, soft_wrap=True)
