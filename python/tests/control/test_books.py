# SPDX-License-Identifier: Apache-2.0
"""The manager's requests to nodes at the end of a run, and where it stores the answers."""

import asyncio
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rashpa.control.books.accounting import COMPLETE, MISSING, PARTIAL, BufferAccount
from rashpa.control.books.books import take_books
from rashpa.control.books.outcome import Outcome
from rashpa.control.nodes.fleet import LostMember
from rashpa.control.nodes.node_client import NodeError
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.telegrams.telegram import GroupStatus, MemberStatus, SourceStatus, Status
from rashpa.testing.group_plan import plan_of as dealt_plan
from rashpa.testing.run_file import run_file
from rashpa.testing.scripted_client import ScriptedClient, silent

TWO = run_file(
    run={"name": "two", "frames": 3},
    detector={"width": 8, "height": 4, "module": [{"x": 0, "y": 0}, {"x": 0, "y": 4}]},
    dataset={"modules": 2},
    emulator=[{"name": "upper"}, {"name": "lower"}],
    receiver=[{"name": "one", "port": 0}, {"name": "other", "port": 0}],
    buffer=[
        {"name": "full", "receiver": "one", "stack": 1, "slots": 4, "sink": [{"kind": "null"}]},
        {"name": "part", "receiver": "other", "stack": 1, "slots": 4, "sink": [{"kind": "null"}]},
    ],
)


def clients_of(plan: Plan) -> dict[str, ScriptedClient]:
    """Return nodes whose tables have only complete images."""
    clients = {node.name: ScriptedClient(node.label, node.role, "finished") for node in plan.nodes}
    for dtp in plan.dtps:
        if plan.emulators:
            clients[plan.emulator_of(dtp)].tables["fates", dtp.id] = bytes([COMPLETE] * plan.buffer_of(dtp.id).images)
    for buffer in plan.buffers:
        name = buffer.section.name
        clients[buffer.receiver].tables["completeness", name] = bytes([COMPLETE] * buffer.images)
        clients[buffer.receiver].tables["decisions", name] = name.encode()
    return clients


def taken(
    plan: Plan,
    clients: dict[str, ScriptedClient],
    outcome: Outcome | None = None,
    last: dict[str, Status] | None = None,
) -> Outcome:
    outcome = outcome or Outcome(plan)
    asyncio.run(take_books(plan, clients, last or {}, outcome))
    return outcome


@pytest.fixture
def two(tmp_path: Path) -> Plan:
    """Return the plan of two emulators and two receivers, each with DTPs of both."""
    path = tmp_path / "two.toml"
    path.write_text(TWO)
    return load_plan(path)


def test_each_answer_has_its_place(two: Plan) -> None:
    clients = clients_of(two)
    outcome = taken(two, clients)
    assert {name: status.node for name, status in outcome.emulators.items()} == {
        "upper": clients["upper"].name,
        "lower": clients["lower"].name,
    }
    assert {name: status.node for name, status in outcome.receivers.items()} == {
        "one": clients["one"].name,
        "other": clients["other"].name,
    }
    assert list(outcome.fates) == [dtp.id for dtp in two.dtps], "in the order of the plan"
    assert set(outcome.fates.values()) == {bytes([COMPLETE] * 3)}
    assert outcome.completeness == {"full": bytes([COMPLETE] * 3), "part": bytes([COMPLETE] * 3)}
    assert outcome.decisions == {"full": b"full", "part": b"part"}
    assert outcome.accounts == (BufferAccount("full", 3, 0, 0, 0, ""), BufferAccount("part", 3, 0, 0, 0, ""))
    assert (outcome.groups, outcome.cautions, outcome.dealt) == ((), (), {})


def test_tables_of_receivers_are_compared_with_those_of_emulators(two: Plan) -> None:
    clients = clients_of(two)
    dtp = two.dtps_of("other")[0]
    clients[two.emulator_of(dtp)].tables["fates", dtp.id] = bytes([COMPLETE, MISSING, COMPLETE])
    clients["other"].tables["completeness", "part"] = bytes([COMPLETE, PARTIAL, MISSING])
    full, part = taken(two, clients).accounts
    assert full.unexplained == 0
    assert (part.expected_complete, part.expected_partial, part.expected_missing, part.unexplained) == (2, 1, 0, 1)
    assert "part image 2 (frame 2)" in part.first_unexplained


@pytest.mark.parametrize("asked", ["GetStatus", "fates", "completeness", "decisions"])
def test_a_node_that_has_no_answer_is_an_error(two: Plan, asked: str) -> None:
    clients = clients_of(two)
    name = "upper" if asked == "fates" else "one"
    clients[name].fails[asked] = silent(name)
    with pytest.raises(NodeError, match=f"{name} does not answer"):
        taken(two, clients)


