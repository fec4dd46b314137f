# SPDX-License-Identifier: Apache-2.0
"""The load of a node's process on its machine, as `/load` reports it, and the shares between two looks."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Thread:
    """Describes one thread; `cpu_s`: since it began; `processor`: where it ran last."""

    id: int
    name: str
    cpu_s: float
    processor: int


@dataclass(frozen=True)
class Load:
    """Holds the load of a process. `cpu_s`: since it began, with threads that have ended. `started_s`, `time_s`: since 1970, by the node's clock.
    `processors`: those it may use; `temperature_c`: the highest of its machine's sensors, None where they give none."""

    time_s: float
    started_s: float
    cpu_s: float
    resident_bytes: int
    open_files: int
    most_files: int
    processors: int
    threads: tuple[Thread, ...]
    temperature_c: float | None = None


@dataclass(frozen=True)
class Busy:
    """Holds the number of processors that something keeps busy; `processor`: where the thread ran last."""

    name: str
    processors: float
    processor: int


def busy(before: Load | None, now: Load) -> tuple[float, tuple[Busy, ...]]:
    """Return the busy processors of the process, and of each thread, the busiest first. They count from `before` when that is of the same process, else from
    its start."""
    if before is None or before.started_s != now.started_s or before.time_s >= now.time_s:
        before = Load(now.started_s, now.started_s, 0.0, 0, 0, 0, 0, ())
    seconds = now.time_s - before.time_s
    if seconds <= 0:
        return 0.0, ()
    earlier = {thread.id: thread.cpu_s for thread in before.threads}
    shares = (
        Busy(thread.name, max(0.0, thread.cpu_s - earlier.get(thread.id, 0.0)) / seconds, thread.processor)
        for thread in now.threads
    )
    return (now.cpu_s - before.cpu_s) / seconds, tuple(sorted(shares, key=lambda one: -one.processors))
