# SPDX-License-Identifier: Apache-2.0
"""The events that count as progress of a run, and the longest time without any."""

import asyncio
import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from rashpa.control.books.first_missing import first_missing
from rashpa.control.books.group_accounting import groups_so_far
from rashpa.control.books.group_course import GroupCourse
from rashpa.control.books.overrun import OverrunGuard
from rashpa.control.books.overrun_look import look_at, streams_of
from rashpa.control.nodes.fleet import Fleet
from rashpa.control.nodes.running_time import RunningClock
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.run.stall import StallWatch
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram import Books, BufferStatus, DestinationStatus, SourceStatus, Status
from rashpa.testing.group_plan import plan_of as dealt_plan
from rashpa.testing.run_file import run_file

RUN = run_file(run={"name": "r", "frames": 800}, buffer={"deadline_ms": 500}, receiver=None)


class Watched:
    """Holds a run of one receiver as its manager sees it, with its own clock."""

    def __init__(self, plan: Plan) -> None:
        self.now = 100.0
        (self.name,) = (receiver.name for receiver in plan.receivers)
        dtp = telegram.SourceDtpStatus(
            id=plan.dtps[0].id,
            images_sent=5,
            images_skipped=0,
            payload_bytes=0,
            packets=0,
            waits=0,
            window_timeouts=0,
            late_ns=0,
            cnps_received=0,
        )
        buffer = telegram.BufferStatus(
            name="full",
            sink_error="",
            unit="",
            unit_error="",
            bytes_written=0,
            bytes_stored=0,
            books=telegram.Books(expected=800),
        )
        counts = (telegram.Count(group="link", name="packets", value=0),)
        self.source = telegram.SourceStatus(elapsed_s=0.0, dtps=(dtp,))
        self.destination = telegram.DestinationStatus(
            receiver=self.name, elapsed_s=0.0, memory="", first_incomplete="", counts=counts, buffers=(buffer,)
        )
        self.watch = StallWatch(plan, lambda: self.now)

    def stalled_after(self, seconds: float) -> bool:
        self.now += seconds
        last = {
            "emulator": Status(node="emulator", role="emulator", state="running", source=self.source),
            self.name: Status(node=self.name, role="receiver", state="running", destination=self.destination),
        }
        return self.watch.stalled(last, ["emulator"]) is not None

    def count(self, packets: int) -> None:
        """Count packets without any resulting image."""
        (dtp,) = self.source.dtps
        repeated = replace(dtp, packets=packets, rnr_naks=packets, retransmitted_packets=packets)
        self.source = replace(self.source, dtps=(repeated,))
        self.destination = replace(
            self.destination, counts=(telegram.Count(group="link", name="packets", value=packets),)
        )


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    path = tmp_path / "run.toml"
    path.write_text(RUN)
    return Watched(load_plan(path))


def test_a_link_that_only_repeats_itself_is_a_stall(watched: Watched) -> None:
    assert not watched.stalled_after(0)
    stalled = False
    for second in range(60):
        watched.count(1_000_000 * second)
        stalled = stalled or watched.stalled_after(1)
    assert stalled


def test_an_image_that_is_sent_skipped_decided_or_written_is_news(watched: Watched) -> None:
    assert not watched.stalled_after(0)
    (dtp,) = watched.source.dtps
    (buffer,) = watched.destination.buffers
    decided = telegram.DestinationDtpStatus(
        id=0, module=0, expected=800, complete=1, partial=0, missing=0, lines_missing=0
    )
    for source, destination in (
        (replace(dtp, images_sent=6), buffer),
        (replace(dtp, images_sent=6, images_skipped=1), buffer),
        (dtp, replace(buffer, dtps=(decided,))),
        (dtp, replace(buffer, books=telegram.Books(expected=800, complete=1))),
        (dtp, replace(buffer, books=telegram.Books(expected=800, complete=1, accepted=1, written=1))),
    ):
        watched.source = replace(watched.source, dtps=(source,))
        watched.destination = replace(watched.destination, buffers=(destination,))
        assert not watched.stalled_after(20)
    assert watched.stalled_after(20)


def statuses(to_write: int, decided: int = 400, stored: int = 0) -> dict[str, Status]:
    books = Books(expected=800, complete=decided, accepted=decided, written=decided)
    buffer = BufferStatus(
        name="full",
        sink_error="",
        unit="",
        unit_error="",
        bytes_written=0,
        bytes_stored=stored,
        books=books,
        to_write=to_write,
    )
    destination = DestinationStatus(
        receiver="receiver", elapsed_s=1.0, memory="", first_incomplete="", counts=(), buffers=(buffer,)
    )
    return {
        "emulator": Status(node="emulator", role="emulator", state="finished", source=SourceStatus(elapsed_s=1.0)),
        "receiver": Status(node="receiver", role="receiver", state="running", destination=destination),
    }


