# SPDX-License-Identifier: Apache-2.0
"""A manager that takes over a run: the nodes that it accepts as those of the run, and the point from which it continues."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rashpa.control.books.outcome import Outcome
from rashpa.control.handover.journal import VERSION, Journal, JournalError, KnownNode, Record
from rashpa.control.handover.steering import Steering
from rashpa.control.nodes.fleet import Fleet
from rashpa.control.nodes.node_client import NodeError
from rashpa.control.plan.groups import Joined
from rashpa.control.plan.model import Plan
from rashpa.control.plan.planned_node import PlannedNode
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.run import attach as attach_module
from rashpa.control.run.attach import AdoptedNodes, AttachedCourse, attached
from rashpa.control.run.end import EndOfRun
from rashpa.control.run.run_notes import RunNotes
from rashpa.testing.group_plan import plan_of as dealt_plan
from rashpa.testing.run_file import run_file
from rashpa.testing.scripted_client import HOLDER, ScriptedClient, silent

BEFORE = "run before"


def plan_of(folder: Path) -> Plan:
    path = folder / "run.toml"
    path.write_text(run_file(run={"output": folder / "out"}))
    return load_plan(path)


def record_of(plan: Plan, began: float = 0.0, **others: Any) -> Record:
    return replace(
        Record(
            version=VERSION,
            holder=BEFORE,
            owner="f" * 32,
            local_token="of its nodes",
            host=socket.gethostname(),
            run_file=str(plan.source.path),
            text=plan.source.text,
            is_toml=True,
            output=str(plan.file.run.folder),
            report="",
            began=began,
            nodes=(KnownNode("receiver", "http://127.0.0.1:7", 7, "identity"),),
        ),
        **others,
    )


class Nodes(AdoptedNodes):
    """Scripted nodes. `did`: calls of the course, including orders to nodes."""

    def __init__(self, record: Record, plan: Plan) -> None:
        super().__init__(record, "")
        self.did: list[str] = []
        self.scripted: dict[str, ScriptedClient] = {}
        for node in plan.nodes:
            client = ScriptedClient(node.label, node.role, holder=BEFORE)
            client.hear = lambda order, name=node.name: self.did.append(f"{type(order).__name__} {name}")  # type: ignore[misc]
            self.scripted[node.name] = client
        self.clients.update(self.scripted)

    async def connect(self, plan: Plan) -> None:
        self.did.append("connect")

    @contextlib.asynccontextmanager
    async def renewed(self, heard: Mapping[str, float]) -> AsyncIterator[None]:
        self.did.append("renewed")
        yield


class Given:
    """Holds the course of a manager that attaches 107.5 s after the clock began, and 1000 s after the machine started."""

    def __init__(self, plan: Plan, monkeypatch: pytest.MonkeyPatch, record: Record | None = None) -> None:
        monkeypatch.setattr(attach_module, "time", SimpleNamespace(monotonic=lambda: 107.5))
        monkeypatch.setattr(attach_module, "since_boot", lambda: 1000.0)
        record = record or record_of(plan)
        self.nodes = Nodes(record, plan)
        self.clients = self.nodes.scripted
        self.fleet = Fleet(plan, self.nodes.clients, HOLDER)
        self.outcome = Outcome(plan)
        self.notes = RunNotes(self.fleet, self.nodes, self.outcome, None, lambda said: self.phases.append(said.phase))
        self.phases: list[str] = []
        steering = Steering(self.fleet, None, lambda: None)
        self.course = AttachedCourse(
            record, self.fleet, self.nodes, self.notes, EndOfRun(plan, None), steering, None, forced=False
        )

    def find(self) -> None:
        asyncio.run(self.course._find_run())


@pytest.mark.parametrize(("began", "at"), [(0.0, 107.5), (992.5, 100.0), (1001.0, 107.5)])
def test_the_run_began_when_its_first_manager_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, began: float, at: float
) -> None:
    plan = plan_of(tmp_path)
    joined = (Joined("farm", {"name": "c"}),)
    begun: list[float] = []
    monkeypatch.setattr(
        "rashpa.control.books.group_course.GroupCourse.begin", lambda self, moment: begun.append(moment)
    )
    given = Given(plan, monkeypatch, record_of(plan, began, joined=joined))
    assert given.notes.began == at
    assert begun == [at]
    assert given.notes.joined == joined
    assert given.outcome.cautions == (f"{BEFORE} was gone; {HOLDER} has taken the run over",)


def test_a_run_is_found_claimed_and_seen_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = Given(plan_of(tmp_path), monkeypatch)
    did = given.nodes.did

    def noting(word: str) -> Any:
        async def note() -> None:
            did.append(word)

        return note

    monkeypatch.setattr(given.notes, "note", lambda: did.append("note"))
    monkeypatch.setattr(given.course._overruns, "take_over", noting("overruns"))
    monkeypatch.setattr(given.course, "_see_through", noting("see through"))
    asyncio.run(given.course.carry_through())
    claims = ["Claim receiver", "Claim emulator"]
    assert did == ["connect", "renewed", *claims, "note", "overruns", "see through"]
    assert given.phases == ["attaching"]
    assert given.outcome.capabilities == {name: client.capable for name, client in given.clients.items()}
    assert given.fleet.claimed == {"receiver", "emulator"}


@pytest.mark.parametrize("holder", [BEFORE, HOLDER])
@pytest.mark.parametrize(
    ("name", "state", "good"),
    [
        ("receiver", "running", True),
        ("receiver", "finished", True),
        ("receiver", "armed", False),
        ("emulator", "running", True),
        ("emulator", "paused", True),
        ("emulator", "finished", True),
        ("emulator", "configured", False),
    ],
)
def test_a_run_that_had_begun_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, holder: str, name: str, state: str, good: bool
) -> None:
    given = Given(plan_of(tmp_path), monkeypatch)
    given.clients[name].status_now = replace(given.clients[name].status_now, state=state, holder=holder)
    if good:
        given.find()
    else:
        with pytest.raises(NodeError, match=f"{name} is {state}: the manager was gone before the acquisition") as error:
            given.find()
        assert error.value.code == "state"
    assert given.fleet.claimed == {"receiver", "emulator"}, "both are ours"
    assert given.fleet.status(name).state == state


@pytest.mark.parametrize(
    ("holder", "message", "why"),
    [
        ("run other", "", "it belongs to run other"),
        ("", "", "it belongs to nobody"),
        ("", "its lease has ended", "its lease has ended"),
    ],
)
def test_a_node_of_another_run_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, holder: str, message: str, why: str
) -> None:
    given = Given(plan_of(tmp_path), monkeypatch)
    client = given.clients["receiver"]
    client.status_now = replace(client.status_now, holder=holder, message=message)
    with pytest.raises(NodeError, match=f"receiver has ended the run: {why}. Files that it wrote are closed") as error:
        given.find()
    assert error.value.code == "state"
    assert given.fleet.claimed == {"emulator"}


def test_a_node_in_fault_says_why_and_is_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = Given(plan_of(tmp_path), monkeypatch)
    client = given.clients["receiver"]
    client.status_now = replace(client.status_now, state="fault", message="the disk is full")
    with pytest.raises(NodeError, match=r"^the disk is full$") as error:
        given.find()
    assert error.value.code == "state"
    assert "receiver" in given.fleet.claimed


def test_a_node_that_is_gone_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = Given(plan_of(tmp_path), monkeypatch)
    given.clients["emulator"].fails["GetStatus"] = silent("emulator")
    with pytest.raises(NodeError, match="emulator does not answer"):
        given.find()


class TestGroups:
    @pytest.fixture
    def given(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Given:
        return Given(dealt_plan(tmp_path), monkeypatch)

    def test_the_run_goes_on_without_a_member_that_is_gone(self, given: Given) -> None:
        given.clients["a"].fails["GetStatus"] = silent("receiver a")
        given.find()
        assert given.fleet.lost["a"].reason == "receiver a does not answer"
        known = given.fleet.last["a"]
        assert (known.node, known.role, known.state) == (given.fleet.label("a"), "receiver", "fault")
        assert known.message == "receiver a does not answer"

    def test_what_it_had_said_stands(self, given: Given) -> None:
        client = given.clients["a"]
        client.status_now = replace(client.status_now, state="fault", message="the disk is full")
        given.find()
        assert given.fleet.lost["a"].reason == "the disk is full"
        assert given.fleet.last["a"] == client.status_now

    def test_without_any_member_it_ends(self, given: Given) -> None:
        for name in ("a", "b"):
            given.clients[name].fails["GetStatus"] = silent(f"receiver {name}")
        with pytest.raises(NodeError, match="receiver b does not answer"):
            given.find()

    def test_a_node_that_it_needs_is_the_reason_when_both_are_gone(self, given: Given) -> None:
        for name in ("a", "emulator"):
            given.clients[name].fails["GetStatus"] = silent(name)
        with pytest.raises(NodeError, match="emulator does not answer"):
            given.find()
        assert not given.fleet.lost


class TestNodes:
    def test_they_are_those_of_the_record_and_none_is_started(self, tmp_path: Path) -> None:
        plan = plan_of(tmp_path)
        nodes = AdoptedNodes(record_of(plan, certificate="PEM"), "token")
        assert (nodes.owner, nodes.local_token, nodes._token) == ("f" * 32, "of its nodes", "token")
        assert nodes.launcher.certificate is not None
        assert nodes.launcher.certificate.certificate == "PEM"
        assert AdoptedNodes(record_of(plan), "").launcher.certificate is None

        def node(name: str) -> PlannedNode:
            return next(one for one in plan.nodes if one.name == name)

        asyncio.run(nodes._start(plan, node("receiver")))
        assert {name: (one.pid, one.url) for name, one in nodes.local.items()} == {
            "receiver": (7, "http://127.0.0.1:7")
        }
        with pytest.raises(NodeError, match="emulator is no process of this run") as error:
            asyncio.run(nodes._start(plan, node("emulator")))
        assert error.value.code == "config"


class TestAttached:
    def journal(self, folder: Path, **others: Any) -> Journal:
        """Return the journal of a manager that has died."""
        plan = plan_of(folder)
        path = folder / "out" / "small_attach.json"
        before = Journal(path)
        before.write(record_of(plan, **others))
        before.close()
        return Journal(path)

    def test_the_manager_has_the_plan_and_the_report_of_the_record(self, tmp_path: Path) -> None:
        journal = self.journal(tmp_path, report="report", joined=())
        manager = attached(journal, token="mine")
        assert manager.plan.file.run.name == "small"
        assert isinstance(manager._nodes, AdoptedNodes)
        assert manager._nodes._token == "mine"
        assert isinstance(manager._course, AttachedCourse)
        assert journal.report == "report"
        journal.close()

    def test_another_report_may_be_asked_for(self, tmp_path: Path) -> None:
        journal = self.journal(tmp_path, report="report")
        journal.report = "mine"
        attached(journal)
        assert journal.report == "mine"
        journal.close()

    def test_processes_of_another_machine_are_attached_to_there(self, tmp_path: Path) -> None:
        journal = self.journal(tmp_path, host="elsewhere")
        with pytest.raises(JournalError, match=r"are processes of elsewhere, and this is .*; attach there"):
            attached(journal)
        again = Journal(journal.path)
        again.take_over()  # nobody holds it
        again.close()

    def test_nodes_with_urls_can_be_reached_from_any_machine(self, tmp_path: Path) -> None:
        journal = self.journal(tmp_path, host="elsewhere", nodes=(KnownNode("receiver", "http://127.0.0.1:7"),))
        assert attached(journal).plan.receivers
        journal.close()
