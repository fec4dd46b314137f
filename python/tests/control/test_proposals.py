# SPDX-License-Identifier: Apache-2.0
"""Random systems: the planner's decisions compared with limits computed from the file alone, and its proposals tried."""

import random
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from rashpa.control.capacity import proposals
from rashpa.control.capacity.limits import limits_of
from rashpa.control.capacity.proposals import proposals_for
from rashpa.control.capacity.throughput import fingerprint_of, words_of
from rashpa.control.plan.model import Plan, PlannedBuffer
from rashpa.control.plan.run_plan import plan_run
from rashpa.control.runfile import run_file as toml
from rashpa.control.runfile.run_file_reader import parse_run_file
from rashpa.control.telegrams.telegram import Capabilities, Interface, Link, Throughput
from rashpa.testing.fake_engine import FakeFactory

pytestmark = pytest.mark.whole

KERNELS = {
    "total_counts": '[[buffer.kernel]]\nname = "total_counts"\n',
    "csr": '[[buffer.kernel]]\nname = "csr"\nthreshold = 1\n',
    "": "",
}


@dataclass
class System:
    """Holds a run file, and the resources of its machines."""

    plan: Plan
    nodes: dict[str, Capabilities]


def system_of(seed: int) -> System:
    dice = random.Random(seed)
    modules, receivers, emulators = dice.randint(1, 6), dice.randint(1, 3), dice.randint(1, 2)
    width, height, gap = dice.choice((64, 256, 1024)), dice.choice((32, 128, 512)), dice.choice((0, 8))
    emulators = min(emulators, modules)
    rate = dice.choice((0.0, 7.3, 200.0, 3000.0))
    text = f'[run]\nname = "r"\nframes = {dice.randint(100, 10**6)}\n[detector]\nwidth = {width}\nheight = {height}\nrate_hz = {rate}\n'
    text += "".join(f"[[detector.module]]\nx = 0\ny = {(height + gap) * number}\n" for number in range(modules))
    text += f'[dataset]\nkind = "pattern"\nmodules = {modules}\nwidth = {width}\nheight = {height}\n'
    text += "".join(f'[[emulator]]\nname = "e{number}"\n' for number in range(emulators))
    text += "".join(f'[[receiver]]\nname = "r{number}"\nport = 0\n' for number in range(receivers))
    for number in range(receivers + dice.randint(0, 2)):
        stack = dice.choice((1, 5, 10))
        text += (
            f'[[buffer]]\nname = "b{number}"\nreceiver = "r{number % receivers}"\nevery = {dice.choice((1, 1, 3))}\n'
        )
        text += f"stack = {stack}\nslots = {stack * dice.randint(2, 8)}\nthreads = {dice.choice((1, 2))}\n"
        text += '[[buffer.sink]]\nkind = "null"\n' + KERNELS[dice.choice(list(KERNELS))]
    plan = plan_run(*parse_run_file(Path("system.toml"), text.encode()))
    return System(plan, {node.name: _node(plan, node.name, node.role, dice) for node in plan.nodes})


def _node(plan: Plan, name: str, role: str, dice: random.Random) -> Capabilities:
    """Return a node with slightly too few, slightly more than enough, or unknown resources of each kind."""
    can = FakeFactory(role).capabilities(name)
    payload, wire = traffic(plan)

    def about(needed: float) -> int:
        return int(needed * dice.choice((0, 0, 0.3, 0.97, 1.03, 1.03, 2)))

    known = []
    for buffer in plan.buffers_of(name) if role == "receiver" else ():
        wanted = plan.file.detector.rate_hz / buffer.section.every
        if dice.random() < 0.7:
            made = (wanted or 1.0) * dice.choice((0.4, 0.97, 1.03, 1.03, 5.0))
            mark = fingerprint_of(buffer.section, "uint16")
            # measured with images of another size
            known.append(
                Throughput(
                    pipeline=mark,
                    what=words_of(buffer.section),
                    width=2 * buffer.width,
                    height=buffer.height,
                    images_per_s=made / 2,
                    date="2026-11-23",
                )
            )
    return replace(
        can,
        processors=dice.choice((2, 2, 8)),
        memory_bytes=about(memory_taken(plan)),
        links=(Link(name="roce", bytes_per_s=about(payload[name]), pmtus=can.links[0].pmtus),),
        interfaces=(Interface(name="eth0", device="", bits_per_s=about(8 * wire), addresses=("127.0.0.1",)),),
        throughputs=tuple(known),
    )


