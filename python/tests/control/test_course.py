# SPDX-License-Identifier: Apache-2.0
"""The regular course of a run: the orders to each node, their order, and the nodes without which it continues."""

import asyncio
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rashpa.control.books.outcome import Outcome
from rashpa.control.capacity.capacity import CapacityError
from rashpa.control.handover.steering import Steering
from rashpa.control.nodes.fleet import Fleet
from rashpa.control.nodes.launcher import LOCAL
from rashpa.control.nodes.node_client import NodeError
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.run import course as course_module
from rashpa.control.run.course import Course
from rashpa.control.run.end import EndOfRun
from rashpa.control.run.run_nodes import RunNodes
from rashpa.control.run.run_notes import RunNotes
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram import Configure, Configured, Endpoint, Placement, SourceDtpStatus, SourceStatus
from rashpa.testing.group_plan import plan_of as dealt_plan
from rashpa.testing.run_file import run_file
from rashpa.testing.scripted_client import HOLDER, ScriptedClient, silent

PLAIN = run_file(
    run={"name": "plain"},
    detector={"width": 8, "height": 4, "module": [{"x": 0, "y": 0}, {"x": 0, "y": 4}]},
    dataset={"modules": 2},
    emulator=[{"name": "upper"}, {"name": "lower"}],
    receiver=[{"name": "one", "port": 0}],
    buffer={"stack": 2, "slots": 4},
)


class _Nodes(RunNodes):
    """Has its clients from the start."""

    async def connect(self, plan: Plan) -> None:
        """Start nothing."""


class Given:
    """Holds a course with scripted nodes. `told`: names of nodes and orders, in sequence."""

    def __init__(self, plan: Plan, *, forced: bool = False) -> None:
        self.told: list[tuple[str, str]] = []
        self.clients: dict[str, ScriptedClient] = {}
        nodes = _Nodes(LOCAL, "", {})
        for number, node in enumerate(reversed(plan.nodes)):
            client = ScriptedClient(node.label, node.role, "idle", "", f"http://node{number}")
            client.hear = self._heard(node.name)
            client.configured = self._configured(plan, node.name)
            self.clients[node.name] = client
        nodes.clients.update(self.clients)
        self.fleet = Fleet(plan, nodes.clients, HOLDER)
        self.notes = RunNotes(self.fleet, nodes, Outcome(plan), None)
        self.end = EndOfRun(plan, None)
        steering = Steering(self.fleet, None, lambda: None)
        self.course = Course(self.fleet, nodes, self.notes, self.end, steering, None, forced=forced)

    def _heard(self, name: str) -> Callable[[telegram.Telegram], None]:
        return lambda order: self.told.append((name, type(order).__name__))

    def _configured(self, plan: Plan, name: str) -> Callable[[Configure | telegram.Join], Configured]:
        def answer(order: Configure | telegram.Join) -> Configured:
            dtps = plan.dtps_from(name) if name in {one.name for one in plan.emulators} else plan.dtps_of(name)
            places = tuple(
                Placement(
                    pixels_offset=0,
                    slot_bytes=64,
                    slots=4,
                    first_line_offset=0,
                    pitch=8,
                    line_bytes=8,
                    lines=4,
                    records_offset=0,
                )
                for _ in dtps
            )
            ends = tuple(Endpoint(address="127.0.0.1", port=1, qpn=dtp.id, rkey=0, credit_offset=0) for dtp in dtps)
            return Configured(node=name, endpoints=ends, placements=places if name in self.fleet.receivers else ())

        return answer


@pytest.fixture
def plain(tmp_path: Path) -> Given:
    path = tmp_path / "plain.toml"
    path.write_text(PLAIN)
    return Given(load_plan(path))


@pytest.fixture
def dealt(tmp_path: Path) -> Given:
    return Given(dealt_plan(tmp_path))


def test_receivers_are_claimed_before_emulators_and_each_role_by_url(plain: Given) -> None:
    asyncio.run(plain.course._claim())
    assert plain.told == [("one", "Claim"), ("lower", "Claim"), ("upper", "Claim")]
    assert plain.fleet.claimed == {"one", "lower", "upper"}


@pytest.mark.parametrize("lost", [False, True])
def test_who_refuses_a_claim_is_not_ours_and_who_says_nothing_may_be(plain: Given, lost: bool) -> None:
    error = silent("emulator lower") if lost else NodeError("emulator lower", "belongs to run other", "state")
    plain.clients["lower"].fails["Claim"] = error
    with pytest.raises(NodeError):
        asyncio.run(plain.course._claim())
    assert plain.fleet.claimed == ({"one", "lower"} if lost else {"one"})
    assert ("upper", "Claim") not in plain.told, "nobody behind it is asked"


