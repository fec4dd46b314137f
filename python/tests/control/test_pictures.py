# SPDX-License-Identifier: Apache-2.0
"""Images for the report: which ones are requested, their size, and images that do not come."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from rashpa.control.books import pictures as pictures_module
from rashpa.control.books.pictures import Pictures, take_pictures
from rashpa.control.nodes.node_client import NodeError
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.testing.run_file import run_file
from rashpa.testing.scripted_client import ScriptedClient


def plan_of(folder: Path, buffers: int, width: int = 64, height: int = 32) -> Plan:
    """Return a plan with buffers b0, b1, … alternately at the receivers `one` and `other`."""
    path = folder / "run.toml"
    path.write_text(
        run_file(
            detector={"width": width, "height": height},
            receiver=[{"name": name, "port": 0} for name in ("one", "other")[:buffers]],
            buffer=[
                {"name": f"b{number}", "receiver": ("one", "other")[number % 2], "sink": [{"kind": "null"}]}
                for number in range(buffers)
            ],
        )
    )
    return load_plan(path)


def clients_of(plan: Plan) -> dict[str, ScriptedClient]:
    return {receiver.name: ScriptedClient(receiver.name, "receiver") for receiver in plan.receivers}


def taken(plan: Plan, clients: Mapping[str, ScriptedClient], *receivers: str) -> Pictures:
    return asyncio.run(take_pictures(plan, clients, receivers))


def test_each_buffer_has_the_kinds_of_images_that_its_receiver_has_kept(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, 3)
    clients = clients_of(plan)
    clients["one"].views = {("b0", "accepted"): b"good", ("b0", "partial"): b"part", ("b2", "vetoed"): b"bad"}
    assert taken(plan, clients, "one", "other") == {
        "b0": {"accepted": b"good", "partial": b"part"},
        "b1": {},
        "b2": {"vetoed": b"bad"},
    }


def test_only_these_receivers_are_asked_and_of_the_first_four_buffers(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, 6)
    clients = clients_of(plan)
    assert taken(plan, clients, "other") == {"b1": {}, "b3": {}}
    assert not clients["one"].viewed
    assert [(asked["buffer"], asked["of"]) for asked in clients["other"].viewed if asked["buffer"] == "b3"] == [
        ("b3", "accepted"),
        ("b3", "vetoed"),
        ("b3", "partial"),
    ]


@pytest.mark.parametrize(("width", "height", "step"), [(560, 32, "1"), (561, 32, "2"), (32, 1121, "3"), (16, 16, "1")])
def test_the_longer_side_has_560_values_at_most(tmp_path: Path, width: int, height: int, step: str) -> None:
    plan = plan_of(tmp_path, 1, width, height)
    clients = clients_of(plan)
    taken(plan, clients, "one")
    assert {asked["step"] for asked in clients["one"].viewed} == {step}


def test_an_image_that_a_node_refuses_is_left_out(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, 1)
    clients = clients_of(plan)
    clients["one"].views = {("b0", "accepted"): b"good", ("b0", "partial"): b"part"}
    clients["one"].fails["accepted"] = NodeError("one", "no such image")
    assert taken(plan, clients, "one") == {"b0": {"partial": b"part"}}


def test_a_receiver_that_hangs_costs_its_own_images_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures_module, "_PATIENCE_S", 0.2)
    plan = plan_of(tmp_path, 2)
    clients = clients_of(plan)
    clients["one"].views = {("b0", "accepted"): b"good"}

    async def hang(query: Mapping[str, str]) -> bytes | None:
        await asyncio.Event().wait()
        return None

    monkeypatch.setattr(clients["other"], "view", hang)
    assert taken(plan, clients, "one", "other") == {"b0": {"accepted": b"good"}, "b1": {}}
