# SPDX-License-Identifier: Apache-2.0
"""One run with two receivers: the books of each, and the other when one is lost, hangs or refuses."""

import os
import signal
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.run.manager import Manager
from rashpa.control.run.stall import StallWatch
from rashpa.node.state.node import Node
from rashpa.testing.fake_engine import FakeDestination, FakeFactory
from rashpa.testing.in_process import run_in_process
from rashpa.testing.run_file import run_file
from rashpa.testing.struck_run import run_and_strike
from rashpa.testing.waiting import slowed

pytestmark = pytest.mark.whole


def run_text(frames: int, rate_hz: float, port: int) -> str:
    return run_file(
        run={"name": "two", "frames": frames},
        detector={"rate_hz": rate_hz},
        receiver=[{"name": "whole", "port": 0}, {"name": "slice", "port": port}],
        buffer=[
            {"name": "full", "sink": [{"kind": "null"}], "bands": 2, "slots": 40},
            {
                "name": "fifth",
                "sink": [{"kind": "null"}],
                "receiver": "slice",
                "region": [16, 8, 32, 24],
                "every": 5,
                "deadline_ms": 100,
            },
            {"name": "thin", "sink": [{"kind": "null"}], "region": [0, 0, 64, 2]},
        ],
    )


NAMES = ("whole", "slice")


def plan_of(tmp_path: Path, extra: str = "", frames: int = 120, rate_hz: float = 0.0, port: int = 0) -> Plan:
    path = tmp_path / "run.toml"
    path.write_text(run_text(frames=frames, rate_hz=rate_hz, port=port) + extra)
    return load_plan(path)


def endless(tmp_path: Path) -> Plan:
    return plan_of(tmp_path, frames=100_000, rate_hz=50.0)


def nodes() -> dict[str, Node]:
    receivers = {name: Node(f"receiver {name}", "receiver", FakeFactory("receiver")) for name in NAMES}
    return {"emulator": Node("emulator", "emulator", FakeFactory("emulator")), **receivers}


def test_each_receiver_has_its_own_buffers_and_the_totals_are_over_all(tmp_path: Path) -> None:
    made = nodes()
    for _ in range(2):  # nodes that stay up take the next run
        outcome = run_in_process(plan_of(tmp_path), made)
        assert outcome.good, outcome.problem
        assert {node.state for node in made.values()} == {"idle"}
    named = {name: [buffer.name for buffer in status.buffers] for name, status in outcome.destinations.items()}
    assert named == {"whole": ["full", "thin"], "slice": ["fifth"]}
    assert [buffer.name for buffer in outcome.buffers] == ["full", "fifth", "thin"]
    assert outcome.books.expected == outcome.books.complete == 120 + 24 + 120
    assert outcome.link_counts["events"] == 4 * 120 - 120 + 24
    assert set(outcome.capabilities) == {"emulator", *NAMES}


def test_what_the_log_says_is_found_by_every_receiver(tmp_path: Path) -> None:
    faults = "[faults]\nseed = 4\ndrop = 0.1\ndead_modules = [{ module = 0, from_frame = 110 }]\n"
    outcome = run_in_process(plan_of(tmp_path, faults), nodes())
    assert outcome.good, outcome.problem
    assert [account.name for account in outcome.accounts] == ["full", "fifth", "thin"]
    assert [account.expected_missing for account in outcome.accounts] == [10, 2, 10]
    assert all(account.expected_partial > 0 for account in outcome.accounts)


def test_a_receiver_of_which_nothing_is_known_leaves_the_books_open(tmp_path: Path) -> None:
    outcome = run_in_process(plan_of(tmp_path), nodes())
    del outcome.receivers["slice"]
    assert outcome.books.balanced
    assert not outcome.balanced
    assert not outcome.good


