# SPDX-License-Identifier: Apache-2.0
"""Throughput that a node measures, stores and reports, and its use in a plan; planned packets compared with sent ones."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa.cli.main import app
from rashpa.control.capacity.capacity import CapacityError, check_capacity
from rashpa.control.capacity.loads import dtp_loads
from rashpa.control.capacity.proposals import proposals_for
from rashpa.control.capacity.throughput import file_fingerprint_of, fingerprint_of
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan, plan_run
from rashpa.control.telegrams.telegram import Throughput
from rashpa.node.engine.engine import EngineError
from rashpa.node.engine.native_engine import NativeFactory
from rashpa.node.offline.measure import measure, measure_files
from rashpa.node.offline.measured_file import load_measured, store_measured
from rashpa.node.state.node import Node
from rashpa.testing.in_process import run_in_process

RECORD_BYTES = 128  # schema/frame_record.md

RUN = """\
[run]
name = "measured"
frames = 20
[detector]
width = 256
height = 128
rate_hz = {rate_hz}
[[detector.module]]
x = 0
y = 0
[[detector.module]]
x = 0
y = 136
[dataset]
kind = "pattern"
modules = 2
width = 256
height = 128
[receiver]
port = 0
memory = "pageable"
[link]
{link}
[[buffer]]
name = "whole"
slots = 8
stack = 4
[[buffer.kernel]]
name = "total_counts"
[[buffer.sink]]
kind = "null"
[[buffer]]
name = "part"
region = [3, 100, 101, 60]
every = 2
slots = 8
stack = 4
[[buffer.sink]]
kind = "null"
"""


def plan_of(tmp_path: Path, rate_hz: float = 0.0, link: str = "") -> Plan:
    path = tmp_path / "measured.toml"
    path.write_text(RUN.format(rate_hz=rate_hz, link=link))
    return load_plan(path)


def test_what_is_measured_is_kept_and_told_while_the_machine_stays_the_same(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    kept = tmp_path / "state" / "measured.json"
    arguments = ["--measure", str(plan.source.path), "--measured", str(kept), "--measure-seconds", "0.1"]
    done = CliRunner().invoke(app, ["receiver", *arguments])
    assert done.exit_code == 0, done.output
    assert "whole" in done.output
    assert "part" not in done.output, "there is nothing to measure without a kernel"
    known = load_measured(kept)
    mark = fingerprint_of(plan.buffers[0].section, "uint16")
    (cpu,) = [one for one in known if one.pipeline == mark]
    assert (cpu.width, cpu.height, cpu.what) == (256, 264, "total_counts on cpu, 1 thread, stacks of 4")
    assert cpu.images_per_s > 100
    told = NativeFactory("receiver", throughputs=known).capabilities("receiver")
    assert cpu in told.throughputs

    values = json.loads(kept.read_text())
    values["machine"]["cpu"] = "another"
    kept.write_text(json.dumps(values))
    with pytest.raises(EngineError, match=r"measured\.json: cpu changed since it was measured; measure again"):
        load_measured(kept)
    store_measured(kept, [replace(cpu, images_per_s=5.0)])
    assert [one.images_per_s for one in load_measured(kept)] == [5.0], "what is of another machine is gone"


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"version": 1, "machine": {}, "throughputs": [{"pipeline": 3}]}'])
def test_a_file_that_holds_no_figures_is_named(tmp_path: Path, text: str) -> None:
    kept = tmp_path / "measured.json"
    kept.write_text(text)
    with pytest.raises(EngineError, match=r"measured\.json: .*measure again"):
        load_measured(kept)


def test_without_a_file_nothing_is_known(tmp_path: Path) -> None:
    assert load_measured(tmp_path / "none.json") == ()


def test_a_rate_beyond_what_was_measured_is_refused_with_slices_regions_and_rates_that_fit(tmp_path: Path) -> None:
    (first, *_) = [one.throughput for one in measure(plan_of(tmp_path).source.path, 0.1) if one.throughput]
    assert first is not None
    plan = plan_of(tmp_path, rate_hz=round(3 * first.images_per_s, 1))
    emulator = NativeFactory("emulator").capabilities("emulator")
    receiver = NativeFactory("receiver", throughputs=(first,)).capabilities("receiver")
    nodes = {"emulator": emulator, "receiver": receiver}
    with pytest.raises(
        CapacityError, match=r"buffer\[0\]\.unit: a stack of 4 images of buffer whole takes unit cpu of"
    ) as caught:
        check_capacity(plan, nodes)
    assert "what fits: buffer[0].every = " in str(caught.value)
    proposals = proposals_for(plan, nodes)
    assert len(proposals) == 3
    for proposal in proposals:
        check_capacity(plan_run(proposal.applied(plan.file), plan.source), nodes)


def test_throughputs_of_other_stacks_threads_and_parameters_are_not_taken(tmp_path: Path) -> None:
    section = plan_of(tmp_path).buffers[0].section
    marks = {
        fingerprint_of(section, "uint16"),
        fingerprint_of(section, "uint32"),
        fingerprint_of(section.model_copy(update={"stack": 2}), "uint16"),
        fingerprint_of(section.model_copy(update={"threads": 2}), "uint16"),
        fingerprint_of(section.model_copy(update={"unit": "opencl"}), "uint16"),
        fingerprint_of(section.model_copy(update={"kernel": [*section.kernel, *section.kernel]}), "uint16"),
    }
    assert len(marks) == 6
    same = section.model_copy(update={"slots": 80, "every": 3, "name": "other", "region": (0, 0, 8, 8)})
    assert fingerprint_of(same, "uint16") == fingerprint_of(section, "uint16")


@pytest.mark.parametrize(
    "link",
    [
        "",
        "roce.pmtu = 256",
        'roce = { packetisation = "first_middle_last", window_bytes = 0 }',
        'roce.transport = "ud"\nroce.pmtu = 512',
        'kind = "pcie"',
    ],
)
def test_as_many_packets_are_planned_as_are_sent(tmp_path: Path, link: str) -> None:
    plan = plan_of(tmp_path, link=link)
    nodes = {role: Node(role, role, NativeFactory(role)) for role in ("emulator", "receiver")}
    outcome = run_in_process(plan, nodes)
    assert outcome.good, outcome.problem or outcome.reasons
    (source,) = outcome.sources.values()
    for load, sent in zip(dtp_loads(plan), source.dtps, strict=True):
        assert sent.payload_bytes == (load.image_bytes + RECORD_BYTES) * sent.images_sent
        if load.packets:
            assert sent.packets == load.packets * sent.images_sent, load


def test_files_are_measured_where_they_will_be_and_leave_nothing(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    text = RUN.format(rate_hz=100.0, link="").replace(
        'name = "measured"', f'name = "measured"\noutput = "{tmp_path}/out"'
    )
    path.write_text(text.replace('kind = "null"', 'kind = "hdf5"', 1))
    (found,) = measure_files(path, 0.2)
    assert found.throughput is not None, found.trouble
    assert found.throughput.images_per_s > 1
    assert f"in files in {tmp_path}" in found.what
    assert [one.name for one in tmp_path.iterdir()] == ["run.toml"]
    section = load_plan(path).buffers[0].section
    assert found.throughput.pipeline == file_fingerprint_of(section, "uint16", f"{tmp_path}/other")
    assert found.throughput.pipeline != file_fingerprint_of(section, "uint16", "/elsewhere/out")
    assert found.throughput.pipeline != fingerprint_of(section, "uint16")


def test_files_that_a_disk_cannot_take_are_refused_with_what_it_can(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    text = RUN.format(rate_hz=1000.0, link="").replace('kind = "null"', 'kind = "hdf5"', 1)
    path.write_text(text)
    plan = load_plan(path)
    section = plan.buffers[0].section
    pipeline = file_fingerprint_of(section, "uint16", plan.file.run.output)
    known = (
        Throughput(
            pipeline=pipeline,
            what="files",
            width=plan.buffers[0].width,
            height=plan.buffers[0].height,
            images_per_s=400.0,
            date="2026-11-23",
        ),
    )
    nodes = {
        node.name: Node(node.label, node.role, NativeFactory(node.role, throughputs=known)).capabilities()
        for node in plan.nodes
    }
    with pytest.raises(
        CapacityError, match=r"takes receiver 10.00 ms until it is in files beside out, and 4.00 ms"
    ) as refused:
        check_capacity(plan, nodes)
    assert "detector.rate_hz = 400" in str(refused.value)
