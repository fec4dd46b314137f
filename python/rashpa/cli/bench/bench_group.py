# SPDX-License-Identifier: Apache-2.0
"""Measures the image rate of 1, 2 and 4 receivers behind slow links, and of 4 receivers of which one is killed. Also measures how long a killed
receiver was still sent images.

Slow links are emulated: before each image, each DTP waits (the fault `stall`) as long as the image would take on the wire. This fixes the highest
image rate of a receiver, however fast its processors are. Everything runs on this machine, by user-space RoCE over loopback.
"""

import asyncio
import contextlib
import json
import os
import signal
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rashpa.control.books.outcome import Outcome, Progress
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.run.manager import Manager
from rashpa.control.telegrams.telegram import MemberStatus
from rashpa.data.base.rashpa_error import RashpaError

DIES = "r0"
BAR_MS = 200.0
_RUN = """\
[run]
name = "group"
frames = {frames}
output = "."
existing = "replace"
[detector]
width = 128
height = 64
[dataset]
kind = "pattern"
width = 128
height = 64
[faults]
stall = 1.0
stall_us = {stall_us}
{receivers}
[[buffer]]
name = "full"
{where}
slots = {slots}
stack = {stack}
sink = [{{ kind = "null" }}]
"""
_SLOTS, _STACK = 20, 5
_BEGINNING_S = 1.0  # which is left out
_AFTER_S = 0.5  # … and after a death, of which one part is the time until it is noticed


class BenchError(RashpaError, RuntimeError):
    """Says why a run cannot be measured."""


@dataclass
class Course:
    """Observes a run: records, over time, the number of images sent to receivers. It kills one receiver after `kill_after_s` seconds; 0 kills none."""

    kill_after_s: float
    manager: Manager | None = None
    given: list[tuple[float, int]] = field(default_factory=list)
    killed: float = 0.0
    last_given: float = 0.0  # to the dead one, as the emulator says

    def __call__(self, progress: Progress) -> None:
        sources = [status.source for status in progress.emulators.values() if status.source]
        if progress.phase != "running" or not sources:
            return
        now = time.monotonic()
        self.given.append((now, sum(dtp.images_sent for dtp in sources[0].dtps)))
        if self.killed:
            members = [member for group in sources[0].groups for member in group.members if member.name == DIES]
            self.last_given = max(now - _dead(members).given_ago_ms / 1000, self.killed)
        elif self.kill_after_s and now - self.given[0][0] > self.kill_after_s and self.manager is not None:
            self.killed = time.monotonic()
            os.kill(self.manager.local_nodes[DIES].pid, signal.SIGKILL)

    @property
    def first(self) -> float:
        return self.given[0][0] + _BEGINNING_S

    def rate(self, first: float, last: float) -> float:
        """Return the image rate, images/s, between two times."""
        part = [(when, count) for when, count in self.given if first <= when <= last]
        if len(part) < 2:
            raise BenchError("a run was too short to measure anything; use more --seconds")
        return (part[-1][1] - part[0][1]) / (part[-1][0] - part[0][0])


def _dead(members: list[MemberStatus]) -> MemberStatus:
    if not members:
        raise BenchError(f"the emulator says nothing of {DIES}")
    return members[0]


@dataclass
class _Figures:
    """Holds the figures of all rounds: the rates of 1, 2 and 4 receivers, and the figures of runs in which one receiver is killed."""

    single: dict[int, list[float]] = field(default_factory=lambda: {1: [], 2: [], 4: []})
    before: list[float] = field(default_factory=list)
    after: list[float] = field(default_factory=list)
    until_last: list[float] = field(default_factory=list)  # ms
    resent: list[int] = field(default_factory=list)

    def take(self, folder: Path, image_ms: float, seconds: float) -> None:
        """Measure every case once."""
        for members, found in self.single.items():
            _, course = _run(folder, members, image_ms, seconds, kill=False)
            found.append(course.rate(course.first, course.given[-1][0]))
        outcome, course = _run(folder, 4, image_ms, seconds, kill=True)
        (group,) = outcome.groups
        if group.missing or not course.killed:
            raise BenchError(f"{group.missing} images are missing, killed: {bool(course.killed)}")
        self.before.append(course.rate(course.first, course.killed))
        self.after.append(course.rate(course.killed + _AFTER_S, course.given[-1][0]))
        self.until_last.append(max(0.0, course.last_given - course.killed) * 1000)
        self.resent.append(group.resent)


