# SPDX-License-Identifier: Apache-2.0
"""Raises alarms when limits of the run file are exceeded. An alarm lasts until its limit is kept again and a person has acknowledged it."""

import asyncio
import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import httpx

from rashpa.control.runfile.run_section import Alarms
from rashpa.control.telegrams.telegram import Books
from rashpa.dashboard.audit import Record
from rashpa.dashboard.course import Course
from rashpa.dashboard.scene import Scene
from rashpa.dashboard.state_line import disk_left_s

_log = logging.getLogger(__name__)
NAME = "dashboard_alarms.jsonl"
_LEAST_IMAGES = 100  # decided before a hit rate says anything
_SETTLED_S = 5.0  # of a run, before its rate says anything
_MEASURED_S = 2.0  # of a rate, at least
_WEBHOOK_S = 5.0
_MINUTE = 60.0
_LONGEST = 80  # characters of a name


@dataclass(frozen=True)
class Alarm:
    """Holds one alarm. `over`: True when the limit is kept again; `by`: the person who has acknowledged it, empty before."""

    key: str
    text: str
    since: str
    over: bool = False
    by: str = ""


def passed(scene: Scene, course: Course, limits: Alarms, silent_s: dict[str, float]) -> Iterator[tuple[str, str]]:
    """Yield key and text of each limit that is exceeded now. `silent_s`: by node, the seconds since its last answer."""
    if limits.silent_s is not None and scene.going:
        for node, seconds in silent_s.items():
            if seconds > limits.silent_s:
                yield f"silent {node}", f"node {node} has not answered for more than {limits.silent_s:g} s"
    for one in scene.nodes if limits.temperature_c is not None and scene.going else ():
        degrees = one.load.temperature_c if one.load is not None and not one.problem else None
        if limits.temperature_c is not None and degrees is not None and degrees > limits.temperature_c:
            yield f"hot {one.name}", f"the machine of node {one.name} is hotter than {limits.temperature_c:g} °C"
    books = sum((buffer.status.books for buffer in scene.buffers), Books())
    if limits.lost_images is not None and books.missing + books.partial > limits.lost_images:
        yield "lost", f"more than {limits.lost_images:,} images are missing or partial"
    if not scene.going:
        return
    judged = books.accepted + books.vetoed
    if limits.hit_rate is not None and judged >= _LEAST_IMAGES and books.accepted < limits.hit_rate * judged:
        yield "hits", f"less than {limits.hit_rate:.1%} of the images are accepted"
    left_s = disk_left_s(scene, course)
    if limits.disk_minutes is not None and left_s is not None and left_s < _MINUTE * limits.disk_minutes:
        yield "disk", f"the disk is full in less than {limits.disk_minutes:g} minutes"
    yield from _of_buffers(scene, course, limits)


def _of_buffers(scene: Scene, course: Course, limits: Alarms) -> Iterator[tuple[str, str]]:
    asked = scene.plan.file.detector.rate_hz if scene.plan is not None else 0.0
    sections = {one.section.name: one.section for one in scene.plan.buffers} if scene.plan is not None else {}
    groups = {name for group in scene.plan.groups for name in group.buffers} if scene.plan is not None else set()
    for buffer in scene.buffers:
        name, free = buffer.status.name, buffer.progress.free_slots
        if limits.free_slots is not None and free is not None and free < limits.free_slots:
            yield f"slots {name}", f"less than {limits.free_slots:.0%} of the slots of buffer {name} are free"
        curve, section = course.curves.get(buffer.key), sections.get(name)
        if limits.rate is None or not asked or curve is None or section is None or name in groups:
            continue
        ends = buffer.status.books.decided >= buffer.status.books.expected
        least = limits.rate * asked / section.every
        measured = buffer.elapsed_s > _SETTLED_S and curve.pace.span_s >= _MEASURED_S
        if scene.state == "running" and not ends and measured and curve.pace.images_per_s < least:
            yield f"rate {name}", f"buffer {name} decides less than {limits.rate:.0%} of the detector's rate"


class AlarmBoard:
    """Holds the alarms of a page's server. Each change is written as a line of a file, and sent to the webhook of the run file."""

    def __init__(self, folder: Path) -> None:
        self._record = Record(folder, NAME)
        self._known: dict[str, Alarm] = {}
        self._answered: dict[str, float] = {}  # when each node did last
        self._posts: set[asyncio.Task[None]] = set()
        self._webhook = ""

    @property
    def alarms(self) -> tuple[Alarm, ...]:
        """Return the alarms that a person must see, the newest first."""
        return tuple(reversed(self._known.values()))

    def look(self, scene: Scene, course: Course) -> None:
        """Check the limits of the run's file against the scene."""
        if scene.plan is None:
            return
        limits = scene.plan.file.alarms
        self._webhook = limits.webhook
        for node in scene.nodes:
            if not node.problem or node.name not in self._answered:
                self._answered[node.name] = scene.time_s
        names = {node.name for node in scene.nodes}
        silent_s = {name: scene.time_s - when for name, when in self._answered.items() if name in names}
        now = dict(passed(scene, course, limits, silent_s))
        for key, text in now.items():
            before = self._known.get(key)
            if before is None or before.over:
                self._known.pop(key, None)
                self._change("begins", Alarm(key, text, _now()))
        for key, alarm in list(self._known.items()):
            if key not in now and not alarm.over:
                self._change("ends", replace(alarm, over=True))

    def acknowledge(self, key: str, by: str, address: str) -> bool:
        """Acknowledge an alarm for a person. Return False when there is no such alarm, or when the name is empty."""
        name = " ".join(by.split())[:_LONGEST]
        alarm = self._known.get(key)
        if alarm is None or not name:
            return False
        self._change("is acknowledged", replace(alarm, by=name), address=address)
        return True

    def _change(self, what: str, alarm: Alarm, **more: str) -> None:
        if alarm.over and alarm.by:
            self._known.pop(alarm.key, None)
        else:
            self._known[alarm.key] = alarm
        said = {"alarm": alarm.key, "what": what, "text": alarm.text, "since": alarm.since, "by": alarm.by, **more}
        self._record.add(**said)
        if self._webhook:
            task = asyncio.get_running_loop().create_task(_posted(self._webhook, said))
            self._posts.add(task)
            task.add_done_callback(self._posts.discard)


async def _posted(webhook: str, said: dict[str, str]) -> None:
    """Send an alarm to the webhook. When that fails, log it and continue."""
    try:
        async with httpx.AsyncClient(timeout=_WEBHOOK_S) as client:
            answer = await client.post(webhook, json=said)
            answer.raise_for_status()
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        _log.warning("the webhook of [alarms] did not take an alarm: %s", error)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
