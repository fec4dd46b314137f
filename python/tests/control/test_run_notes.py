# SPDX-License-Identifier: Apache-2.0
"""The notes of a manager on its run: for its observer, in its journal, and in the outcome."""

import asyncio
import json
import os
import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rashpa.control.books.outcome import Outcome, Progress
from rashpa.control.handover.journal import VERSION, Journal
from rashpa.control.nodes.fleet import Fleet
from rashpa.control.nodes.launcher import LocalLauncher, RunCertificate
from rashpa.control.nodes.node_client import NodeError
from rashpa.control.nodes.process_identity import identity_of
from rashpa.control.plan.groups import Joined
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.run import run_notes as run_notes_module
from rashpa.control.run.run_nodes import RunNodes
from rashpa.control.run.run_notes import RunNotes
from rashpa.testing.run_file import run_file
from rashpa.testing.scripted_client import HOLDER, ScriptedClient, silent


def plan_of(folder: Path, orphaned: str = "end") -> Plan:
    path = folder / "run.toml"
    path.write_text(run_file(run={"output": folder / "out", "orphaned": orphaned}))
    return load_plan(path)


class Given:
    """Holds the notes of a run with scripted nodes; the receiver's process is this one."""

    def __init__(self, plan: Plan, journal: Journal | None = None, certificate: RunCertificate | None = None) -> None:
        self.nodes = RunNodes(LocalLauncher(certificate=certificate), "", {})
        self.clients = {
            node.name: ScriptedClient(node.label, node.role, url=f"http://{node.name}:1") for node in plan.nodes
        }
        self.nodes.clients.update(self.clients)
        self.nodes.local["receiver"] = SimpleNamespace(pid=os.getpid())  # type: ignore[assignment]
        self.fleet = Fleet(plan, self.nodes.clients, HOLDER)
        self.outcome = Outcome(plan)
        self.seen: list[Progress] = []
        self.notes = RunNotes(self.fleet, self.nodes, self.outcome, journal, self.seen.append)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the monotonic clock to 107.5 s, and the time since the machine started to 1000 s."""
    monkeypatch.setattr(run_notes_module, "time", SimpleNamespace(monotonic=lambda: 107.5))
    monkeypatch.setattr(run_notes_module, "since_boot", lambda: 1000.0)


@pytest.mark.usefixtures("clock")
def test_the_observer_is_told_the_phase_and_the_last_status_of_each_node(tmp_path: Path) -> None:
    given = Given(plan_of(tmp_path))
    given.notes.tell("starting nodes")
    given.fleet.keep("receiver", given.clients["receiver"].status_now)
    given.notes.began = 100.0
    given.notes.tell("running")
    first, second = given.seen
    assert first == Progress("starting nodes", 20, 0.0, {}, {})
    assert second == Progress("running", 20, 7.5, {}, {"receiver": given.clients["receiver"].status_now})


def test_an_observer_that_fails_is_a_caution_and_told_no_more(tmp_path: Path) -> None:
    given = Given(plan_of(tmp_path))
    calls: list[str] = []

    def fail(progress: Progress) -> None:
        calls.append(progress.phase)
        raise ValueError("no colour")

    given.notes.observe(fail)
    given.notes.tell("one")
    given.notes.tell("two")
    assert (calls, given.seen) == (["one"], [])
    assert given.outcome.cautions == (
        "the observer of the run: ValueError: no colour; it is given up, and the run goes on",
    )


def noted(journal: Journal) -> dict[str, Any]:
    return dict(json.loads(journal.path.read_text()))


@pytest.mark.usefixtures("clock")
def test_the_journal_says_all_that_another_manager_needs(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    journal = Journal(tmp_path / "out" / "small_attach.json", report="report")
    given = Given(plan, journal, RunCertificate("PEM", "a secret"))
    try:
        given.notes.note()
        assert noted(journal) == {
            "version": VERSION,
            "holder": HOLDER,
            "owner": given.nodes.owner,
            "local_token": given.nodes.local_token,
            "host": socket.gethostname(),
            "run_file": str(tmp_path / "run.toml"),
            "text": plan.source.text,
            "is_toml": True,
            "output": str(tmp_path / "out"),
            "report": "report",
            "began": 0.0,
            "nodes": [
                {
                    "name": name,
                    "url": f"http://{name}:1",
                    "pid": os.getpid() if name == "receiver" else 0,
                    "identity": identity_of(os.getpid()) if name == "receiver" else "",
                }
                for name in given.clients
            ],
            "certificate": "PEM",
            "joined": [],
        }
        given.notes.began = 100.0
        given.notes.joined = (Joined("farm", {"name": "c"}),)
        given.notes.note()
        assert noted(journal)["began"] == 992.5
        assert [one["group"] for one in noted(journal)["joined"]] == ["farm"]
        given.notes.close()
        assert not journal.path.exists()
    finally:
        journal.close()


def test_a_run_without_certificate_notes_none_and_one_without_journal_notes_nothing(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    journal = Journal(tmp_path / "out" / "small_attach.json")
    given = Given(plan, journal)
    given.notes.note()
    assert noted(journal)["certificate"] == ""
    given.notes.close()
    bare = Given(plan)
    bare.notes.note()
    bare.notes.close()
    assert bare.outcome.cautions == ()


class TestJournalThatCannotBeWritten:
    @pytest.fixture
    def journal(self, tmp_path: Path) -> Journal:
        (tmp_path / "out").write_text("no folder")
        return Journal(tmp_path / "out" / "small_attach.json")

    def test_it_is_a_caution_once_since_the_run_ends_with_its_manager(self, tmp_path: Path, journal: Journal) -> None:
        given = Given(plan_of(tmp_path), journal)
        given.notes.note()
        (caution,) = given.outcome.cautions
        assert caution.startswith(f"{journal.path}: the journal of the run cannot be written: ")
        assert caution.endswith("choose another run.output, or `rashpa attach` will not find this run")
        given.notes.began = 1.0
        given.notes.note()
        assert len(given.outcome.cautions) == 1

    @pytest.mark.parametrize("began", [0.0, 1.0])
    def test_a_run_that_is_to_go_on_without_its_manager_needs_it(
        self, tmp_path: Path, journal: Journal, began: float
    ) -> None:
        given = Given(plan_of(tmp_path, "finish"), journal)
        given.notes.began = began
        with pytest.raises(NodeError, match="cannot be written") as error:
            given.notes.note()
        assert error.value.code == "file"
        assert given.outcome.cautions == ()


class TestKept:
    """Stored logs and pictures of the nodes."""

    def test_a_log_is_kept_in_lines(self, tmp_path: Path) -> None:
        given = Given(plan_of(tmp_path))
        given.clients["receiver"].said = [{"time": "12:00", "level": "info", "text": f"line {n}"} for n in range(1001)]
        asyncio.run(given.notes.keep_log("receiver"))
        lines = given.outcome.logs["receiver"]
        assert (len(lines), lines[0].split()[-1], lines[-1].split()[-1]) == (1000, "1", "1000")

    def test_a_node_that_does_not_answer_leaves_none(self, tmp_path: Path) -> None:
        given = Given(plan_of(tmp_path))
        given.clients["receiver"].fails["log"] = silent("receiver")
        asyncio.run(given.notes.keep_log("receiver"))
        assert (given.outcome.logs, given.outcome.cautions) == ({}, ())

    def test_a_log_that_cannot_be_read_is_a_caution(self, tmp_path: Path) -> None:
        given = Given(plan_of(tmp_path))
        given.clients["receiver"].said = 7  # type: ignore[assignment]
        asyncio.run(given.notes.keep_log("receiver"))
        (caution,) = given.outcome.cautions
        assert caution.startswith(f"the log of {given.fleet.label('receiver')}: TypeError")

    @pytest.mark.parametrize("report", ["report", ""])
    def test_pictures_are_taken_for_a_report_alone(self, tmp_path: Path, report: str) -> None:
        given = Given(plan_of(tmp_path), Journal(tmp_path / "x_attach.json", report=report))
        given.clients["receiver"].views["full", "accepted"] = b"image"
        given.outcome.pictures["before"] = {}
        asyncio.run(given.notes.keep_pictures(["receiver"]))
        assert given.outcome.pictures == {"before": {}, **({"full": {"accepted": b"image"}} if report else {})}
        assert bool(given.clients["receiver"].viewed) == bool(report)

    def test_without_a_journal_there_is_no_report(self, tmp_path: Path) -> None:
        given = Given(plan_of(tmp_path))
        asyncio.run(given.notes.keep_pictures(["receiver"]))
        assert not given.clients["receiver"].viewed

    def test_pictures_that_fail_are_a_caution(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        async def fail(*_: object) -> None:
            raise ValueError("no numbers")

        monkeypatch.setattr(run_notes_module, "take_pictures", fail)
        given = Given(plan_of(tmp_path), Journal(tmp_path / "x_attach.json", report="report"))
        asyncio.run(given.notes.keep_pictures(["receiver"]))
        assert given.outcome.cautions == (
            "images for the report: ValueError: no numbers; it is given up, and the run goes on",
        )
