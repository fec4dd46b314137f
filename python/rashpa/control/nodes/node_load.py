# SPDX-License-Identifier: Apache-2.0
"""Describes the load of a node's process on its machine, as `/load` reports it, and computes shares between two snapshots."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Thread:
    """Describes one thread. `cpu_s`: processor time since it began; `processor`: the processor on which it ran last."""

    id: int
    name: str
    cpu_s: float
    processor: int


@dataclass(frozen=True)
class Load:
    """Holds the load of a process. `cpu_s`: processor time since it began, including ended threads. `started_s`, `time_s`: seconds since 1970, by the
    node's clock. `processors`: the number it may use; `temperature_c`: the highest sensor value of its machine, None without sensors."""

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
    """Holds the number of processors that a process or thread keeps busy. `processor`: the processor on which the thread ran last."""

    name: str
    processors: float
    processor: int


def busy(before: Load | None, now: Load) -> tuple[float, tuple[Busy, ...]]:
    """Return the number of busy processors of the process, and of each thread, the busiest first. They are averages since `before` if that is of the
    same process, otherwise since its start."""
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