@pytest.fixture
def clock() -> list[float]:
    return [0.0]


def watch(tmp_path: Path, clock: list[float]) -> StallWatch:
    path = tmp_path / "run.toml"
    path.write_text(RUN)
    return StallWatch(load_plan(path), lambda: clock[0])


def test_a_slow_sink_is_not_taken_for_one_that_stands_still(tmp_path: Path, clock: list[float]) -> None:
    watched = watch(tmp_path, clock)
    for step in range(1, 20):
        clock[0] += 200.0  # a single image takes minutes, but bytes arrive
        assert watched.stalled(statuses(40, stored=step), ["receiver"]) is None


def test_files_that_are_being_completed_have_their_time(tmp_path: Path, clock: list[float]) -> None:
    watched = watch(tmp_path, clock)
    assert watched.stalled(statuses(0, decided=800), ["receiver"]) is None
    clock[0] += 200.0
    assert watched.stalled(statuses(0, decided=800), ["receiver"]) is None


def test_a_sink_that_never_ends_ends_the_run(tmp_path: Path, clock: list[float]) -> None:
    watched = watch(tmp_path, clock)
    assert watched.stalled(statuses(40), ["receiver"]) is None
    clock[0] += 301.0
    assert watched.stalled(statuses(40), ["receiver"]) is not None


def test_without_images_to_write_a_receiver_stands_still_soon(tmp_path: Path, clock: list[float]) -> None:
    watched = watch(tmp_path, clock)
    assert watched.stalled(statuses(0), ["receiver"]) is None
    clock[0] += 20.0
    found = watched.stalled(statuses(0), ["receiver"])
    assert found is not None
    assert found.node == "receiver"


MANY = run_file(
    run={"name": "r", "frames": 800},
    detector={"module": [{"x": 0, "y": 0}, {"x": 0, "y": 40}]},
    dataset={"modules": 2},
    emulator=[{"name": "left", "modules": [0]}, {"name": "right", "modules": [1]}],
    receiver=[{"name": "a", "port": 0}, {"name": "b", "port": 0}],
    buffer=[
        {"name": "one", "receiver": "a", "sink": [{"kind": "null"}]},
        {"name": "two", "receiver": "b", "sink": [{"kind": "null"}]},
    ],
)


def heard_of(plan: Plan, names: tuple[str, ...]) -> dict[str, Status]:
    found = {}
    for node in plan.nodes:
        if node.name in names:
            dtps = tuple(
                telegram.SourceDtpStatus(
                    id=dtp.id,
                    images_sent=5,
                    images_skipped=0,
                    payload_bytes=0,
                    packets=0,
                    waits=0,
                    window_timeouts=0,
                    late_ns=0,
                    cnps_received=0,
                )
                for dtp in plan.dtps
            )
            is_source = node.role == "emulator"
            source = SourceStatus(elapsed_s=0.0, dtps=dtps) if is_source else None
            destination = (
                None
                if is_source
                else DestinationStatus(
                    receiver=node.name, elapsed_s=0.0, memory="", first_incomplete="", counts=(), buffers=()
                )
            )
            found[node.name] = Status(
                node=node.name, role=node.role, state="running", source=source, destination=destination
            )
    return found


@pytest.mark.parametrize("kind", ["many", "dealt"])
@pytest.mark.parametrize("count", range(5))
def test_no_node_has_to_be_heard_of_before_a_run_is_watched(tmp_path: Path, kind: str, count: int) -> None:
    """Try all watchers, with every choice of `count` nodes that have sent a status."""
    path = tmp_path / "run.toml"
    path.write_text(MANY)
    plan = load_plan(path) if kind == "many" else dealt_plan(tmp_path)
    names = [node.name for node in plan.nodes]
    now = [100.0]
    for heard in itertools.combinations(names, count):
        last = heard_of(plan, heard)
        fleet = Fleet(plan, {})
        fleet.last = last
        watch, groups = StallWatch(plan, lambda: now[0]), GroupCourse(fleet)
        guard = OverrunGuard(fleet, unasked, None)
        now[0] = 100.0
        assert watch.stalled(last, names) is None
        now[0] = 10_000.0
        found = watch.stalled(last, names)
        assert found is None or found.node in names
        assert look_at(plan, streams_of(plan), last).frames >= 0
        assert not any(groups.through(emulator.name) for emulator in plan.emulators)
        asyncio.run(guard.look(1.0))
        guard.close(2.0)
        first_missing(plan, last, {}, names[-1])
        for account in groups_so_far(plan, last, {}, {}):
            assert account.images == account.complete + account.partial + account.missing


