# SPDX-License-Identifier: Apache-2.0
"""A whole run by its course, with scripted nodes: the order of its telegrams, its reports, and the end of its watch."""

import asyncio
import threading
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from python.tests.control.test_books import clients_of as with_tables
from python.tests.control.test_course import PLAIN, Given

from rashpa.control.nodes.node_client import NodeError
from rashpa.control.plan.groups import Joined
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.run import course as course_module
from rashpa.control.run.course import unprepared
from rashpa.control.run.foreign_detector import end_of
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram import Capabilities
from rashpa.testing.group_plan import plan_of as dealt_plan
from rashpa.testing.run_file import run_file
from rashpa.testing.scripted_client import HOLDER, silent
from rashpa.testing.waiting import GUARD_S, eventually

FOREIGN = run_file(
    run={"frames": 3},
    detector={"width": 1024, "height": 512, "control": {"kind": "none"}},
    dataset=None,
    link={"kind": "sls"},
    receiver=[{"name": "one", "port": 0}],
    buffer={"slots": 16, "stack": 2, "deadline_ms": 100},
)


class Detector:
    """A detector that ends when a test tells it to. `told`: calls of the course, in the order of the telegrams."""

    def __init__(self, given: Given) -> None:
        self.told = given.told
        self.over = False
        self.cautions = ("the detector has sent more",)
        self.ends: Any = None

    async def prepare(self) -> None:
        self.told.append(("detector", "prepare"))

    async def start(self) -> None:
        self.told.append(("detector", "start"))

    async def stop(self) -> None:
        self.told.append(("detector", "stop"))

    def know(self, ends: Any) -> None:
        self.ends = ends

    def ended(self, heard: Any) -> bool:
        return self.over and set(heard) == {"one"}


def given_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str = PLAIN) -> Given:
    """Return a run without refusals, with nodes whose tables have complete images. Status requests take no time."""
    monkeypatch.setattr(course_module, "check_abilities", lambda plan, can: None)
    monkeypatch.setattr(course_module, "overloads", lambda plan, can: [])
    monkeypatch.setattr(course_module, "next_look_s", lambda now, due, most: 0.0)
    path = tmp_path / "run.toml"
    path.write_text(text)
    given = Given(load_plan(path))
    for name, client in with_tables(given.fleet.plan).items():
        given.clients[name].tables = client.tables
    return given


