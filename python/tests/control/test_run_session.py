# SPDX-License-Identifier: Apache-2.0
"""A run that a program starts, watches and ends, with real nodes."""

import asyncio
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

import rashpa
from rashpa.control.run.run_session import RunSession, SessionError, counts_of, plan_with
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.control.telegrams.telegram import Books, Status

pytestmark = pytest.mark.whole

WAIT_S = 60.0


def config(folder: Path, frames: Any = 12, **detector: Any) -> dict[str, Any]:
    return {
        "run": {"name": "session", "frames": frames, "output": str(folder)},
        "detector": {"width": 64, "height": 32, "pixel": "uint16", **detector},
        "dataset": {"kind": "pattern", "width": 64, "height": 32, "frames": 4},
        "link": {"port": 0, "memory": "pageable"},
        "buffer": [{"name": "b", "slots": 20, "stack": 4, "deadline_ms": 5000, "sink": [{"kind": "hdf5"}]}],
    }


def test_what_is_accepted_counts_as_decided_when_it_is_written() -> None:
    books = Books(expected=9, complete=7, partial=1, missing=1, accepted=5, vetoed=2, errored=1, written=3)
    assert counts_of(books).decided == 3 + 2 + 1 + 1


def test_a_run_comes_to_its_end_and_says_how_far_it_is(tmp_path: Path) -> None:
    session = RunSession(plan_with(config(tmp_path), {"run": {"frames": 8, "name": "other"}}))
    assert not session.going
    session.start().result(WAIT_S)
    outcome = session.ended.result(WAIT_S)
    assert outcome.good, outcome.problem
    assert session.counts("b").decided == session.counts("b").written == 8
    assert not session.going
    with pytest.raises(SessionError, match="over"):
        session.look().result(WAIT_S)
    with rashpa.open(tmp_path / "other_b_master.h5") as run:
        assert len(run) == 8


def test_triggers_let_frames_be_taken_and_the_run_is_stopped_in_order(tmp_path: Path) -> None:
    plan = plan_with(config(tmp_path, "until stopped", rate_hz=500.0), {"detector": {"trigger": "software"}})
    session = RunSession(plan)
    with pytest.raises(SessionError, match="not started"):
        session.trigger(4).result(WAIT_S)

    async def drive() -> list[int]:
        await asyncio.wrap_future(session.start())
        seen: list[int] = []
        for _ in range(3):
            await asyncio.wrap_future(session.trigger(4))
            wanted = 4 * (len(seen) + 1)
            seen.append((await asyncio.wrap_future(session.settled("b", wanted, WAIT_S))).decided)
        with pytest.raises(SessionError, match="multiple of 4"):
            await asyncio.wrap_future(session.trigger(3))
        with pytest.raises(SessionError, match="12 of 13 images are decided"):
            await asyncio.wrap_future(session.settled("b", 13, 0.0))
        return seen

    assert asyncio.run(drive()) == [4, 8, 12]
    outcome = session.stop().result(WAIT_S)
    assert outcome.good, (outcome.problem, outcome.reasons)
    assert outcome.books.written == 12
    assert session.stop().result(WAIT_S) is outcome  # once more changes nothing


def test_counts_stand_when_the_nodes_are_reset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_with(config(tmp_path, "until stopped"), {"detector": {"trigger": "software"}})
    session = RunSession(plan)
    session.start().result(WAIT_S)
    session.trigger(4).result(WAIT_S)
    assert session.settled("b", 4, WAIT_S).result(2 * WAIT_S).decided == 4

    class Reset:
        async def status(self) -> Status:
            return Status(node="node", role="receiver", state="idle")

    # By the session alone: the manager would end the run.
    seen = SimpleNamespace(clients={plan.receivers[0].name: Reset()})
    with monkeypatch.context() as patched:
        patched.setattr(session, "_manager", seen)
        session.look().result(WAIT_S)
    assert session.counts("b").decided == 4
    assert session.stop().result(WAIT_S).good
    session.progress = replace(
        session.progress,
        receivers={name: Status(node="node", role="receiver", state="idle") for name in session.progress.receivers},
    )
    assert session.counts("b").decided == 4


def test_a_run_is_paused_goes_on_and_is_aborted(tmp_path: Path) -> None:
    session = RunSession(plan_with(config(tmp_path, 100_000, rate_hz=200.0), {}))
    session.start().result(WAIT_S)
    assert session.steer("pause").result(WAIT_S).startswith("paused before frame")
    assert session.steer("resume").result(WAIT_S) == "the run goes on"
    outcome = session.abort().result(WAIT_S)
    assert outcome.interrupted
    assert not outcome.good


@pytest.mark.parametrize("is_there", [True, False], ids=["at its pause", "on the way to it"])
def test_a_run_that_is_paused_is_stopped_in_order(tmp_path: Path, *, is_there: bool) -> None:
    session = RunSession(plan_with(config(tmp_path, 100_000, rate_hz=200.0), {}))
    session.start().result(WAIT_S)
    frame = int(session.steer("pause").result(WAIT_S).removeprefix("paused before frame "))
    if is_there:
        session.settled("b", frame, WAIT_S).result(WAIT_S)
    outcome = session.stop().result(WAIT_S)
    assert outcome.good, outcome.reasons
    assert outcome.books.complete == outcome.books.written == outcome.frames <= frame
    assert outcome.frames == frame or not is_there


def test_why_a_run_does_not_begin_is_said(tmp_path: Path) -> None:
    plan = plan_with(config(tmp_path), {"nodes": {"receiver": "http://127.0.0.1:9"}})
    session = RunSession(plan)
    with pytest.raises(SessionError, match=r"cannot be reached"):
        session.start().result(WAIT_S)
    assert "cannot be reached" in session.ended.result(WAIT_S).problem


def test_wrong_changes_are_named(tmp_path: Path) -> None:
    with pytest.raises(RunFileError, match=r"run.frames"):
        plan_with(config(tmp_path), {"run": {"frames": -1}})
    file = tmp_path / "run.toml"
    file.write_text("[run]\nname = 3\n")
    with pytest.raises(RunFileError, match=r"run.toml:2"):
        plan_with(file, {})