def test_without_emulators_the_receivers_word_is_all(tmp_path: Path) -> None:
    path = tmp_path / "foreign.toml"
    path.write_text(
        run_file(
            run={"frames": 3},
            detector={"width": 1024, "height": 512, "control": {"kind": "none"}},
            dataset=None,
            link={"kind": "sls"},
            receiver=None,
            buffer={"slots": 16, "stack": 2, "deadline_ms": 100},
        )
    )
    plan = load_plan(path)
    assert not plan.emulators
    clients = clients_of(plan)
    clients["receiver"].tables["completeness", "full"] = bytes([COMPLETE, MISSING, PARTIAL])
    outcome = taken(plan, clients)
    assert outcome.accounts == (BufferAccount("full", 1, 1, 1, 0, ""),)
    assert (outcome.emulators, outcome.fates) == ({}, {})


class TestGroups:
    """Ten images of every second frame, dealt to a and b."""

    A, B = (1, 5, 9, 13, 17, 21), (3, 7, 11, 15, 19)

    @pytest.fixture
    def plan(self, tmp_path: Path) -> Plan:
        return dealt_plan(tmp_path)

    def clients(self, plan: Plan) -> dict[str, ScriptedClient]:
        frames = {"a": self.A[:5], "b": self.B}
        clients = clients_of(plan)
        members = tuple(
            MemberStatus(
                name=name,
                state="fed",
                dealt=5,
                done=5,
                taken=0,
                resent=0,
                duplicates=0,
                lates=0,
                response_ms=1.0,
                silent_ms=0.0,
            )
            for name in ("a", "b")
        )
        group = GroupStatus(
            name="farm",
            fresh=10,
            waiting=0,
            resent=0,
            duplicates=0,
            lost=0,
            skipped=0,
            settled=True,
            members=members,
        )
        source = SourceStatus(elapsed_s=1.0, groups=(group,))
        clients["emulator"].status_now = replace(clients["emulator"].status_now, source=source)
        for name, own in frames.items():
            dtp = plan.dtps_of(name)[0].id
            clients["emulator"].tables["dealt", dtp] = np.asarray(own, "<u8").tobytes()
            clients["emulator"].tables["fates", dtp] = bytes([COMPLETE] * 5)
            clients[name].tables["completeness", f"full_{name}"] = bytes([COMPLETE] * 5)
        return clients

    def test_a_group_is_compared_as_one_buffer(self, plan: Plan) -> None:
        outcome = taken(plan, self.clients(plan))
        assert {name: np.frombuffer(table, "<u8").tolist() for name, table in outcome.dealt.items()} == {
            "a": list(self.A[:5]),
            "b": list(self.B),
        }
        (group,) = outcome.groups
        assert (group.complete, group.partial, group.missing, group.unexplained) == (10, 0, 0, 0)
        assert outcome.accounts == (BufferAccount("group farm", 10, 0, 0, 0, ""),)
        assert outcome.cautions == ()

    def test_of_a_lost_member_the_last_word_stands_and_it_is_asked_nothing(self, plan: Plan) -> None:
        clients = self.clients(plan)
        for asked in ("GetStatus", "completeness", "decisions"):
            clients["b"].fails[asked] = silent("receiver b")
        outcome = Outcome(plan, cautions=("said before",))
        outcome.lost["b"] = LostMember("receiver b does not answer", 2.0, 3)
        last = Status(node="receiver b", role="receiver", state="running")
        other = Status(node="receiver a", role="receiver", state="armed")
        taken(plan, clients, outcome, {"b": last, "a": other})
        assert outcome.receivers["b"] == last
        assert outcome.receivers["a"] == clients["a"].status_now, "it was asked"
        assert set(outcome.completeness) == set(outcome.decisions) == {"full_a"}
        (group,) = outcome.groups
        assert (group.complete, group.missing) == (8, 2), "five of a, and three that the credits of b have proven"
        assert outcome.cautions[0] == "said before"
        assert [line.partition(" from ")[0] for line in outcome.cautions[1:]] == [
            "group farm: the run went on without b"
        ]

    def test_a_member_that_was_never_heard_of_has_no_status(self, plan: Plan) -> None:
        outcome = Outcome(plan)
        outcome.lost["b"] = LostMember("receiver b does not answer", 0.0, 0)
        taken(plan, self.clients(plan), outcome)
        assert set(outcome.receivers) == {"a"}
