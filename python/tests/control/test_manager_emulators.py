# SPDX-License-Identifier: Apache-2.0
"""One run with two emulators and two receivers: the books of all, and the others when an emulator is lost, hangs or refuses."""

import os
import signal
from pathlib import Path

import pytest

from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.run.manager import Manager
from rashpa.control.run.stall import StallWatch
from rashpa.node.state.node import Node
from rashpa.testing.fake_engine import FakeFactory
from rashpa.testing.fake_source import FakeSource
from rashpa.testing.in_process import run_in_process
from rashpa.testing.run_file import run_file
from rashpa.testing.struck_run import run_and_strike
from rashpa.testing.waiting import slowed

pytestmark = pytest.mark.whole


def run_text(frames: int, rate_hz: float) -> str:
    return run_file(
        run={"name": "four", "frames": frames},
        detector={"rate_hz": rate_hz, "module": [{"x": 0, "y": 0}, {"x": 0, "y": 32}, {"x": 0, "y": 64}]},
        dataset={"modules": 3},
        emulator=[{"name": "upper", "modules": [0]}, {"name": "lower"}],
        receiver=[{"name": "emulator", "port": 0}, {"name": "slice", "port": 0}],
        buffer=[
            {"name": "full", "slots": 40, "sink": [{"kind": "null"}]},
            {
                "name": "fifth",
                "receiver": "slice",
                "region": [16, 24, 32, 48],
                "every": 5,
                "deadline_ms": 100,
                "sink": [{"kind": "null"}],
            },
        ],
    )


EMULATORS, RECEIVERS = ("upper", "lower"), ("emulator", "slice")


def plan_of(tmp_path: Path, extra: str = "", frames: int = 120, rate_hz: float = 0.0) -> Plan:
    path = tmp_path / "run.toml"
    path.write_text(run_text(frames=frames, rate_hz=rate_hz) + extra)
    return load_plan(path)


def endless(tmp_path: Path) -> Plan:
    return plan_of(tmp_path, frames=100_000, rate_hz=50.0)


def nodes() -> dict[str, Node]:
    emulators = {name: Node(f"emulator {name}", "emulator", FakeFactory("emulator")) for name in EMULATORS}
    return {**emulators, **{name: Node(f"receiver {name}", "receiver", FakeFactory("receiver")) for name in RECEIVERS}}


def test_every_emulator_plays_its_modules_and_the_books_are_over_all(tmp_path: Path) -> None:
    made = nodes()
    for _ in range(2):  # nodes that stay up take the next run
        outcome = run_in_process(plan_of(tmp_path), made)
        assert outcome.good, outcome.problem
        assert {node.state for node in made.values()} == {"idle"}
    assert outcome.books.expected == outcome.books.complete == 120 + 24
    sent = {name: {dtp.id: dtp.images_sent for dtp in source.dtps} for name, source in outcome.sources.items()}
    assert sent == {"upper": {0: 120, 3: 24}, "lower": {1: 120, 2: 120, 4: 24, 5: 24}}
    assert [source.emulator for source in outcome.sources.values()] == ["upper", "lower"]
    assert set(outcome.capabilities) == {*EMULATORS, *RECEIVERS}
    assert set(outcome.fates) == {0, 1, 2, 3, 4, 5}


def test_what_every_log_says_is_found_by_every_receiver(tmp_path: Path) -> None:
    faults = "[faults]\nseed = 4\ndrop = 0.1\ndead_modules = [{ module = 0, from_frame = 110 }]\n"
    outcome = run_in_process(plan_of(tmp_path, faults), nodes())
    assert outcome.good, outcome.problem
    assert all(account.expected_partial > 10 for account in outcome.accounts[:1])
    each = [{count.name: count.value for count in source.counts} for source in outcome.sources.values()]
    assert all(counts["drop"] > 0 for counts in each)
    assert [counts["dead_images"] for counts in each] == [10 + 2, 0]
    assert outcome.injected["drop"] == sum(counts["drop"] for counts in each)


