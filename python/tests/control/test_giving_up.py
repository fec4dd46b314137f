# SPDX-License-Identifier: Apache-2.0
"""The end of a run that cannot continue."""

import asyncio
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rashpa.control.books.group_course import GroupCourse
from rashpa.control.books.outcome import Outcome
from rashpa.control.nodes.fleet import Fleet
from rashpa.control.nodes.launcher import LOCAL
from rashpa.control.run.giving_up import GivingUp
from rashpa.control.run.run_nodes import RunNodes
from rashpa.control.run.run_notes import RunNotes
from rashpa.testing.group_plan import plan_of
from rashpa.testing.scripted_client import HOLDER, ScriptedClient, clients_of, silent
from rashpa.testing.waiting import GUARD_S

NODES = [("a", "receiver"), ("b", "receiver"), ("emulator", "emulator")]


class Given:
    """Holds a run with three nodes of its own; killing a `local` node is only recorded."""

    def __init__(self, folder: Path, *local: str, began: bool = True) -> None:
        plan = plan_of(folder)
        self.clients = clients_of(NODES)
        self.killed: list[str] = []
        self.nodes = RunNodes(LOCAL, "", {})
        self.nodes.clients.update(self.clients)
        for name in local:
            self.nodes.local[name] = self._process(name)
        self.fleet = Fleet(plan, self.nodes.clients, HOLDER)
        self.fleet.claimed.update(self.clients)
        self.notes = RunNotes(self.fleet, self.nodes, Outcome(plan), None)
        self.notes.began = time.monotonic() - 1.0 if began else 0.0
        self.giving_up = GivingUp(self.fleet, self.nodes, self.notes, GroupCourse(self.fleet))

    def _process(self, name: str) -> Any:
        return SimpleNamespace(kill=lambda: self.killed.append(name))

    def after(self, reason: str, lost: str = "") -> Outcome:
        asyncio.run(self.giving_up.give_up(reason, lost))
        return self.notes.outcome

    def orders(self) -> dict[str, list[str]]:
        return {name: client.orders for name, client in self.clients.items()}


def test_what_still_answers_is_aborted_and_released_and_its_last_words_are_kept(tmp_path: Path) -> None:
    run = Given(tmp_path, "emulator")
    outcome = run.after("receiver a has failed")
    assert run.orders() == {
        "a": ["Abort", "Reset"],
        "b": ["Abort", "Reset"],
        "emulator": ["Abort", "log", "Reset"],
    }, "the log goes with the process: that of others stays where it is"
    assert {name: status.state for name, status in outcome.receivers.items()} == {"a": "configured", "b": "configured"}
    assert outcome.problem.splitlines()[0] == "receiver a has failed"
    assert "first missing image" in outcome.problem
    assert outcome.acquisition_s >= 1.0


def test_before_the_acquisition_no_image_is_missing(tmp_path: Path) -> None:
    run = Given(tmp_path, began=False)
    for client in run.clients.values():
        client.status_now = replace(client.status_now, state="claimed")
    outcome = run.after("refused")
    assert outcome.problem == "refused"
    assert run.orders() == {name: ["Reset"] for name in run.clients}
    assert outcome.acquisition_s == 0.0


@pytest.mark.parametrize("why", ["not claimed", "of somebody else", "lost"])
def test_who_is_not_ours_or_lost_is_given_no_order(tmp_path: Path, why: str) -> None:
    run = Given(tmp_path)
    if why == "not claimed":
        run.fleet.claimed.discard("a")
    elif why == "of somebody else":
        run.clients["a"].status_now = replace(run.clients["a"].status_now, holder="run other")
    run.after("it is over", "a" if why == "lost" else "")
    assert run.orders()["a"] == []
    assert run.orders()["b"] == ["Abort", "Reset"]


@pytest.mark.parametrize("local", [(), ("a",)])
def test_a_process_of_ours_that_does_not_obey_is_killed(tmp_path: Path, local: tuple[str, ...]) -> None:
    run = Given(tmp_path, *local)
    run.clients["a"].fails["Abort"] = silent("receiver a")
    run.after("it is over")
    assert run.killed == list(local)


def test_a_node_whose_step_hangs_has_its_log_taken_before_it_is_told_to_end(tmp_path: Path) -> None:
    run = Given(tmp_path, "a")
    run.fleet.busy["full_a"] = "buffer full_a: azimuthal is at image 7 for 30 s"
    outcome = run.after("nothing has happened")
    assert run.orders()["a"] == ["log", "Abort", "log", "Reset"]
    assert outcome.problem.splitlines()[1] == "buffer full_a: azimuthal is at image 7 for 30 s"


def test_who_has_no_patience_waits_for_nothing(tmp_path: Path) -> None:
    run = Given(tmp_path, "a")

    class Hanging(ScriptedClient):
        async def status(self) -> Any:
            await asyncio.Event().wait()  # wait: for ever, until it is given up

    run.nodes.clients["a"] = Hanging("receiver a", "receiver")

    async def hurried() -> None:
        asyncio.get_running_loop().call_soon(run.giving_up.hurry)
        await asyncio.wait_for(run.giving_up.give_up("interrupted"), GUARD_S)

    asyncio.run(hurried())
    assert run.giving_up.hurried
    assert run.killed == ["a"]
    assert run.notes.outcome.problem.startswith("interrupted")
