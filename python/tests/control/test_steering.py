# SPDX-License-Identifier: Apache-2.0
"""Runs that another process pauses, resumes and aborts."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from rashpa.control.books.outcome import Outcome, Progress
from rashpa.control.handover.journal import JournalError, find_journal, journal_of
from rashpa.control.handover.steering import STEER, SteerError, Way, stacks_end_every, steer
from rashpa.control.handover.stop_request import StopRequest
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan, plan_run
from rashpa.control.run.manager import Manager
from rashpa.node.state.node import Node
from rashpa.testing.fake_engine import FakeFactory
from rashpa.testing.in_process import transports_of
from rashpa.testing.run_file import run_file

pytestmark = pytest.mark.whole


def run_text(output: Path) -> str:
    return run_file(
        run={"name": "steered", "frames": 1000000, "output": output},
        detector={"rate_hz": 200.0, "module": [{"x": 0, "y": 0}, {"x": 0, "y": 40}]},
        dataset={"modules": 2},
        emulator=[{"name": "upper"}, {"name": "lower"}],
        buffer=[
            {"name": "full", "stack": 4, "slots": 40, "sink": [{"kind": "null"}]},
            {"name": "sixth", "stack": 2, "slots": 40, "sink": [{"kind": "null"}], "every": 6},
        ],
    )


def _plan(folder: Path) -> Plan:
    file = folder / "run.toml"
    file.write_text(run_text(output=folder / "out"))
    return load_plan(file)


class _Seen:
    """Holds the state of a run as seen from outside."""

    def __init__(self) -> None:
        self.progress: Progress | None = None
        self.began = threading.Event()

    def look(self, progress: Progress) -> None:
        self.progress = progress
        if progress.phase == "running" and any(
            status.destination and status.destination.buffers[0].books.decided for status in progress.receivers.values()
        ):
            self.began.set()


def _with_a_hand(plan: Plan, hand: Callable[[Path, _Seen], None]) -> tuple[Outcome, list[BaseException]]:
    """Carry out a run, and call `hand` as soon as images come."""
    journal, seen, raised = journal_of(plan), _Seen(), list[BaseException]()

    def act() -> None:
        try:
            assert seen.began.wait(60.0)
            hand(journal.path, seen)
        except BaseException as error:  # noqa: BLE001  of a thread: told to the test
            raised.append(error)
            steer(journal.path, "abort", "the test", 30.0)

    async def run() -> Outcome:
        nodes = {name: Node(name, "emulator", FakeFactory("emulator")) for name in ("upper", "lower")}
        nodes["receiver"] = Node("receiver", "receiver", FakeFactory("receiver"))
        return await Manager(plan, seen.look, transports=transports_of(nodes), journal=journal).run()

    thread = threading.Thread(target=act)
    thread.start()
    outcome = asyncio.run(run())
    thread.join()
    return outcome, raised


def test_a_run_pauses_where_whole_stacks_end_and_goes_on_without_a_loss(tmp_path: Path) -> None:
    plan = _plan(tmp_path)
    assert stacks_end_every(plan) == 12
    frames: list[int] = []

    def hand(journal: Path, seen: _Seen) -> None:
        said = steer(journal, "pause", "somebody", 30.0)
        frame = int(said.removeprefix("paused before frame "))
        with pytest.raises(SteerError, match="paused already"):
            steer(journal, "pause", "somebody", 30.0)
        progress = seen.progress
        assert progress is not None
        assert {status.state for status in progress.emulators.values()} == {"paused"}
        frames.append(frame)
        assert steer(journal, "resume", "somebody", 30.0) == "the run goes on"
        with pytest.raises(SteerError, match="not paused"):
            steer(journal, "resume", "somebody", 30.0)
        stop = StopRequest(journal, "somebody")
        assert stop.wait(60.0).good
        stop.close()

    outcome, raised = _with_a_hand(plan, hand)
    assert not raised, raised
    assert outcome.good, (outcome.problem, outcome.reasons)
    assert frames
    assert frames[0] % 12 == 0
    assert outcome.frames >= frames[0]
    assert outcome.books.complete == outcome.books.expected
    assert not list((tmp_path / "out").glob("*"))


def test_a_run_is_aborted_by_who_is_not_its_manager(tmp_path: Path) -> None:
    def hand(journal: Path, seen: _Seen) -> None:
        assert "at once" in steer(journal, "abort", "somebody", 30.0)

    outcome, raised = _with_a_hand(_plan(tmp_path), hand)
    assert not raised, raised
    assert outcome.interrupted
    assert not outcome.good
    assert not list((tmp_path / "out").glob("*"))


def test_who_asks_while_another_waits_has_his_turn_behind_him(tmp_path: Path) -> None:
    said: list[str] = []

    def ask(journal: Path, way: Way) -> None:
        try:
            said.append(f"{way}: {steer(journal, way, 'somebody', 30.0)}")
        except SteerError as error:
            said.append(f"{way}: {error}")

    def hand(journal: Path, seen: _Seen) -> None:
        asked: list[threading.Thread] = [
            threading.Thread(target=ask, args=(journal, way)) for way in ("pause", "resume", "pause", "resume")
        ]
        for one in asked:
            one.start()
        for one in asked:
            one.join()
        assert "at once" in steer(journal, "abort", "somebody", 30.0)

    outcome, raised = _with_a_hand(_plan(tmp_path), hand)
    assert not raised, raised
    assert outcome.interrupted
    assert len(said) == 4
    assert not any("asked already" in one for one in said), said
    assert any("paused before frame" in one for one in said), said


def test_a_pause_behind_the_last_frame_is_refused_and_the_run_ends_by_itself(tmp_path: Path) -> None:
    plan = _plan(tmp_path)
    run = plan.file.run.model_copy(update={"frames": 150})
    plan = plan_run(plan.file.model_copy(update={"run": run}), plan.source)

    def hand(journal: Path, seen: _Seen) -> None:
        with pytest.raises(SteerError, match=r"the run ends with frame 149, before|come to their ends|come to its end"):
            for _ in range(400):
                steer(journal, "pause", "somebody", 30.0)
                steer(journal, "resume", "somebody", 30.0)

    outcome, raised = _with_a_hand(plan, hand)
    assert not raised, raised
    assert outcome.good, (outcome.problem, outcome.reasons)
    assert outcome.books.complete == outcome.books.expected


def test_a_run_that_is_not_there_cannot_be_asked(tmp_path: Path) -> None:
    with pytest.raises(SteerError, match="has come to its end"):
        steer(tmp_path / "run_attach.json", "pause", "somebody", 1.0)
    with pytest.raises(SteerError, match="has come to its end"):
        steer(tmp_path / "absent" / "run_attach.json", "pause", "somebody", 1.0)
    dead = tmp_path / "dead_attach.json"
    dead.write_text("{}")
    with pytest.raises(SteerError, match="no manager any more; `rashpa stop` ends it"):
        steer(dead, "pause", "somebody", 1.0)
    STEER.path(dead).write_text("{}")  # which nobody takes, and whose requester may be gone
    with pytest.raises(SteerError, match="no manager any more; `rashpa stop` ends it"):
        steer(dead, "pause", "somebody", 3600.0)
    with pytest.raises(JournalError, match="there is no such run"):
        find_journal(tmp_path / "nowhere")
