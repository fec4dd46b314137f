# SPDX-License-Identifier: Apache-2.0
"""Runs that another process ends: the request, and the manager's reaction."""

import asyncio
import threading
from pathlib import Path

import pytest

from rashpa.control.books.outcome import Outcome, Progress
from rashpa.control.handover.journal import Journal, journal_of
from rashpa.control.handover.stop_request import StopAnswer, StopError, StopRequest, StopRequests, request_path
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.run.manager import Manager
from rashpa.node.state.node import Node
from rashpa.testing.fake_engine import FakeFactory
from rashpa.testing.in_process import transports_of
from rashpa.testing.run_file import Table, run_file
from rashpa.testing.waiting import eventually


def run_text(frames: int | str, output: Path, extra: Table | None) -> str:
    return run_file(
        run={"name": "early", "frames": frames, "output": output},
        detector={"rate_hz": 200.0, "module": [{"x": 0, "y": 0}, {"x": 0, "y": 40}]},
        dataset={"modules": 2},
        emulator=[{"name": "upper"}, {"name": "lower"}],
        **(extra or {}),
        buffer=[
            {"name": "full", "sink": [{"kind": "null"}]},
            {"name": "tenth", "sink": [{"kind": "null"}], "every": 10, "phase": 3},
        ],
    )


def plan_of(folder: Path, frames: int | str, extra: Table | None = None) -> Plan:
    file = folder / "run.toml"
    file.write_text(run_text(frames=frames, output=folder / "out", extra=extra))
    return load_plan(file)


def asked_after(plan: Plan, images: int) -> tuple[Outcome, StopAnswer | None]:
    """Return the outcome of a run that is asked to end after `images` decided images, and the answer."""
    answers: list[StopAnswer | None] = []
    asking: list[threading.Thread] = []
    journal = journal_of(plan)

    def ask() -> None:
        request = StopRequest(journal.path, "somebody@elsewhere")
        try:
            answers.append(eventually(request.answer))
        finally:
            request.close()

    def look(progress: Progress) -> None:
        for status in progress.receivers.values():
            decided = status.destination.buffers[0].books.decided if status.destination else 0
            if progress.phase == "running" and decided >= images and not asking:
                asking.append(threading.Thread(target=ask))
                asking[0].start()

    async def run() -> Outcome:
        nodes = {name: Node(name, "emulator", FakeFactory("emulator")) for name in ("upper", "lower")}
        nodes["receiver"] = Node("receiver", "receiver", FakeFactory("receiver"))
        return await Manager(plan, look, transports=transports_of(nodes), journal=journal).run()

    outcome = asyncio.run(run())
    for thread in asking:
        thread.join()
    return outcome, answers[0] if answers else None


@pytest.mark.parametrize("frames", [1_000_000, "until stopped"])
def test_a_run_ends_in_order_when_somebody_asks_and_he_is_told(tmp_path: Path, frames: int | str) -> None:
    plan = plan_of(tmp_path, frames)
    outcome, answer = asked_after(plan, 20)
    assert outcome.good, (outcome.problem, outcome.reasons)
    assert not outcome.interrupted
    assert outcome.stopped_by == "somebody@elsewhere"
    assert 20 <= outcome.frames < 1_000_000
    assert len({source.frames_begun for source in outcome.sources.values()}) == 1
    expected = {buffer.name: buffer.books.expected for buffer in outcome.buffers}
    assert expected == {"full": outcome.frames, "tenth": max(0, -(-(outcome.frames - 3) // 10))}
    assert outcome.books.complete == outcome.books.expected
    assert answer is not None
    planned = 0 if plan.file.run.open_ended else 1_000_000
    assert (answer.good, answer.balanced, answer.frames, answer.planned) == (True, True, outcome.frames, planned)
    assert answer.expected == outcome.books.expected
    assert not list((tmp_path / "out").glob("*"))


def test_a_run_that_needs_its_last_frame_goes_on_and_says_why(tmp_path: Path) -> None:
    outcome, answer = asked_after(plan_of(tmp_path, 300, {"faults": {"reorder": 0.01}}), 20)
    assert outcome.good
    assert outcome.stopped_by == ""
    assert outcome.books.expected == 300 + 30
    assert answer is not None
    assert "the fault reorder needs the run's last frame" in answer.refused


def test_nobody_asks_twice_and_a_request_that_nobody_waits_for_is_forgotten(tmp_path: Path) -> None:
    journal = tmp_path / "run_attach.json"
    first = StopRequest(journal, "a@b")
    requests = StopRequests(journal)
    assert requests.asked() == "a@b"
    with pytest.raises(StopError, match="a@b has asked already"):
        StopRequest(journal, "c@d")
    requests.forget()
    assert requests.asked() == "a@b", "he waits"
    requests.answer(StopAnswer(frames=7))
    assert first.answer() == StopAnswer(frames=7)
    assert requests.asked() == "", "it is answered"
    first.close()
    assert not request_path(journal).exists()
    request_path(journal).write_text('{"id": "1", "what": {"by": "one that was killed"}}')
    assert requests.asked() == "one that was killed"
    requests.forget()
    assert not request_path(journal).exists()


def test_what_is_no_request_asks_for_nothing(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "run_attach.json")
    for text in (
        "",
        "[]",
        "{",
        '{"id": "1", "what": {"by": 3',
        '{"id": "1", "what": {"by": 3}}',
        '{"id": "1", "what": {}}',
    ):
        request_path(journal.path).write_text(text)
        assert StopRequests(journal.path).asked() == "", text