@pytest.mark.parametrize("name", EMULATORS)
def test_a_killed_emulator_is_named_and_the_others_end_in_order(tmp_path: Path, name: str) -> None:
    other = next(one for one in EMULATORS if one != name)
    plan = endless(tmp_path)
    outcome, seconds = run_and_strike(plan, lambda manager: os.kill(manager.local_nodes[name].pid, signal.SIGKILL))
    assert not outcome.good
    first, *lines = outcome.problem.splitlines()
    assert first.startswith(f"emulator {name} (process")
    assert "was killed by SIGKILL" in first
    assert [line.split(":")[0] for line in lines] == [
        "first missing image of receiver emulator",
        "first missing image of receiver slice",
    ]
    assert outcome.emulators[other].state == "finished"
    assert outcome.balanced
    assert seconds < slowed(10.0)


@pytest.mark.parametrize("name", EMULATORS)
def test_an_emulator_that_hangs_is_named_in_bounded_time(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rashpa.control.nodes.node_client._SILENCE_S", 1.0)
    monkeypatch.setattr("rashpa.control.nodes.local_node._CLOSE_S", 0.5)
    plan = endless(tmp_path)
    outcome, seconds = run_and_strike(plan, lambda manager: os.kill(manager.local_nodes[name].pid, signal.SIGSTOP))
    assert f"emulator {name} at http://127.0.0.1" in outcome.problem
    assert "did not answer in time (GetStatus)" in outcome.problem
    assert seconds < slowed(10.0)


def test_an_interrupt_ends_all_four(tmp_path: Path) -> None:
    pids: list[int] = []

    def strike(manager: Manager) -> None:
        pids.extend(local.pid for local in manager.local_nodes.values())
        manager.interrupt()

    outcome, seconds = run_and_strike(endless(tmp_path), strike)
    assert outcome.interrupted
    assert outcome.balanced
    assert seconds < slowed(10.0)
    assert len(pids) == 4
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_an_emulator_that_stands_still_is_found_while_the_other_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(StallWatch, "_patience_s", lambda self, group: 1.0)
    send = FakeSource._send_image

    def stuck(self: FakeSource, dtp, frame, dice):  # type: ignore[no-untyped-def]
        if self._order.emulator == "lower" and frame > 20:
            self._ended.wait()
            return
        send(self, dtp, frame, dice)

    monkeypatch.setattr(FakeSource, "_send_image", stuck)
    outcome = run_in_process(endless(tmp_path), nodes())
    assert outcome.problem.startswith("emulator lower is running, but nothing has happened for 1 s")
    assert outcome.sources["upper"].dtps[0].images_sent > 21


@pytest.mark.parametrize("late_s", [0.0, 1.8])
def test_an_emulator_that_the_others_wait_for_is_the_one_to_blame(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late_s: float
) -> None:
    """Check also an emulator that stops after the others: it was slow, and the others waited for a free slot before."""
    monkeypatch.setattr(StallWatch, "_patience_s", lambda self, group: 1.0)
    send = FakeSource._send_image

    def stuck(self: FakeSource, dtp, frame, dice):  # type: ignore[no-untyped-def]
        slow = self._order.emulator == "lower"
        if frame > (20 if slow else 60):  # as at the end of a ring of 40
            self._ended.wait()
            return
        self._ended.wait(late_s / 20 if slow else 0.0)
        send(self, dtp, frame, dice)

    monkeypatch.setattr(FakeSource, "_send_image", stuck)
    outcome = run_in_process(plan_of(tmp_path, frames=100_000), nodes())
    assert outcome.problem.startswith("emulator lower is running, but nothing has happened for 1 s")


def test_an_emulator_that_somebody_else_uses_is_left_alone_and_no_other_is_kept(tmp_path: Path) -> None:
    made = nodes()
    owner = Node("emulator lower", "emulator", FakeFactory("emulator"))
    made["lower"] = owner
    owner._own("somebody", "run other of bob@far")
    outcome = run_in_process(plan_of(tmp_path), made)
    assert outcome.refused
    assert outcome.problem.startswith("emulator lower belongs to run other of bob@far")
    assert all(node.status().holder == "" for name, node in made.items() if name != "lower")
    assert owner.status().holder == "run other of bob@far"
