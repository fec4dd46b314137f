# SPDX-License-Identifier: Apache-2.0
"""The identifiers of a run's packets are new for each run: keys, queue pair numbers, sequence numbers; and so are owners and tokens."""

import socket
from dataclasses import replace
from pathlib import Path

import pytest

from rashpa.control.nodes.launcher import LocalLauncher
from rashpa.control.nodes.local_node import local_command
from rashpa.control.orders.plan_telegrams import destination_telegram, source_telegram
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.run.manager import Manager
from rashpa.control.runfile.token import new_token
from rashpa.control.telegrams import telegram

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa.node.engine.engine import Engine
from rashpa.node.engine.native_engine import NativeFactory
from rashpa.testing.run_file import Table, run_file

RUNS = 40


def run_text(kind: str, more: Table | None) -> str:
    return run_file(
        run={"name": "secret", "frames": 4},
        detector={"pixel": "uint16", "rate_hz": 1000},
        dataset={"pixel": None},
        receiver={"memory": "pageable"},
        link={"kind": kind, **(more or {})},
        buffer={"slots": 8, "stack": 4},
    )


ROCE = [("uc", {"flow": "paced", "roce": {"transport": "uc"}}), ("ud", {"flow": "paced", "roce": {"transport": "ud"}})]


def plan_of(folder: Path, kind: str = "roce", more: Table | None = None) -> Plan:
    path = folder / "run.toml"
    path.write_text(run_text(kind=kind, more=more))
    return load_plan(path)


def receiver_of(plan: Plan) -> Engine:
    return NativeFactory("receiver").make(destination_telegram(plan, plan.receivers[0]))


def spread(values: list[int], bits: int) -> None:
    """Check that values are random: they differ, except that two may agree by chance, and every bit is once 0 and once 1. This fails by chance once
    in ten million times."""
    assert len(set(values)) >= len(values) - 1
    once, always = 0, ~0
    for value in values:
        once |= value
        always &= value
    mask = (1 << bits) - 1
    assert once & mask == mask, f"a bit is never set: {values}"
    assert always & mask == 0, f"a bit is always set: {values}"


def test_keys_and_queue_pairs_of_receivers_are_random_in_each_run(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    ends: list[telegram.Endpoint] = []
    for _ in range(RUNS):
        engine = receiver_of(plan)
        ends += engine.configured("r").endpoints
        engine.abort()
    spread([end.rkey for end in ends], 32)
    spread([end.qpn for end in ends], 22)


def test_the_key_of_shared_memory_is_random_in_each_run(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, "pcie")
    keys = []
    for _ in range(RUNS):
        engine = receiver_of(plan)
        keys += [end.rkey for end in engine.configured("r").endpoints]
        engine.abort()
    spread(keys, 32)


@pytest.mark.parametrize(("transport", "more"), ROCE)
def test_first_sequence_numbers_keys_and_queue_pairs_of_sources_are_random_in_each_run(
    transport: str, more: Table, tmp_path: Path
) -> None:
    plan = plan_of(tmp_path, more=more)
    receiver = receiver_of(plan)
    answer = receiver.configured("r")
    numbers: list[int] = []
    ends: list[telegram.Endpoint] = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.settimeout(60)
        here = replace(answer.endpoints[0], port=listening.getsockname()[1])
        order = source_telegram(plan, plan.emulators[0], {0: (here, answer.placements[0])})
        for _ in range(RUNS):
            emulator = NativeFactory("emulator").make(order)
            ends += emulator.configured("e").endpoints
            emulator.start()
            first = listening.recv(9000)
            numbers.append(int.from_bytes(first[9:12], "big"))  # of the base transport header
            assert int.from_bytes(first[5:8], "big") == here.qpn, "it is one of ours"
            emulator.abort()
            drain(listening)
    receiver.abort()
    spread(numbers, 24)
    spread([end.rkey for end in ends], 32)
    assert len({end.qpn for end in ends}) > RUNS // 2


def drain(listening: socket.socket) -> None:
    """Read the remaining messages of the last source."""
    listening.setblocking(False)
    try:
        while True:
            listening.recv(9000)
    except BlockingIOError:
        listening.settimeout(60)


def test_owners_and_tokens_are_random_in_each_run(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    managers = [Manager(plan, launcher=LocalLauncher(local_command)) for _ in range(RUNS)]
    spread([int(manager._nodes.owner, 16) for manager in managers], 128)
    assert len({manager._nodes.local_token for manager in managers}) == RUNS
    assert len({new_token() for _ in range(RUNS)}) == RUNS
    assert all(len(new_token()) >= 43 for _ in range(RUNS)), "256 bits"
