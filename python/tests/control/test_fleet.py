# SPDX-License-Identifier: Apache-2.0
"""The nodes of a run as its manager knows them."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from rashpa.control.nodes.fleet import Fleet, LostMember
from rashpa.control.nodes.heard import UNHEARD
from rashpa.control.nodes.node_client import NodeError
from rashpa.control.plan.groups import Joined
from rashpa.control.plan.run_plan import joined_plan
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram import Books, BufferStatus, DestinationStatus, Status
from rashpa.testing.group_plan import plan_of
from rashpa.testing.scripted_client import ScriptedClient, clients_of, silent


@pytest.fixture
def clients() -> dict[str, ScriptedClient]:
    return clients_of([("a", "receiver"), ("b", "receiver"), ("emulator", "emulator")])


@pytest.fixture
def fleet(tmp_path: Path, clients: dict[str, ScriptedClient]) -> Fleet:
    return Fleet(plan_of(tmp_path), dict(clients), "us")


def receiver_status(busy: str) -> Status:
    buffer = BufferStatus(
        name="full_a",
        sink_error="",
        unit="cpu",
        unit_error="",
        bytes_written=0,
        bytes_stored=0,
        books=Books(),
        busy=busy,
    )
    return Status(
        node="a",
        role="receiver",
        state="running",
        destination=DestinationStatus(
            receiver="a", elapsed_s=1.0, memory="", first_incomplete="", counts=(), buffers=(buffer,)
        ),
    )


def test_names_labels_and_errors_lead_to_the_same_nodes(fleet: Fleet) -> None:
    assert (fleet.receivers, fleet.emulators) == (["a", "b"], ["emulator"])
    assert [fleet.label(name) for name in ("a", "emulator")] == ["receiver a", "emulator"]
    assert fleet.name_of(NodeError("receiver b", "is gone")) == "b"
    assert fleet.name_of(NodeError("manager", "is full")) == ""


def test_what_a_node_said_last_is_known_with_its_moment(fleet: Fleet) -> None:
    assert fleet.status("a").state == UNHEARD
    assert fleet.heard_of(fleet.receivers) == {}
    asyncio.run(fleet.look_at("a"))
    assert fleet.status("a").state == "running"
    assert list(fleet.heard_of(fleet.receivers)) == list(fleet.heard) == ["a"]


def test_a_node_that_does_not_answer_stays_as_it_was_heard_last(
    fleet: Fleet, clients: dict[str, ScriptedClient]
) -> None:
    asyncio.run(fleet.look_at("a"))
    before, moment = fleet.status("a"), fleet.heard["a"]
    clients["a"].fails["GetStatus"] = silent("receiver a")
    with pytest.raises(NodeError):
        asyncio.run(fleet.look_at("a"))
    assert (fleet.status("a"), fleet.heard["a"]) == (before, moment)


def test_receivers_look_for_the_units_of_the_plan_alone(fleet: Fleet, clients: dict[str, ScriptedClient]) -> None:
    here = telegram.Unit(name="cpu", usable=True, what="2 processors")
    for client in clients.values():
        client.capable = replace(client.capable, units=(here,))
    known = asyncio.run(fleet.ask_abilities())
    assert {name: client.asked_units for name, client in clients.items()} == {name: [("cpu",)] for name in clients}
    assert known == {name: client.capable for name, client in clients.items()}


def test_a_receiver_without_a_unit_of_the_plan_looks_for_all(fleet: Fleet, clients: dict[str, ScriptedClient]) -> None:
    absent = telegram.Unit(name="cpu", usable=False, what="a test")
    clients["a"].capable = replace(clients["a"].capable, units=(absent,))
    asyncio.run(fleet.ask_abilities())
    assert clients["a"].asked_units == [("cpu",), ()]
    assert clients["emulator"].asked_units == [("cpu",)], "an emulator has no units"


def test_a_step_that_is_long_at_work_is_known_until_it_goes_on(fleet: Fleet) -> None:
    fleet.keep("a", receiver_status("azimuthal is at image 7 for 3 s"))
    assert fleet.busy == {"full_a": "buffer full_a: azimuthal is at image 7 for 3 s"}
    fleet.keep("a", receiver_status(""))
    assert fleet.busy == {}


def test_an_order_to_all_comes_to_each_also_where_one_refuses(fleet: Fleet, clients: dict[str, ScriptedClient]) -> None:
    clients["a"].fails["Start"] = NodeError("receiver a", "has no memory", "resource")
    with pytest.raises(NodeError, match="has no memory"):
        asyncio.run(fleet.order_all(["a", "b", "emulator"], telegram.Start()))
    assert [client.orders for client in clients.values()] == [["Start"]] * 3


def test_who_has_come_to_its_end_needs_no_order(fleet: Fleet, clients: dict[str, ScriptedClient]) -> None:
    clients["b"].fails["Pause"] = NodeError("receiver b", "is finished", "state")
    clients["b"].status_now = replace(clients["b"].status_now, state="finished")
    said = asyncio.run(fleet.order_unless_finished(["a", "b"], telegram.Pause()))
    assert [status.state for status in said] == [fleet.status(name).state for name in "ab"] == ["paused", "finished"]


def test_the_lost_are_not_alive(fleet: Fleet) -> None:
    fleet.lost["a"] = LostMember("was killed", 1.0, 4)
    assert fleet.alive(fleet.receivers) == ["b"]


def test_one_more_belongs_to_plan_clients_and_claims(fleet: Fleet) -> None:
    plan = joined_plan(fleet.plan, Joined("farm", {"name": "c", "node": "http://127.0.0.1:9"}))
    client = ScriptedClient("receiver c", "receiver")
    fleet.take_in(plan, plan.receivers[-1], client, client.status_now)
    assert fleet.receivers == ["a", "b", "c"]
    assert fleet.clients["c"] is client
    assert fleet.label("c") == "receiver c"
    assert fleet.claimed == {"c"}
    assert fleet.status("c").state == "running"
    assert "c" in fleet.heard