def measure(image_ms: float, seconds: float, rounds: int) -> list[dict[str, Any]]:
    """Return the rows of `rounds` rounds. Each round measures every case, so that a disturbance of the machine affects all cases. Raise BenchError or
    OSError."""
    figures = _Figures()
    with _own_folder() as folder:
        for _ in range(rounds):
            figures.take(folder, image_ms, seconds)
    return [*_rows_of_receivers(figures, 1000.0 / image_ms), *_rows_of_a_death(figures)]


def _rows_of_receivers(figures: _Figures, limit: float) -> Iterator[dict[str, Any]]:
    """Yield the measured rates beside the rate of the links, each `limit` images/s, and beside the rate of one receiver."""
    rates = {members: statistics.median(found) for members, found in figures.single.items()}
    for members, rate in rates.items():
        name = f"{members} receivers" if members > 1 else "1 receiver"
        yield _row(name, rate, "images/s", f"{members} links of {limit:g} images/s", members * limit)
    for members in (2, 4):
        yield _row(f"{members} receivers beside 1", rates[members], "images/s", "1 receiver", rates[1])


def _rows_of_a_death(figures: _Figures) -> Iterator[dict[str, Any]]:
    case = "4 receivers, one killed"
    before, after = statistics.median(figures.before), statistics.median(figures.after)
    kept = statistics.median(b / a for a, b in zip(figures.before, figures.after, strict=True))
    yield _row(f"{case}: afterwards", after, "images/s", "before", before) | {"ratio": kept}
    longest = max(figures.until_last)
    yield _row(f"{case}: death to the last image that it was given, longest", longest, "ms", "bar", BAR_MS)
    resent = statistics.median(figures.resent)
    yield _row(f"{case}: images sent again, none missing", resent, "images", f"{_SLOTS} slots", float(_SLOTS))


def _row(what: str, value: float, unit: str, against: str, against_value: float) -> dict[str, Any]:
    return {
        "what": what,
        "value": value,
        "unit": unit,
        "against": against,
        "against_value": against_value,
        "ratio": value / against_value,
    }


def _run(folder: Path, members: int, image_ms: float, seconds: float, *, kill: bool) -> tuple[Outcome, Course]:
    """Carry out one run of about `seconds` and return its outcome and its course. Raise BenchError when the run is not good."""
    names = [f"r{number}" for number in range(members)]
    receivers = "".join(f'[[receiver]]\nname = "{name}"\nport = 0\n' for name in names)
    if members > 1:
        receivers += f'[[group]]\nname = "farm"\nreceivers = {json.dumps(names)}\n'
    file = folder / "group.toml"
    text = _RUN.format(
        frames=int(seconds * members * 1000 / image_ms),
        stall_us=int(image_ms * 1000),
        receivers=receivers,
        where='group = "farm"' if members > 1 else "",
        slots=_SLOTS,
        stack=_STACK,
    )
    file.write_text(text, encoding="utf-8")
    course = Course(seconds / 2 if kill else 0.0)
    course.manager = Manager(load_plan(file), course)
    outcome = asyncio.run(course.manager.run())
    if not outcome.good:
        raise BenchError(f"{members} receivers: {outcome.problem or outcome.reasons}")
    return outcome, course


@contextlib.contextmanager
def _own_folder() -> Iterator[Path]:
    """Make a temporary folder, change into it, and remove it at the end."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        try:
            yield Path(name)
        finally:
            os.chdir(here)