def worked_out(system: System, plan: Plan) -> set[str]:
    """Return the exceeded limits, computed without the planner's own sums."""
    nodes = system.nodes
    payload, wire = traffic(plan)
    broken = units_too_slow(system, plan)
    for node in plan.nodes:
        has = nodes[node.name].links[0].bytes_per_s
        if has and payload[node.name] > has * (1 + 1e-9):
            broken.add(f"link roce of {node.label}")
    free = [nodes[receiver.name].memory_bytes for receiver in plan.receivers if nodes[receiver.name].memory_bytes]
    if free and memory_taken(plan) > min(free):
        broken.add("memory of this machine")
    for way, role in (("out", plan.emulators), ("in", plan.receivers)):
        speeds = [speed for node in role if (speed := nodes[node.name].interfaces[0].bits_per_s)]
        if speeds and wire * 8 > min(speeds) * (1 + 1e-9):
            broken.add(f"eth0 of this machine, {way}")
    return broken


def traffic(plan: Plan) -> tuple[dict[str, float], float]:
    """Return bytes/s: pixels of each node, and all DTPs on the wire."""
    payload: dict[str, float] = defaultdict(float)
    wire = 0.0
    for buffer in plan.buffers:
        a_second = plan.file.detector.rate_hz / buffer.section.every
        for dtp in buffer.dtps:
            line = 2 * dtp.region.width
            image = line * dtp.region.height
            for end in (buffer.receiver, plan.emulator_of(dtp)):
                payload[end] += image * a_second
            # whole lines, contiguous at both ends, in packets of at most 4096 bytes; 94 bytes around each on Ethernet with IPv4, and 98
            # around the record, which has an immediate
            packets = -(-dtp.region.height // (4096 // line))
            wire += (image + packets * 94 + 128 + 98) * a_second
    return payload, wire


def memory_taken(plan: Plan) -> float:
    """Return the bytes of slots and records in whole pages, two bytes for each image, and lists."""
    taken = 0.0
    for buffer in plan.buffers:
        section = buffer.section
        taken += section.slots * (-(-2 * buffer.width * buffer.height // 4096) * 4096) + 2 * buffer.images
        taken += len(buffer.dtps) * -(-128 * section.slots // 4096) * 4096
        if any(kernel.name == "csr" for kernel in section.kernel):
            taken += _lists(section, buffer)
    return taken


def units_too_slow(system: System, plan: Plan) -> set[str]:
    """Return the exceeded limits of single buffers' units, and of all processors."""
    broken, busy = set(), 0.0
    for buffer in plan.buffers:
        section = buffer.section
        for one in system.nodes[buffer.receiver].throughputs if section.kernel else ():
            if one.pipeline != fingerprint_of(section, "uint16"):
                continue
            made = one.images_per_s * one.width * one.height / (buffer.width * buffer.height)
            part = plan.file.detector.rate_hz / section.every / made
            busy += min(1.0, part) * section.threads
            if part > 1 + 1e-9:
                broken.add(f"unit cpu of receiver {buffer.receiver}, buffer {section.name}")
            break
    if busy > min(system.nodes[receiver.name].processors for receiver in plan.receivers) * (1 + 1e-9):
        broken.add(f"processors of {' and '.join(receiver.label for receiver in plan.receivers)}")
    return broken


def _lists(section: toml.Buffer, buffer: PlannedBuffer) -> int:
    """Return the bytes of lists: pixels of 2 bytes with an index of 4, for a part of the image."""
    capacity = next(kernel.model_dump()["capacity"] for kernel in section.kernel)
    return int(section.slots * capacity * 6 * buffer.width * buffer.height)


def test_the_planner_refuses_what_breaks_a_limit_and_nothing_else_and_what_it_proposes_is_taken() -> None:
    refused = proposed = 0
    for seed in range(50):
        system = system_of(seed)
        broken = worked_out(system, system.plan)
        assert {limit.who for limit in limits_of(system.plan, system.nodes) if limit.exceeded} == broken, seed
        if not broken:
            continue
        refused += 1
        for proposal in proposals_for(system.plan, system.nodes):
            proposed += 1
            other = plan_run(proposal.applied(system.plan.file), system.plan.source)
            assert not worked_out(system, other), (seed, proposal.text)
            assert not [limit for limit in limits_of(other, system.nodes) if limit.exceeded], (seed, proposal.text)
    assert 20 <= refused <= 45, "some fit, and some do not"
    assert proposed >= refused, (proposed, refused)


def many(receivers: int, kernel: str = "") -> Plan:
    """Return a plan with one module, one buffer and one receiver for each number."""
    text = '[run]\nname = "r"\nframes = 1000\n[detector]\nwidth = 64\nheight = 64\nrate_hz = 1000.0\n'
    text += "".join(f"[[detector.module]]\nx = 0\ny = {64 * number}\n" for number in range(receivers))
    text += f'[dataset]\nkind = "pattern"\nmodules = {receivers}\nwidth = 64\nheight = 64\n'
    for number in range(receivers):
        text += f'[[receiver]]\nname = "r{number}"\nport = 0\nnode = "https://10.0.0.{number + 1}:7000"\n'
        text += f'[[buffer]]\nname = "b{number}"\nreceiver = "r{number}"\nregion = [0, {64 * number}, 64, 64]\nstack = 2\nslots = 64\n'
        text += f'[[buffer.sink]]\nkind = "null"\n{kernel}'
    return plan_run(*parse_run_file(Path("many.toml"), text.encode()))


def test_where_many_limits_are_broken_all_that_takes_part_is_cut_down_in_proportion_with_few_new_plans(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = many(60)
    link = 64 * 64 * 2 * 1000.0
    nodes = {node.name: FakeFactory(node.role).capabilities(node.name) for node in plan.nodes}
    for number, receiver in enumerate(plan.receivers):
        slow = Link(name="roce", bytes_per_s=int(link / (1.1 + number % 3)), pmtus=(4096,))
        nodes[receiver.name] = replace(nodes[receiver.name], links=(slow,))
    planned = 0

    def counted(*arguments: Any) -> Plan:
        nonlocal planned
        planned += 1
        return plan_run(*arguments)

    monkeypatch.setattr(proposals, "plan_run", counted)
    assert sum(limit.exceeded for limit in limits_of(plan, nodes)) == 60
    found = proposals_for(plan, nodes)
    assert planned < 12
    slower, smaller, rarer = (proposal.applied(plan.file) for proposal in found)
    assert [buffer.every for buffer in slower.buffer[:3]] == [2, 3, 4]
    assert [buffer.region and buffer.region[3] for buffer in smaller.buffer[:3]] == [58, 30, 20]
    assert rarer.detector.rate_hz == 322.5
    for proposal in found:
        other = plan_run(proposal.applied(plan.file), plan.source)
        assert not [limit for limit in limits_of(other, nodes) if limit.exceeded], proposal.text


def test_where_memory_is_short_on_many_machines_each_ring_gets_shorter() -> None:
    plan = many(60)
    needed = {limit.nodes[0]: limit.needed or 0.0 for limit in limits_of(plan, {}) if limit.kind == "memory"}
    nodes = {
        node.name: FakeFactory(node.role, memory_bytes=int(needed.get(node.name, 0) / 2)).capabilities(node.name)
        for node in plan.nodes
    }
    found = proposals_for(plan, nodes)
    assert len(found) == 1
    file = found[0].applied(plan.file)
    assert {buffer.slots for buffer in file.buffer} == {30}
    assert not [limit for limit in limits_of(plan_run(file, plan.source), nodes) if limit.exceeded]