def finish_after(given: Given, looks: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Make running nodes report the end with the n-th status."""
    seen = dict.fromkeys(looks, 0)

    def looked(name: str, ask: Callable[[], Any]) -> Callable[[], Any]:
        async def status() -> telegram.Status:
            client = given.clients[name]
            if client.status_now.state == "running":
                seen[name] += 1
                if seen[name] >= looks[name]:
                    client.status_now = replace(client.status_now, state="finished")
            return await ask()  # type: ignore[no-any-return]

        return status

    for name in looks:
        monkeypatch.setattr(given.clients[name], "status", looked(name, given.clients[name].status))


def carried(given: Given) -> list[str]:
    """Carry the run through; return the reported phases, each once."""
    phases: list[str] = []
    given.notes.observe(lambda said: phases.append(said.phase))
    asyncio.run(asyncio.wait_for(given.course.carry_through(), GUARD_S))
    return [phase for number, phase in enumerate(phases) if number == 0 or phases[number - 1] != phase]


def orders_of(given: Given, name: str) -> list[str]:
    return [order for one, order in given.told if one == name]


def test_a_run_takes_its_course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = given_of(tmp_path, monkeypatch)
    finish_after(given, {"upper": 2, "lower": 4}, monkeypatch)
    noted: list[float] = []
    monkeypatch.setattr(given.notes, "note", lambda: noted.append(given.notes.began))
    forgot: list[set[str]] = []
    monkeypatch.setattr(given.end, "begin", lambda: forgot.append(set(given.fleet.claimed)))
    settled: list[bool] = []

    async def settle(watch: object) -> None:
        settled.append(("one", "Stop") in given.told)

    monkeypatch.setattr(given.course.groups, "settle", settle)
    given.course._nodes.local["one"] = SimpleNamespace(ended=None)  # type: ignore[assignment]
    given.clients["one"].said = [{"text": "a line"}]
    ready: list[str] = []
    given.course.prepare = lambda: ready.append(threading.current_thread().name)
    assert carried(given) == [
        "starting nodes",
        "configuring the receiver",
        "configuring the emulators (dataset)",
        "running",
        "finishing",
        "done",
    ]
    assert orders_of(given, "one") == ["Claim", "Configure", "Arm", "Start", "Stop", "Reset"]
    for emulator in ("upper", "lower"):
        assert orders_of(given, emulator) == ["Claim", "Configure", "Arm", "Start", "Reset"]
    assert given.told.index(("one", "Start")) < given.told.index(("upper", "Start"))
    outcome = given.notes.outcome
    assert set(outcome.capabilities) == set(outcome.emulators) | set(outcome.receivers) == {"one", "upper", "lower"}
    assert isinstance(outcome.capabilities["one"], Capabilities)
    assert {name: len(table) for name, table in outcome.completeness.items()} == {"full": 20}
    assert [account.unexplained for account in outcome.accounts] == [0]
    assert outcome.acquisition_s > 0.0
    assert list(outcome.logs) == ["one"], "of nodes that end with the run"
    assert outcome.cautions == ()
    assert forgot == [{"one", "upper", "lower"}], "requests to a run before are nothing to this one"
    assert settled == [False], "before the receivers are told to end"
    assert noted[0] == 0.0, "first when all nodes are claimed"
    assert noted[1] == given.notes.began > 0.0, "then when the run has begun"
    eventually(lambda: ready == ["get ready"])


def test_without_a_thread_nothing_is_prepared_and_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = given_of(tmp_path, monkeypatch)
    finish_after(given, {"upper": 1, "lower": 1}, monkeypatch)
    ready: list[bool] = []
    given.course.prepare = lambda: ready.append(True)

    class NoThread(threading.Thread):
        def start(self) -> None:
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(course_module, "threading", SimpleNamespace(Thread=NoThread))
    assert carried(given)[-1] == "done"
    assert not ready
    unprepared()


def test_several_receivers_are_configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = run_file(
        receiver=[{"name": "one", "port": 0}, {"name": "other", "port": 0}],
        buffer=[
            {"name": "a", "receiver": "one", "sink": [{"kind": "null"}]},
            {"name": "b", "receiver": "other", "sink": [{"kind": "null"}]},
        ],
    )
    given = given_of(tmp_path, monkeypatch, text)
    finish_after(given, {"emulator": 1}, monkeypatch)
    phases = carried(given)
    assert phases[1:3] == ["configuring the receivers", "configuring the emulator (dataset)"]


def test_a_run_that_is_to_end_early_ends_its_sources_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = given_of(tmp_path, monkeypatch)
    given.end.want("somebody")
    carried(given)
    assert orders_of(given, "upper") == ["Claim", "Configure", "Arm", "Start", "Pause", "Stop", "Reset"]
    assert orders_of(given, "one") == [
        "Claim",
        "Configure",
        "Arm",
        "Start",
        "HoldDeadlines",
        "HoldDeadlines",
        "Stop",
        "Reset",
    ]
    assert given.notes.outcome.stopped_by == "somebody"


class TestDetector:
    """A detector that sends by itself, without emulators."""

    def given(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Given, Detector]:
        given = given_of(tmp_path, monkeypatch, FOREIGN)
        detector = Detector(given)
        given.course._detector = detector  # type: ignore[assignment]
        return given, detector

    def test_it_is_prepared_started_and_stopped_around_the_orders(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        given, detector = self.given(tmp_path, monkeypatch)
        detector.over = True
        arms: list[telegram.Arm] = []
        hear = given.clients["one"].hear

        def note(order: telegram.Telegram) -> None:
            hear(order)
            if isinstance(order, telegram.Arm):
                arms.append(order)

        given.clients["one"].hear = note
        phases = carried(given)
        assert phases[1] == "preparing the detector"
        assert given.told == [
            ("one", "Claim"),
            ("detector", "prepare"),
            ("one", "Configure"),
            ("one", "Arm"),
            ("one", "Start"),
            ("detector", "start"),
            ("one", "Stop"),
            ("one", "Reset"),
            ("detector", "stop"),
        ]
        plan = given.fleet.plan
        assert set(detector.ends) == {dtp.id for dtp in plan.dtps}
        where = end_of(plan.file.detector.control, plan.receivers[0].destination_kind)
        assert [set(arm.endpoints) for arm in arms] == [{where}]
        assert given.notes.outcome.cautions == ("the detector has sent more",)

    def test_it_is_stopped_when_the_run_fails(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        given, _ = self.given(tmp_path, monkeypatch)
        given.clients["one"].fails["Start"] = silent("one")
        with pytest.raises(NodeError):
            carried(given)
        assert given.told[-1] == ("detector", "stop")

    def test_it_rests_as_long_as_it_likes(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        given, detector = self.given(tmp_path, monkeypatch)
        asked: list[Collection[str]] = []

        def stalled(last: Any, waited: Collection[str]) -> Any:
            asked.append(waited)

        given.course._stall = SimpleNamespace(stalled=stalled)  # type: ignore[assignment]
        given.course._check_stall(["one"])
        assert not asked
        assert not given.course._ends(1e6)
        detector.over = True
        given.fleet.keep("one", given.clients["one"].status_now)
        assert given.course._ends(1e6)
        assert given.notes.outcome.cautions == detector.cautions
        given.end.want()
        given.course._check_stall(["one"])
        assert asked == [["one"]]


class TestWatch:
    @pytest.fixture
    def given(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Given:
        given = given_of(tmp_path, monkeypatch)
        for client in given.clients.values():
            client.status_now = replace(client.status_now, holder=HOLDER, state="running")
        return given

    def watched(
        self, given: Given, monkeypatch: pytest.MonkeyPatch, phase: str = "running", **options: Any
    ) -> list[str]:
        """Watch the emulators; return the calls of the course's helpers."""
        did: list[str] = []

        async def overruns(elapsed_s: float) -> None:
            assert elapsed_s == pytest.approx(given.notes.elapsed_s, abs=GUARD_S)
            did.append("overruns")

        async def steering() -> None:
            did.append("steering")

        monkeypatch.setattr(given.course._overruns, "look", overruns)
        monkeypatch.setattr(given.course._steering, "look", steering)
        monkeypatch.setattr(given.course._joining, "look", lambda: did.append("joining"))
        given.notes.observe(lambda said: did.append(said.phase))
        asyncio.run(asyncio.wait_for(given.course._watch(["upper", "lower"], phase, **options), GUARD_S))
        return did

    def test_it_lasts_until_all_are_through(self, given: Given, monkeypatch: pytest.MonkeyPatch) -> None:
        finish_after(given, {"upper": 1, "lower": 3}, monkeypatch)
        assert self.watched(given, monkeypatch) == ["running", "overruns", "steering"] * 3

    def test_it_ends_when_that_is_said(self, given: Given, monkeypatch: pytest.MonkeyPatch) -> None:
        given.notes.began = 1.0
        elapsed: list[float] = []

        def ends(elapsed_s: float) -> bool:
            elapsed.append(elapsed_s)
            return len(elapsed) == 2

        assert self.watched(given, monkeypatch, ends=ends) == ["running", "overruns", "steering"] * 2
        assert elapsed[0] > 1.0

    def test_receivers_may_join_where_that_is_said(self, given: Given, monkeypatch: pytest.MonkeyPatch) -> None:
        finish_after(given, {"upper": 1, "lower": 1}, monkeypatch)
        assert self.watched(given, monkeypatch, joining=True) == ["joining", "running", "overruns", "steering"]

    def test_at_the_end_nothing_is_steered(self, given: Given, monkeypatch: pytest.MonkeyPatch) -> None:
        finish_after(given, {"upper": 1, "lower": 1}, monkeypatch)
        assert self.watched(given, monkeypatch, "finishing") == ["finishing"]

    @pytest.mark.parametrize("later", [True, False])
    def test_looks_go_by_the_time_when_nodes_may_be_through(
        self, given: Given, monkeypatch: pytest.MonkeyPatch, later: bool
    ) -> None:
        dues: list[tuple[float, float, float]] = []

        def look(now: float, due: float, most: float) -> float:
            dues.append((now, due, most))
            return 0.0

        monkeypatch.setattr(course_module, "next_look_s", look)
        finish_after(given, {"upper": 2, "lower": 2}, monkeypatch)
        self.watched(given, monkeypatch, through_at=1e12 if later else 1.0)
        ((now, due, most),) = dues
        assert most == 0.25
        assert due == 1e12 if later else 1.0 < due <= now

    def test_a_node_that_takes_long_to_ask_is_asked_half_of_the_time(
        self, given: Given, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        slept: list[float] = []
        sleep = asyncio.sleep

        async def sleeping(seconds: float) -> None:
            slept.append(seconds)
            await sleep(0)  # wait: it takes no time

        async def looked() -> float:
            for name in ("upper", "lower"):
                given.fleet.keep(
                    name, replace(given.clients[name].status_now, state="finished" if slept else "running")
                )
            return 3.5

        monkeypatch.setattr(course_module, "asyncio", SimpleNamespace(sleep=sleeping))
        monkeypatch.setattr(given.course, "_look_at_all", looked)
        self.watched(given, monkeypatch)
        assert slept == [3.5]

    @pytest.mark.parametrize("trigger", ["internal", "software"])
    def test_a_node_that_stands_still_is_named(self, given: Given, trigger: str) -> None:
        plan = given.fleet.plan
        detector = plan.file.detector.model_copy(update={"trigger": trigger})
        given.fleet.plan = replace(plan, file=plan.file.model_copy(update={"detector": detector}))
        given.fleet.keep("one", given.clients["one"].status_now)
        still = SimpleNamespace(node="one", seconds=61.4)
        given.course._stall = SimpleNamespace(stalled=lambda last, waited: still)  # type: ignore[assignment]
        if trigger == "software":
            given.course._check_stall(["one"])  # it waits for a trigger
            given.end.want()
        with pytest.raises(NodeError, match="one is running, but nothing has happened for 61 s; its log says") as error:
            given.course._check_stall(["one"])
        assert error.value.code == "deadline"
        given.course._stall = SimpleNamespace(stalled=lambda last, waited: None)  # type: ignore[assignment]
        given.course._check_stall(["one"])


@pytest.mark.parametrize("dealt", [False, True])
def test_an_overrun_may_end_a_run_that_can_end_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dealt: bool
) -> None:
    ends: list[Callable[[], None] | None] = []

    class Guard:
        found: tuple[str, ...] = ()

        def __init__(self, fleet: object, ask: object, end: Callable[[], None] | None) -> None:
            ends.append(end)

    monkeypatch.setattr(course_module, "OverrunGuard", Guard)
    given = Given(dealt_plan(tmp_path)) if dealt else given_of(tmp_path, monkeypatch)
    (end,) = ends
    if end is None:
        assert dealt
    else:
        end()
        assert (given.end.wanted, given.end.by, dealt) == (True, "run.on_overrun", False)


def test_a_receiver_that_has_joined_is_part_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = Given(dealt_plan(tmp_path))
    noted: list[tuple[Joined, ...]] = []
    monkeypatch.setattr(given.notes, "note", lambda: noted.append(given.notes.joined))
    before, given.fleet.plan = given.course._stall, replace(given.fleet.plan)
    joined = Joined("farm", {"name": "c"})
    given.course._follow(joined)
    assert given.notes.outcome.plan is given.fleet.plan
    assert noted == [(joined,)]
    assert given.course._stall is not before


@pytest.mark.parametrize("lost", [True, False])
def test_books_are_taken_without_a_member_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: bool
) -> None:
    given = Given(dealt_plan(tmp_path))
    taken: list[set[str]] = []

    async def take(plan: object, clients: object, last: object, outcome: Any) -> None:
        taken.append(set(outcome.lost))
        if len(taken) == 1:
            raise silent("receiver a") if lost else NodeError("receiver a", "no table")

    monkeypatch.setattr("rashpa.control.books.books.take_books", take)
    phases: list[str] = []
    given.notes.observe(lambda said: phases.append(said.phase))
    if lost:
        asyncio.run(given.course._take_books())
        assert (taken, phases) == ([set(), {"a"}], ["done"])
    else:
        with pytest.raises(NodeError, match="no table"):
            asyncio.run(given.course._take_books())
        assert not phases


def test_what_is_prepared_is_shown_while_the_emulators_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = given_of(tmp_path, monkeypatch)
    phases: list[str] = []
    given.notes.observe(lambda said: phases.append(said.phase))
    asyncio.run(given.course._tell_prepared("configuring"))
    assert phases == ["configuring"]
    assert {name: given.fleet.last[name] for name in ("upper", "lower")} == {
        name: given.clients[name].status_now for name in ("upper", "lower")
    }


def test_nobody_joins_a_run_that_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = Given(dealt_plan(tmp_path))
    cancelled: list[bool] = []

    async def cancel() -> None:
        cancelled.append(True)

    monkeypatch.setattr(given.course._joining, "cancel", cancel)
    asyncio.run(given.course.cancel())
    assert cancelled == [True]