def test_receivers_are_configured_first_and_armed_before_emulators(plain: Given) -> None:
    armed: list[telegram.Arm] = []

    def hear(order: telegram.Telegram) -> None:
        plain.told.append(("one", type(order).__name__))
        if isinstance(order, telegram.Arm):
            armed.append(order)

    plain.clients["one"].hear = hear
    asyncio.run(plain.course._configure())
    assert plain.told[0] == ("one", "Configure")
    assert {name for name, order in plain.told[1:3] if order == "Configure"} == {"upper", "lower"}
    assert plain.told[3] == ("one", "Arm")
    assert {name for name, order in plain.told[4:] if order == "Arm"} == {"upper", "lower"}
    assert [one.qpn for one in armed[-1].endpoints] == [dtp.id for dtp in plain.fleet.plan.dtps_of("one")]


@pytest.mark.parametrize("forced", [False, True])
def test_what_is_too_much_is_refused_or_a_caution(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forced: bool
) -> None:
    given = Given(dealt_plan(tmp_path), forced=forced)
    monkeypatch.setattr(course_module, "check_abilities", lambda plan, can: None)
    monkeypatch.setattr(course_module, "overloads", lambda plan, can: ["memory: 3 GiB of 1 GiB"])
    if forced:
        asyncio.run(given.course._ask_abilities())
        assert given.notes.outcome.cautions == ("forced: memory: 3 GiB of 1 GiB",)
    else:
        with pytest.raises(CapacityError, match=r"3 GiB of 1 GiB\n`rashpa run --force` tries it"):
            asyncio.run(given.course._ask_abilities())
    assert set(given.notes.outcome.capabilities) == {"a", "b", "emulator"}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"state": "fault", "message": "the disk is full"}, "the disk is full"),
        ({"holder": "run other"}, "is not this run's any more: it belongs to run other"),
        ({"holder": ""}, "is not this run's any more: it belongs to nobody"),
        ({"holder": "", "message": "its lease has ended"}, "is not this run's any more: its lease has ended"),
        ({}, ""),
    ],
)
def test_a_node_that_answers_may_be_in_trouble(plain: Given, change: dict[str, Any], says: str) -> None:
    assert plain.course._trouble_of("one") is None, "it was not heard of yet"
    own = replace(plain.clients["one"].status_now, state="running", holder=HOLDER)
    plain.fleet.keep("one", replace(own, **change))
    trouble = plain.course._trouble_of("one")
    assert (trouble is None) if not says else (trouble is not None and str(trouble).endswith(says))


def watched(given: Given, awaited: Collection[str]) -> None:
    for client in given.clients.values():
        client.status_now = replace(client.status_now, holder=HOLDER, state="finished")
    asyncio.run(given.course._watch(awaited, "finishing"))


def test_a_watch_ends_when_all_are_through(plain: Given) -> None:
    watched(plain, ["upper", "lower", "one"])
    assert set(plain.fleet.heard) == {"upper", "lower", "one"}


def test_a_run_ends_by_a_node_that_it_needs(plain: Given) -> None:
    plain.clients["one"].fails["GetStatus"] = silent("one")
    with pytest.raises(NodeError, match="one does not answer"):
        watched(plain, ["upper"])


def test_a_run_goes_on_without_a_member_and_its_images_are_sent_to_others(dealt: Given) -> None:
    dealt.clients["a"].fails["GetStatus"] = silent("receiver a")
    watched(dealt, ["emulator", "a", "b"])
    assert dealt.fleet.lost["a"].reason == "receiver a does not answer"
    assert dealt.told == [("emulator", "Resend")]
    dealt.course.groups.tell(dealt.notes.outcome)
    assert set(dealt.notes.outcome.lost) == {"a"}


def test_a_run_that_is_ended_early_pauses_its_sources_and_ends_them_at_one_frame(plain: Given) -> None:
    for name, begun in (("upper", 7), ("lower", 9)):
        source = SourceStatus(
            elapsed_s=1.0,
            dtps=(
                SourceDtpStatus(
                    id=0,
                    images_sent=20,
                    images_skipped=0,
                    payload_bytes=0,
                    packets=0,
                    waits=0,
                    window_timeouts=0,
                    late_ns=0,
                    cnps_received=0,
                ),
            ),
            frames_begun=begun,
        )
        plain.clients[name].status_now = replace(
            plain.clients[name].status_now, state="running", holder=HOLDER, source=source
        )
    plain.clients["one"].status_now = replace(plain.clients["one"].status_now, state="running", holder=HOLDER)
    stops: list[telegram.Stop] = []
    for name in ("upper", "lower"):
        plain.clients[name].hear = lambda order: stops.append(order) if isinstance(order, telegram.Stop) else None
    plain.end.want("somebody")
    asyncio.run(plain.course._end_early())
    assert [stop.frames for stop in stops] == [9, 9]
    assert plain.notes.outcome.stopped_by == "somebody"


@pytest.mark.parametrize("lost", [False, True])
def test_a_node_that_is_gone_after_its_books_is_a_caution(plain: Given, lost: bool) -> None:
    error = silent("one") if lost else NodeError("one", "is not idle", "state")
    plain.clients["one"].fails["Reset"] = error
    if lost:
        asyncio.run(plain.course._release("one"))
        assert plain.notes.outcome.cautions == ("one does not answer, after its books had been taken",)
    else:
        with pytest.raises(NodeError):
            asyncio.run(plain.course._release("one"))