@pytest.mark.parametrize("name", NAMES)
def test_a_killed_receiver_is_named_with_its_first_missing_image_and_the_other_ends_in_order(
    tmp_path: Path, name: str
) -> None:
    other = next(one for one in NAMES if one != name)
    plan = endless(tmp_path)
    outcome, seconds = run_and_strike(plan, lambda manager: os.kill(manager.local_nodes[name].pid, signal.SIGKILL))
    assert not outcome.good
    first, *lines = outcome.problem.splitlines()
    assert first.startswith(f"receiver {name} (process")
    assert "was killed by SIGKILL" in first
    assert lines[0].startswith(f"first missing image of receiver {name}: buffer ")
    assert "as last heard" in lines[0]
    assert lines[1].startswith(f"first missing image of receiver {other}: buffer ")
    assert outcome.receivers[other].state == "finished"
    assert all(buffer.books.balanced for buffer in outcome.destinations[other].buffers)
    assert not outcome.balanced
    assert seconds < slowed(10.0)


def test_a_killed_emulator_ends_both_receivers(tmp_path: Path) -> None:
    plan = endless(tmp_path)
    outcome, seconds = run_and_strike(
        plan, lambda manager: os.kill(manager.local_nodes["emulator"].pid, signal.SIGKILL)
    )
    assert outcome.problem.startswith("emulator (process")
    assert outcome.balanced
    assert seconds < slowed(10.0)


def test_a_receiver_that_hangs_is_named_in_bounded_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rashpa.control.nodes.node_client._SILENCE_S", 1.0)
    monkeypatch.setattr("rashpa.control.nodes.local_node._CLOSE_S", 0.5)
    plan = endless(tmp_path)
    outcome, seconds = run_and_strike(plan, lambda manager: os.kill(manager.local_nodes["slice"].pid, signal.SIGSTOP))
    assert "receiver slice at http://127.0.0.1" in outcome.problem
    assert "did not answer in time (GetStatus)" in outcome.problem
    assert outcome.receivers["whole"].state == "finished"
    assert seconds < slowed(10.0)


def test_an_interrupt_ends_all_nodes_and_names_the_first_missing_images(tmp_path: Path) -> None:
    pids: list[int] = []

    def strike(manager: Manager) -> None:
        pids.extend(local.pid for local in manager.local_nodes.values())
        manager.interrupt()

    outcome, seconds = run_and_strike(endless(tmp_path), strike)
    assert outcome.interrupted
    assert outcome.balanced
    interrupted, *lines = outcome.problem.splitlines()
    assert interrupted == "interrupted"
    assert [line.split(":")[0] for line in lines] == [f"first missing image of receiver {name}" for name in NAMES]
    assert seconds < slowed(10.0)
    assert len(pids) == 3
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_receiver_that_cannot_be_configured_leaves_no_node_behind(tmp_path: Path) -> None:
    made = nodes()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        outcome = run_in_process(plan_of(tmp_path, port=taken.getsockname()[1]), made)
    assert outcome.refused
    assert "Address already in use" in outcome.problem
    assert {node.state for node in made.values()} == {"idle"}
    assert run_in_process(plan_of(tmp_path), made).good


def test_a_receiver_that_stands_still_is_found_while_the_other_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(StallWatch, "_patience_s", lambda self, group: 1.0)
    read = FakeDestination._read

    def deaf(self: FakeDestination, connection: socket.socket) -> None:
        if self._order.receiver == "slice":
            self._stopping.wait()
        read(self, connection)

    counters: Any = StallWatch._counters
    # a fake source never waits for credits, so what it sends is left out of the news
    monkeypatch.setattr(StallWatch, "_counters", lambda self, name, last: counters(self, name, last)[1:])
    monkeypatch.setattr(FakeDestination, "_read", deaf)
    began = time.monotonic()
    outcome = run_in_process(endless(tmp_path), nodes())
    assert outcome.problem.startswith("receiver slice is running, but nothing has happened for 1 s")
    assert outcome.destinations["whole"].buffers[0].books.complete > 0
    assert time.monotonic() - began < slowed(10.0)
