# SPDX-License-Identifier: Apache-2.0
"""The ends that a manager gives its run, with a course that a test controls: the outcome, the requests to nodes, and the reports."""

import asyncio
import errno
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rashpa.control.books.group_course import GroupCourse
from rashpa.control.books.outcome import Outcome
from rashpa.control.capacity.capacity import CapacityError
from rashpa.control.handover.journal import Journal
from rashpa.control.handover.run_request import RequestDesk
from rashpa.control.handover.stop_request import StopRequest
from rashpa.control.nodes.fleet import Fleet
from rashpa.control.nodes.launcher import LOCAL
from rashpa.control.nodes.node_client import NodeError
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.run import manager as manager_module
from rashpa.control.run.end import EndOfRun
from rashpa.control.run.manager import Manager
from rashpa.control.run.run_nodes import RunNodes
from rashpa.control.run.run_notes import RunNotes
from rashpa.testing.group_plan import plan_of as dealt_plan
from rashpa.testing.run_file import run_file
from rashpa.testing.scripted_client import ScriptedClient, silent
from rashpa.testing.waiting import GUARD_S


def plan_of(folder: Path, frames: int | str = 20) -> Plan:
    path = folder / "run.toml"
    path.write_text(run_file(run={"frames": frames, "output": folder / "out"}))
    return load_plan(path)