def of_two(tmp_path: Path, clock: list[float], last: dict[str, Status], awaited: list[str]) -> str | None:
    """Return the node at fault for two emulators and two receivers, when nothing has changed for long."""
    path = tmp_path / "run.toml"
    path.write_text(MANY)
    watched = StallWatch(load_plan(path), lambda: clock[0])
    assert watched.stalled(last, awaited) is None
    clock[0] += 60.0
    found = watched.stalled(last, awaited)
    return found.node if found else None


@pytest.fixture
def two(tmp_path: Path) -> dict[str, Status]:
    path = tmp_path / "run.toml"
    path.write_text(MANY)
    return heard_of(load_plan(path), ("left", "right", "a", "b"))


def having_sent(status: Status, *images: int) -> Status:
    """Return the status of an emulator with these numbers of images sent by each DTP."""
    assert status.source is not None
    dtps = tuple(replace(dtp, images_sent=sent) for dtp, sent in zip(status.source.dtps, images, strict=True))
    return replace(status, source=replace(status.source, dtps=dtps))


def finished(last: dict[str, Status], *names: str) -> dict[str, Status]:
    return last | {name: replace(last[name], state="finished") for name in names}


def test_a_receiver_that_is_awaited_is_to_blame_before_all_others(
    tmp_path: Path, clock: list[float], two: dict[str, Status]
) -> None:
    assert of_two(tmp_path, clock, two, ["left", "a", "b"]) == "a"
    assert of_two(tmp_path, clock, finished(two, "a"), ["left", "a", "b"]) == "b"


def test_an_emulator_that_is_behind_another_is_to_blame(
    tmp_path: Path, clock: list[float], two: dict[str, Status]
) -> None:
    assert of_two(tmp_path, clock, two, ["left", "right"]) == "a", "all are as far"
    for behind, ahead in (("left", "right"), ("right", "left")):
        last = two | {ahead: having_sent(two[ahead], 6, 6, 6, 6)}
        assert of_two(tmp_path, clock, last, ["left", "right"]) == behind


def test_an_emulator_that_only_waits_for_another_is_not_to_blame(
    tmp_path: Path, clock: list[float], two: dict[str, Status]
) -> None:
    done = finished(two, "a", "b")
    awaited = ["a", "b", "left", "right"]
    assert of_two(tmp_path, clock, done, awaited) == "left"
    ahead = done | {"left": having_sent(done["left"], 6, 6, 6, 6)}
    assert of_two(tmp_path, clock, ahead, awaited) == "right"
    behind_too = done | {"left": having_sent(done["left"], 6, 6, 4, 4)}
    assert of_two(tmp_path, clock, behind_too, awaited) == "left"
    assert of_two(tmp_path, clock, finished(done, "left"), awaited) == "right"
    assert of_two(tmp_path, clock, done, ["a", "b", "right"]) == "right", "nobody waits for the other"
    assert of_two(tmp_path, clock, finished(done, "left", "right"), awaited) is None


def test_of_one_receiver_that_is_not_awaited_the_node_that_is_open_is_to_blame(
    tmp_path: Path, clock: list[float]
) -> None:
    last = statuses(0)
    last = {"emulator": last["receiver"], "receiver": last["emulator"]}
    watched = watch(tmp_path, clock)
    for awaited, blamed in ((["receiver", "emulator"], "emulator"), (["receiver"], "receiver")):
        assert watched.stalled(last, awaited) is None
        clock[0] += 20.0
        found = watched.stalled(last, awaited)
        assert found is not None
        assert found.node == blamed
        watched = watch(tmp_path, clock)


async def unasked(name: str) -> None:
    raise AssertionError(f"{name} was asked")


def test_a_manager_that_stood_still_has_seen_nobody_stand_still(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text(RUN)
    now = [100.0]
    clock = RunningClock(2.0, lambda: now[0])
    watched = StallWatch(load_plan(path), clock.look)
    assert watched.stalled(statuses(0), ["receiver"]) is None
    now[0] += 3600.0
    assert watched.stalled(statuses(0), ["receiver"]) is None
    for _ in range(10):
        now[0] += 2.0
        found = watched.stalled(statuses(0), ["receiver"])
    assert found is not None, "but what it sees while it runs counts"
