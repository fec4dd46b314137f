# SPDX-License-Identifier: Apache-2.0
"""Describes the state of a run in one line: state, number, frames done, time left by the measured rate, hit rate, loss."""

from collections.abc import Iterator
from dataclasses import dataclass

from rashpa.control.nodes.pace import clock_of
from rashpa.control.telegrams.telegram import Books
from rashpa.dashboard.course import Course
from rashpa.dashboard.scene import Scene

SIGNS = {"running": "▶", "paused": "‖", "ended": "■", "in trouble": "✖", "no run": "○"}


@dataclass(frozen=True)
class Part:
    """Holds one part of the line. `name`: its key for programs; `mark`: a class of the style sheet."""

    name: str
    text: str
    mark: str = ""


@dataclass(frozen=True)
class _Flow:
    """Holds a buffer, or a group of buffers among which images are dealt: images expected and decided, frames for each image, decisions/s."""

    expected: int
    decided: int
    every: int
    images_per_s: float
    stored_bytes_per_s: float


def state_parts(scene: Scene, course: Course) -> list[Part]:
    """Return the parts of the line, the most important first."""
    name = scene.plan.file.run.name if scene.plan is not None else "nodes"
    parts = [Part("state", f"{SIGNS.get(scene.state, '…')} {name}: {scene.state}", "state")]
    if scene.plan is not None:
        parts.append(Part("number", f"run {scene.plan.file.run.number}"))
    flows = list(_flows(scene, course))
    if scene.going:
        parts += [Part("standing", f"✖ {text}", "bad") for text in course.standing]
        parts += _progress(scene, course, flows)
    books = _books(scene)
    if settled := books.accepted + books.vetoed + books.errored:
        parts.append(Part("hits", f"hits {books.accepted / settled:.1%}"))
    if books.missing or books.partial:
        parts.append(Part("loss", f"✖ lost: {books.missing:,} missing, {books.partial:,} partial", "bad"))
    elif books.decided:
        parts.append(Part("loss", "no loss"))
    if books.errored:
        parts.append(Part("errored", f"✖ {books.errored:,} errored", "bad"))
    return parts


def _progress(scene: Scene, course: Course, flows: list[_Flow]) -> Iterator[Part]:
    if scene.plan is None or not flows:
        return
    frames = scene.plan.file.run.most_frames
    done = min(flow.decided * flow.every for flow in flows)
    open_end = scene.plan.end_told
    yield Part("frames", f"{done:,} frames" if open_end else f"{min(done, frames):,} of {frames:,} frames")
    rate, stored = sum(flow.images_per_s for flow in flows), sum(flow.stored_bytes_per_s for flow in flows)
    yield Part("rate", f"{rate:,.1f} images/s" + (f", {stored / 1e9:.2f} GB/s stored" if stored else ""))
    if (full_s := disk_left_s(scene, course)) is not None:
        yield Part("disk", f"disk full in {clock_of(full_s)}")
    left = [(flow.expected - flow.decided) / flow.images_per_s for flow in flows if flow.images_per_s > 0]
    if not open_end and left:
        yield Part("left", f"{clock_of(max(left))} left")


def disk_left_s(scene: Scene, course: Course) -> float | None:
    """Return the seconds until the disk is full at the present rate, None while nothing is stored on this machine."""
    stored = sum(course.curves[buffer.key].pace.bytes_per_s for buffer in scene.buffers if buffer.key in course.curves)
    return scene.free_bytes / stored if scene.free_bytes is not None and stored > 0 else None


def _flows(scene: Scene, course: Course) -> Iterator[_Flow]:
    """Yield each buffer, and each group as one. A member only expects the images that it was dealt so far; the group expects all."""
    if scene.plan is None:
        return
    planned = {buffer.section.name: buffer for buffer in scene.plan.buffers}
    groups = {name: group.name for group in scene.plan.groups for name in group.buffers}
    found: dict[str, _Flow] = {}
    for buffer in scene.buffers:
        own = planned.get(buffer.status.name)
        if own is None:
            continue
        group = groups.get(buffer.status.name)
        pace = course.curves[buffer.key].pace if buffer.key in course.curves else None
        key = f"group {group}" if group is not None else buffer.status.name
        before = found.get(key, _Flow(0, 0, own.section.every, 0.0, 0.0))
        found[key] = _Flow(
            own.images if group is not None else buffer.status.books.expected,
            before.decided + buffer.status.books.decided,
            own.section.every,
            before.images_per_s + (pace.images_per_s if pace is not None else 0.0),
            before.stored_bytes_per_s + (pace.bytes_per_s if pace is not None else 0.0),
        )
    yield from found.values()


def _books(scene: Scene) -> Books:
    """Return the sum of the books of all buffers; after a run with a report, from the report."""
    if scene.ending is not None and scene.ending.books:
        return sum(scene.ending.books.values(), Books())
    return sum((buffer.status.books for buffer in scene.buffers), Books())
