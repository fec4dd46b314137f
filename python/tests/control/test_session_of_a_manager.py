# SPDX-License-Identifier: Apache-2.0
"""A session with a manager played by the test: the results for callers in other threads, and the requests to the manager."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rashpa.control.books.outcome import Outcome, Progress
from rashpa.control.nodes.node_client import NodeError
from rashpa.control.plan.model import Plan
from rashpa.control.run import run_session as run_session_module
from rashpa.control.run.run_notes import Observer
from rashpa.control.run.run_session import Counts, RunSession, SessionError, counts_of, plan_with
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram import Books, BufferStatus, DestinationStatus, Status
from rashpa.testing.group_plan import plan_of as dealt_plan
from rashpa.testing.scripted_client import ScriptedClient, silent
from rashpa.testing.waiting import GUARD_S, eventually


def config(folder: Path, **detector: object) -> dict[str, Any]:
    return {
        "run": {"name": "s", "frames": 20, "output": str(folder)},
        "detector": {"width": 64, "height": 32, "pixel": "uint16", **detector},
        "dataset": {"kind": "pattern", "width": 64, "height": 32, "frames": 4},
        "buffer": [{"name": "b", "slots": 20, "stack": 4, "sink": [{"kind": "null"}]}],
    }


class Played:
    """Replaces the manager: it runs until `over` or `fails` is set. `asked`: the calls of the session."""

    now: "Played"

    def __init__(self, plan: Plan, observer: Observer, token: str, journal: object) -> None:
        Played.now = self
        self.plan, self.observer, self.token = plan, observer, token
        self.asked: list[str] = []
        self.clients = {node.name: ScriptedClient(node.label, node.role) for node in plan.nodes}
        self.fails: BaseException | None = None
        self.outcome = Outcome(plan)
        self._over = asyncio.Event()

    async def run(self) -> Outcome:
        await self._over.wait()
        if self.fails is not None:
            raise self.fails
        return self.outcome

    def finish(self) -> None:
        self._over.set()

    def end(self, by: str) -> None:
        self.asked.append(f"end {by}")
        self.finish()

    def interrupt(self) -> None:
        self.asked.append("interrupt")
        self.finish()

    def stop(self) -> None:
        self.asked.append("stop")
        self.finish()


class Given:
    """Holds a session with a played manager."""

    def __init__(self, plan: Plan, observer: Observer | None = None) -> None:
        self.session = RunSession(plan, "a token", *([observer] if observer else []))
        self.manager = Played.now

    def tell(
        self, phase: str, state: str, books: Books | None = None, but: Mapping[str, str | None] | None = None
    ) -> None:
        """Make the manager report its progress. `but`: emulators in another state, or in an unknown one."""
        told = threading.Event()
        states = {**dict.fromkeys((one.name for one in self.session.plan.emulators), state), **(but or {})}
        emulators = {
            name: Status(node=name, role="emulator", state=known) for name, known in states.items() if known is not None
        }
        receivers = {"receiver": status_of(books)} if books else {}

        def tell() -> None:
            self.manager.observer(Progress(phase, 20, 1.0, emulators, receivers))
            told.set()

        self.session._loop.call_soon_threadsafe(tell)
        assert told.wait(GUARD_S)

    def finish(self) -> Outcome:
        self.session._loop.call_soon_threadsafe(self.manager.finish)
        outcome: Outcome = result(self.session.ended)
        return outcome


def result(future: "Future[Any]") -> Any:
    return future.result(GUARD_S)


def status_of(books: Books) -> Status:
    buffer = BufferStatus(name="b", sink_error="", unit="", unit_error="", bytes_written=0, bytes_stored=0, books=books)
    there = DestinationStatus(receiver="receiver", elapsed_s=1.0, memory="", first_incomplete="", buffers=(buffer,))
    return Status(node="receiver", role="receiver", state="running", destination=there)


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Given]]:
    monkeypatch.setattr(run_session_module, "Manager", Played)
    made: list[Given] = []

    def given(plan: Plan, observer: Observer | None = None) -> Given:
        made.append(Given(plan, observer))
        return made[-1]

    yield given
    for one in made:
        if one.session.going:
            one.finish()


@pytest.fixture
def given(tmp_path: Path, make: Callable[..., Given]) -> Given:
    """Return a session that was started."""
    one = make(plan_with(config(tmp_path), {}))
    one.session.start()
    return one


class TestPlan:
    def test_values_of_a_buffer_go_over_those_of_its_name(self, tmp_path: Path) -> None:
        tables = config(tmp_path)
        tables["buffer"].append({**tables["buffer"][0], "name": "c"})
        plan = plan_with(tables, {"run": {"frames": 40}}, {"c": {"stack": 2}})
        assert plan.file.run.most_frames == 40
        assert plan.file.run.name == "s"
        assert not plan.source.is_toml
        assert json.loads(plan.source.text)["run"]["frames"] == 40
        assert [buffer.section.stack for buffer in plan.buffers] == [4, 2]
        assert tables["buffer"][1]["stack"] == 4, "the caller's tables stay as they are"

    def test_a_table_that_is_not_there_is_made(self, tmp_path: Path) -> None:
        assert plan_with(config(tmp_path), {"faults": {"reorder": 0.5}}).file.faults.reorder == 0.5


def test_images_are_decided_when_they_are_stored_or_were_not_accepted() -> None:
    books = Books(expected=9, complete=7, partial=1, missing=1, accepted=5, vetoed=2, errored=1, written=3)
    assert counts_of(books) == Counts(decided=7, accepted=5, vetoed=2, errored=1, missing=1, written=3)
    assert counts_of(replace(books, written=6)).decided == 9, "no more than were accepted"


class TestStart:
    def test_it_has_started_when_all_emulators_play(self, given: Given) -> None:
        for phase, state in (("configuring", "running"), ("running", "armed")):
            given.tell(phase, state)
            assert not given.session.started.done()
        given.tell("running", "paused")
        assert given.session.started.done()
        assert given.session.started.exception() is None
        paused = [given.session.paused]
        given.tell("running", "running")
        assert [*paused, given.session.paused] == [True, False]
        assert given.session.going
        assert given.manager.token == "a token"

    def test_it_has_not_started_while_one_emulator_does_not_play(
        self, tmp_path: Path, make: Callable[..., Given]
    ) -> None:
        tables = config(tmp_path, module=[{"x": 0, "y": 0}, {"x": 0, "y": 32}])
        tables["dataset"]["modules"] = 2
        tables["emulator"] = [{"name": "upper"}, {"name": "lower"}]
        given = make(plan_with(tables, {}))
        given.session.start()
        given.tell("running", "running", but={"lower": "armed"})
        assert not given.session.started.done()
        given.tell("running", "running", but={"lower": None})
        assert not given.session.started.done(), "nobody has heard of it"
        given.tell("running", "finished", but={"lower": "running"})
        assert given.session.started.done()

    def test_one_that_is_over_before_has_not_started(self, given: Given) -> None:
        given.manager.outcome.problem = "no such node"
        assert given.finish() is given.manager.outcome
        with pytest.raises(SessionError, match="no such node"):
            result(given.session.started)
        assert not given.session.going
        with pytest.raises(SessionError, match="the run is over: no such node"):
            result(given.session.look())

    def test_an_error_of_the_manager_is_raised_where_the_run_is_waited_for(self, given: Given) -> None:
        given.manager.fails = OSError("too many open files")
        given.session._loop.call_soon_threadsafe(given.manager.finish)
        with pytest.raises(OSError, match="too many open files"):
            result(given.session.ended)
        with pytest.raises(SessionError, match="too many open files"):
            result(given.session.started)
        assert given.session.books("b") == Books()
        with pytest.raises(SessionError, match=r"^the run is over$"):
            result(given.session.look())

    def test_one_that_was_not_started_says_so(self, tmp_path: Path, make: Callable[..., Given]) -> None:
        given = make(plan_with(config(tmp_path), {}))
        with pytest.raises(SessionError, match="was not started; `start` it first"):
            result(given.session.look())
        assert not given.session.going
        given.session._loop.close()
        with pytest.raises(SessionError, match="was not started"):
            given.session.interrupt()

    def test_its_observer_is_told_in_a_thread_of_its_own(self, tmp_path: Path, make: Callable[..., Given]) -> None:
        seen: list[tuple[str, str]] = []
        given = make(
            plan_with(config(tmp_path), {}),
            lambda said: seen.append((said.phase, threading.current_thread().name)),
        )
        given.session.start()
        given.tell("running", "running")
        eventually(lambda: [phase for phase, _ in seen] == ["running"])
        assert seen[0][1] != "run"


class TestLooks:
    def test_receivers_are_asked_and_those_whose_books_are_taken_keep_their_last(self, given: Given) -> None:
        given.tell("running", "running", Books(accepted=1, written=1))
        assert given.session.counts("b").written == 1
        assert given.session.books("other") == Books()
        given.manager.clients["receiver"].status_now = status_of(Books(accepted=3, written=2))
        result(given.session.look())
        assert given.session.counts("b") == Counts(decided=2, accepted=3, written=2)
        given.manager.clients["receiver"].status_now = Status(node="receiver", role="receiver", state="idle")
        result(given.session.look())
        assert given.session.counts("b").written == 2

    def test_books_of_the_end_are_those_of_the_outcome(self, given: Given) -> None:
        given.tell("running", "running", Books(accepted=1, written=1))
        given.manager.outcome.receivers["receiver"] = status_of(Books(accepted=20, written=20))
        given.finish()
        assert given.session.counts("b").written == 20

    def test_a_node_that_does_not_answer_is_an_error_of_the_session(self, given: Given) -> None:
        given.manager.clients["receiver"].fails["GetStatus"] = silent("receiver")
        with pytest.raises(SessionError, match="receiver does not answer") as error:
            result(given.session.look())
        assert not isinstance(error.value, NodeError)

    def test_images_are_waited_for(self, given: Given) -> None:
        client = given.manager.clients["receiver"]
        client.status_now = status_of(Books(accepted=3, written=2))
        waiting = given.session.settled("b", 3, GUARD_S)
        client.status_now = status_of(Books(accepted=3, written=3))
        assert result(waiting) == Counts(decided=3, accepted=3, written=3)
        says = r"buffer b: 3 of 4 images are decided and stored after 0 s \(3 accepted, 3 written\)"
        with pytest.raises(SessionError, match=says):
            result(given.session.settled("b", 4, 0.0))

    def test_a_run_that_ends_meanwhile_ends_the_wait(self, given: Given) -> None:
        given.manager.clients["receiver"].status_now = status_of(Books())
        waiting = given.session.settled("b", 4, GUARD_S)
        given.manager.outcome.problem = "the disk is full"
        given.finish()
        with pytest.raises(SessionError, match="the run is over: the disk is full"):
            result(waiting)

    def test_a_part_of_an_image_is_asked_of_the_receiver_of_its_buffer(self, given: Given) -> None:
        client = given.manager.clients["receiver"]
        client.views["b", "accepted"] = b"numbers"
        assert result(given.session.view("b", {"of": "accepted", "step": "2"})) == b"numbers"
        assert client.viewed == [{"of": "accepted", "step": "2", "buffer": "b"}]
        assert result(given.session.view("b", {"of": "vetoed"})) is None


class TestTriggers:
    @pytest.fixture
    def given(self, tmp_path: Path, make: Callable[..., Given]) -> Given:
        one = make(plan_with(config(tmp_path, trigger="software"), {"run": {"frames": 18}}))
        one.session.start()
        return one

    def test_all_emulators_take_so_many_frames(self, given: Given) -> None:
        taken: list[int] = []

        def hear(order: telegram.Telegram) -> None:
            assert isinstance(order, telegram.Trigger)
            taken.append(order.frames)

        given.manager.clients["emulator"].hear = hear
        result(given.session.trigger(4))
        result(given.session.trigger(12))
        with pytest.raises(SessionError, match=r"1 frames leave a part of a stack, .*; take a multiple of 4"):
            result(given.session.trigger(1))
        result(given.session.trigger(2))  # the last frames of the run
        assert taken == [4, 12, 2]

    def test_frames_that_a_node_refuses_are_not_taken(self, given: Given) -> None:
        given.manager.clients["emulator"].fails["Trigger"] = NodeError("emulator", "is not running", "state")
        with pytest.raises(SessionError, match="is not running"):
            result(given.session.trigger(4))
        assert given.session._triggered == 0


class TestEnds:
    @pytest.mark.parametrize(("begun", "asked"), [(True, "end a program"), (False, "interrupt")])
    def test_a_stop_is_an_end_in_order_once_the_run_has_begun(self, given: Given, begun: bool, asked: str) -> None:
        if begun:
            given.tell("running", "running")
        assert result(given.session.stop()) is given.manager.outcome
        assert given.manager.asked == [asked]

    def test_an_abort_and_an_interrupt_go_to_the_manager(self, given: Given) -> None:
        result(given.session.abort())
        assert given.manager.asked == ["interrupt"]
        given.session._thread.join(GUARD_S)
        given.session.interrupt()  # of a run that is over: nothing
        assert given.manager.asked == ["interrupt"]

    def test_an_interrupt_is_that_of_rashpa_run(self, given: Given) -> None:
        given.session.interrupt()
        result(given.session.ended)
        assert given.manager.asked == ["stop"]

    def test_a_run_whose_engines_play_all_frames_is_not_stopped(
        self, tmp_path: Path, make: Callable[..., Given]
    ) -> None:
        given = make(dealt_plan(tmp_path))
        given.session.start()
        with pytest.raises(SessionError, match="images that are dealt to a group"):
            given.session.stop()
        assert not given.manager.asked
        given.finish()
        assert result(given.session.stop()) is given.manager.outcome