class Nodes(RunNodes):
    """Scripted nodes. `did`: calls by the manager; `end`: how a process of the run has ended."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(LOCAL, "", {})
        self.did: list[str] = []
        self.end = ""
        self.scripted = {node.name: ScriptedClient(node.label, node.role) for node in plan.nodes}
        self.clients.update(self.scripted)

    async def connect(self, plan: Plan) -> None:
        self.did.append("connect")

    async def close(self) -> None:
        self.did.append("close")

    def kill(self) -> None:
        self.did.append("kill")

    async def gone(self) -> str:
        self.did.append("gone")
        return self.end


class Given:
    """Holds a manager whose course does `work`. All its nodes are claimed."""

    def __init__(self, plan: Plan, work: Callable[["Given"], Awaitable[None]], **options: Any) -> None:
        self.nodes = Nodes(plan)
        self._work = work
        self.cancelled = 0
        self.prepare: Callable[[], None] | None = None
        self.manager = Manager(plan, nodes=self.nodes, course=self._course, **options)  # type: ignore[arg-type]

    def _course(
        self,
        fleet: Fleet,
        nodes: RunNodes,
        notes: RunNotes,
        end: EndOfRun,
        steering: object,
        desk: RequestDesk[Any, Any] | None,
        *,
        forced: bool,
    ) -> "Given":
        self.fleet, self.notes, self.end, self.desk, self.forced = fleet, notes, end, desk, forced
        self.groups = GroupCourse(fleet)
        self.fleet.claimed.update(fleet.clients)
        for client in self.nodes.scripted.values():
            client.status_now = client.status_now.__class__(
                node=client.name, role=client.status_now.role, state="running", holder=fleet.holder
            )
        return self

    async def carry_through(self) -> None:
        await self._work(self)

    async def cancel(self) -> None:
        self.cancelled += 1

    def run(self) -> Outcome:
        return asyncio.run(asyncio.wait_for(self.manager.run(), GUARD_S))

    @property
    def aborted(self) -> set[str]:
        return {name for name, client in self.nodes.scripted.items() if "Abort" in client.orders}


async def nothing(given: Given) -> None:
    """End at once."""


def failing(error: BaseException, began: float = 0.0) -> Callable[[Given], Awaitable[None]]:
    async def fail(given: Given) -> None:
        given.notes.began = began
        raise error

    return fail


async def hang(given: Given) -> None:
    await asyncio.Event().wait()


class TestRegularEnd:
    def test_nothing_is_given_up_and_the_nodes_are_closed(self, tmp_path: Path) -> None:
        given = Given(plan_of(tmp_path), nothing)
        outcome = given.run()
        assert (outcome.problem, outcome.interrupted, outcome.refused) == ("", False, False)
        assert (given.aborted, given.nodes.did, given.cancelled) == (set(), ["close"], 1)
        assert outcome.run_id

    def test_who_asked_for_the_end_is_answered_and_the_journal_goes(self, tmp_path: Path) -> None:
        journal = Journal(tmp_path / "out" / "small_attach.json")

        async def note(given: Given) -> None:
            given.notes.note()
            assert journal.path.exists()

        given = Given(plan_of(tmp_path), note, journal=journal)
        journal.path.parent.mkdir()
        request = StopRequest(journal.path, "somebody")
        given.run()
        answer = request.answer()
        request.close()
        assert answer is not None
        assert answer.planned == 20
        assert not journal.path.exists()

    def test_its_observer_and_its_preparation_are_those_that_it_is_given(self, tmp_path: Path) -> None:
        async def tell(given: Given) -> None:
            given.notes.tell("running")

        given, phases, prepared = Given(plan_of(tmp_path), tell), [], []
        given.manager.observe(lambda progress: phases.append(progress.phase))
        given.manager.prepare(lambda: prepared.append(True))
        given.run()
        assert phases == ["running"]
        assert given.prepare is not None
        given.prepare()
        assert prepared == [True]

    def test_receivers_can_ask_to_join_where_there_is_a_group_and_a_place_to_ask(self, tmp_path: Path) -> None:
        journal = Journal(tmp_path / "x_attach.json")
        assert Given(dealt_plan(tmp_path), nothing, journal=journal).desk is not None
        assert Given(plan_of(tmp_path), nothing, journal=journal).desk is None
        assert Given(dealt_plan(tmp_path), nothing).desk is None

    @pytest.mark.parametrize(("written", "given", "used"), [("", "mine", "mine"), ("theirs", "mine", "theirs")])
    def test_the_token_of_the_run_file_goes_before(self, tmp_path: Path, written: str, given: str, used: str) -> None:
        path = tmp_path / "run.toml"
        path.write_text(run_file(nodes={"receiver": "http://127.0.0.1:9", **({"token": written} if written else {})}))
        manager = Manager(load_plan(path), token=given)
        assert manager._nodes._token == used

    @pytest.mark.parametrize("force", [True, False])
    def test_the_course_knows_whether_limits_count(self, tmp_path: Path, force: bool) -> None:
        assert Given(plan_of(tmp_path), nothing, force=force).forced is force

    def test_nodes_are_asked_what_they_can_do(self, tmp_path: Path) -> None:
        given = Given(plan_of(tmp_path), nothing)
        said = asyncio.run(given.manager.ask())
        assert said == {name: client.capable for name, client in given.nodes.scripted.items()}
        assert given.nodes.did == ["connect", "close"]
        assert all(not client.orders for client in given.nodes.scripted.values())


class TestRefused:
    def test_a_plan_beyond_its_machines_is_refused_and_no_node_is_told(self, tmp_path: Path) -> None:
        given = Given(plan_of(tmp_path), failing(CapacityError("too much")))
        outcome = given.run()
        assert (outcome.problem, outcome.refused, given.aborted) == ("too much", True, set())
        assert given.nodes.did == ["close"]

    @pytest.mark.parametrize("code", ["config", "resource", "file", "state", "denied", "deadline", ""])
    @pytest.mark.parametrize("began", [0.0, 1.0])
    def test_what_a_node_refuses_before_the_run_begins_is_a_refusal(
        self, tmp_path: Path, code: str, began: float
    ) -> None:
        given = Given(plan_of(tmp_path), failing(NodeError("receiver", "no such file", code), began))
        outcome = given.run()
        assert outcome.problem.splitlines()[0] == "no such file"
        assert outcome.refused == (not began and code not in ("deadline", ""))
        assert given.aborted == {"emulator", "receiver"}
        assert ("gone" in given.nodes.did) == (not began)

    def test_a_process_that_has_ended_is_the_reason_why_others_refuse(self, tmp_path: Path) -> None:
        given = Given(plan_of(tmp_path), failing(NodeError("receiver", "no way to the emulator", "resource")))
        given.nodes.end = "emulator was killed"
        outcome = given.run()
        assert (outcome.problem, outcome.refused) == ("emulator was killed; no way to the emulator", False)

    @pytest.mark.parametrize("began", [0.0, 1.0])
    def test_a_node_that_is_lost_is_asked_nothing_more(self, tmp_path: Path, began: float) -> None:
        given = Given(plan_of(tmp_path), failing(silent("receiver"), began))
        outcome = given.run()
        assert outcome.problem.splitlines()[0] == "receiver does not answer"
        assert (outcome.refused, given.aborted, "gone" in given.nodes.did) == (False, {"emulator"}, False)
        assert bool(outcome.acquisition_s) == bool(began)


class TestFailure:
    def test_a_bug_is_logged_and_reported(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        given = Given(plan_of(tmp_path), failing(ValueError("no colour")))
        with caplog.at_level(logging.ERROR):
            outcome = given.run()
        assert outcome.problem == "the manager has failed: ValueError: no colour; please report it"
        assert given.aborted == {"emulator", "receiver"}
        assert "the manager has failed" in caplog.text
        assert "no colour" in caplog.text

    @pytest.mark.parametrize(
        ("error", "limited", "says"),
        [
            (RuntimeError("no thread"), RuntimeError, "no thread; 8 threads; raise that limit"),
            (KeyError(), MemoryError, "KeyError; 8 threads; raise that limit"),
        ],
    )
    def test_a_limit_behind_it_is_named_also_where_it_shows_as_another_error(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
        error: Exception,
        limited: type[Exception],
        says: str,
    ) -> None:
        monkeypatch.setattr(manager_module, "limit_behind", lambda found: "8 threads" * isinstance(found, limited))
        outcome = Given(plan_of(tmp_path), failing(error)).run()
        assert outcome.problem == f"the manager has failed: {says}"
        assert not caplog.records, "it is no bug"

    @pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
    def test_without_files_nothing_more_can_be_done(self, tmp_path: Path, number: int) -> None:
        given = Given(plan_of(tmp_path), failing(OSError(number, "too many")))
        with pytest.raises(OSError, match="too many"):
            given.run()
        assert (given.aborted, given.nodes.did) == (set(), ["close"])

    def test_any_other_error_of_the_system_is_the_run_s_problem(self, tmp_path: Path) -> None:
        outcome = Given(plan_of(tmp_path), failing(OSError(errno.EIO, "broken disk"))).run()
        assert outcome.problem.startswith("the manager has failed: ")
        assert "broken disk" in outcome.problem


class TestInterrupts:
    def test_before_the_run_there_is_nothing_to_interrupt(self, tmp_path: Path) -> None:
        given = Given(plan_of(tmp_path), nothing)
        given.manager.interrupt()
        assert not given.run().interrupted

    def test_an_interrupt_gives_the_run_up_and_is_no_hurry(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(manager_module, "_HURRY_S", 0.0)

        async def interrupted(given: Given) -> None:
            given.manager.interrupt()
            await asyncio.Event().wait()

        given = Given(plan_of(tmp_path), interrupted)
        outcome = given.run()
        assert (outcome.interrupted, outcome.problem, given.aborted) == (True, "interrupted", {"emulator", "receiver"})
        assert not given.manager.hurried

    @pytest.mark.parametrize(
        ("frames", "calls"),
        [
            (20, ["interrupt", "interrupt"]),
            (20, ["stop", "stop"]),
            (20, ["stop", "interrupt"]),
            ("until stopped", ["stop", "stop"]),  # the first one would have ended it in order
        ],
    )
    def test_the_second_one_kills_nodes_that_hang(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, frames: int | str, calls: list[str]
    ) -> None:
        monkeypatch.setattr(manager_module, "_HURRY_S", 0.01)
        ended: list[float] = []

        async def gone(within_s: float = 0.5) -> str:
            ended.append(within_s)
            return "killed"

        async def interrupted(given: Given) -> None:
            given.notes.began = 1.0
            for call in calls:
                getattr(given.manager, call)()
            await asyncio.Event().wait()

        given = Given(plan_of(tmp_path, frames), interrupted)
        given.nodes.local["receiver"] = SimpleNamespace(ended=gone, kill=lambda: None)  # type: ignore[assignment]

        async def never() -> Any:
            await asyncio.Event().wait()

        monkeypatch.setattr(given.nodes.scripted["receiver"], "status", never)
        outcome = given.run()
        assert outcome.interrupted
        assert given.manager.hurried
        assert "kill" in given.nodes.did
        assert len(ended) == 1, "its end is waited for"

    def test_one_that_waits_for_the_run_may_be_cancelled(self, tmp_path: Path) -> None:
        begun = asyncio.Event()
        left: list[str] = []

        async def wait(given: Given) -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                left.append("course")

        given = Given(plan_of(tmp_path), wait)

        async def check() -> None:
            running = asyncio.create_task(given.manager.run())
            await asyncio.wait_for(begun.wait(), GUARD_S)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running

        asyncio.run(check())
        assert left == ["course"]
        assert (given.aborted, given.nodes.did) == (set(), ["close"])


class TestStops:
    """In an open-ended run, the first stop ends it in order."""

    def stopped(self, plan: Plan, began: float) -> tuple[Given, Outcome]:
        async def work(given: Given) -> None:
            given.notes.began = began
            given.manager.stop()
            if not given.end.wanted:
                await asyncio.Event().wait()

        given = Given(plan, work)
        return given, given.run()

    def test_the_first_stop_ends_it_in_order(self, tmp_path: Path) -> None:
        given, outcome = self.stopped(plan_of(tmp_path, "until stopped"), 1.0)
        assert (given.end.wanted, given.end.by, outcome.interrupted) == (True, "", False)

    @pytest.mark.parametrize(("frames", "began"), [(20, 1.0), ("until stopped", 0.0)])
    def test_any_other_run_is_interrupted(self, tmp_path: Path, frames: int | str, began: float) -> None:
        given, outcome = self.stopped(plan_of(tmp_path, frames), began)
        assert (given.end.wanted, outcome.interrupted, given.manager.hurried) == (False, True, False)

    def test_a_program_may_end_any_run(self, tmp_path: Path) -> None:
        async def end(given: Given) -> None:
            given.manager.end("a program")

        given = Given(plan_of(tmp_path), end)
        given.run()
        assert (given.end.wanted, given.end.by) == (True, "a program")
