# SPDX-License-Identifier: Apache-2.0
"""Measures the time in which this process has run. A clock continues while a process is stopped (SIGSTOP, a closed lid, a busy virtual machine), but
that time makes no other process late."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable

_STEP_S = 0.25  # between two looks at the clock while something is waited for
_LATE_S = 0.25  # a look that comes later than this has found a gap


def since_boot() -> float:
    """Return the seconds since boot, which are the same for all processes of this machine and independent of changes of the clock."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class RunningClock:
    """Counts seconds between calls; each interval counts for at most `longest_s`. `now`: the monotonic clock."""

    def __init__(self, longest_s: float, now: Callable[[], float] = time.monotonic) -> None:
        self._longest_s = longest_s
        self._now = now
        self._seen = now()
        self._time = 0.0

    def look(self) -> float:
        """Return the counted time; only differences between calls have a meaning."""
        now = self._now()
        self._time += min(now - self._seen, self._longest_s)
        self._seen = now
        return self._time


@contextlib.asynccontextmanager
async def within(seconds: float) -> AsyncIterator[None]:
    """Limit the block as `asyncio.timeout` does, in running time. After a gap, pending events are handled before the time-out is checked. Raise
    TimeoutError."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(None) as limit:
        waiting = _Wait(loop, seconds, lambda: limit.reschedule(loop.time()))
        try:
            yield
        finally:
            waiting.cancel()


class _Wait:
    """Calls `over` when this process has run for a number of seconds; time in which it was stopped does not count."""

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float, over: Callable[[], None]) -> None:
        self._loop = loop
        self._left = seconds
        self._over = over
        self._sleep()

    def cancel(self) -> None:
        self._timer.cancel()

    def _sleep(self) -> None:
        step = max(0.0, min(self._left, _STEP_S))
        self._left -= step
        self._due = self._loop.time() + step
        self._timer = self._loop.call_at(self._due, self._look)

    def _look(self) -> None:
        late = self._loop.time() - self._due
        # a loop that is behind by a gap has answers to read first
        if self._left > 0.0 or late > _LATE_S:
            self._sleep()
        else:
            self._over()
