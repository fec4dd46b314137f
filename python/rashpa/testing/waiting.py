# SPDX-License-Identifier: Apache-2.0
"""Waits for a condition, with a deadline and a failure that names the condition. tools/check_waits.py allows no other way of waiting in tests; where
time itself is tested, a comment `wait: <reason>` says so."""

import asyncio
import inspect
import time
from collections.abc import Callable
from typing import Protocol, TypeVar

T = TypeVar("T")
PATIENCE_S = 60.0
GUARD_S = 240.0
"""The most seconds of a test's process where its time is not the subject: it costs nothing, and only a hanging one takes so long. Below pytest's own limit."""
_LOOK_S = 0.005  # of a loop, whose other tasks tell nobody
_WORK_S = 0.05
_TURNS = 100  # of an event loop, before the processor is left to others


class Process(Protocol):
    """A process that may end: `subprocess.Popen` is one."""

    def poll(self) -> int | None:
        """Return the exit status of the process, None while it runs."""


def eventually(
    condition: Callable[[], T],
    within_s: float = PATIENCE_S,
    what: str | Callable[[], str] = "",
    process: Process | None = None,
    look_s: float = 0.02,
) -> T:
    """Return `condition()` as soon as it is true. Raise AssertionError, with `what` or the condition's source, after `within_s` seconds, or when
    `process`, which should make it true, has ended."""
    latest = time.monotonic() + within_s
    while not (value := condition()):
        if process is not None and (status := process.poll()) is not None:
            if value := condition():
                return value
            raise AssertionError(f"{_named(condition, what)}: the process has ended with {status}")
        if time.monotonic() > latest:
            raise AssertionError(f"{_named(condition, what)}: not within {within_s:g} s")
        time.sleep(look_s)
    return value


async def eventually_in_loop(
    condition: Callable[[], T], within_s: float = PATIENCE_S, what: str | Callable[[], str] = ""
) -> T:
    """Return `condition()` as soon as other tasks of this loop have made it true. Raise AssertionError as `eventually()` does."""
    latest = time.monotonic() + within_s
    turns = 0
    while not (value := condition()):
        if time.monotonic() > latest:
            raise AssertionError(f"{_named(condition, what)}: not within {within_s:g} s")
        turns += 1
        await asyncio.sleep(0 if turns < _TURNS else _LOOK_S)
    return value


def slowed(seconds: float) -> float:
    """Return the time that this machine now takes for `seconds` of a process: more when other processes use its processors. Use it for a time limit
    in tests of times."""
    began, used = time.monotonic(), time.process_time()
    while time.process_time() - used < _WORK_S:
        pass
    return seconds * max(1.0, (time.monotonic() - began) / _WORK_S)


def _named(condition: Callable[[], object], what: str | Callable[[], str]) -> str:
    if callable(what):
        return what()
    if what:
        return what
    try:
        return inspect.getsource(condition).strip()
    except (OSError, TypeError):
        return repr(condition)
