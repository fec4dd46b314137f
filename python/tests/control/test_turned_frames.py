# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest

from rashpa.control.capacity.capacity import CapacityError, check_capacity
from rashpa.control.capacity.plan_summary import json_of, summary_of, unknown_of
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.plan.turned_frames import turned_bytes, turned_modules
from rashpa.control.telegrams.telegram import Capabilities, Link, Unit
from rashpa.testing.run_file import Table, run_file


def run_text(dataset: Table) -> str:
    return run_file(
        run={"name": "turned", "frames": 10},
        detector={
            "width": 1000,
            "height": 500,
            "module": [
                {"x": 0, "y": 0},
                {"x": 1000, "y": 0, "turn": 90},
                {"x": 1500, "y": 0, "turn": 90, "flip": True},
            ],
        },
        dataset=dataset,
        emulator=[{"name": "upright", "modules": [0]}, {"name": "turned", "modules": [1, 2]}],
        buffer=[
            {"name": "full", "bands": 2, "sink": [{"kind": "null"}]},
            {"name": "again", "region": [1100, 0, 100, 100], "sink": [{"kind": "null"}]},
        ],
    )


PATTERN: Table = {"kind": "pattern", "modules": 3, "width": 1000, "height": 500, "frames": 300}
FRAME = -(-1000 * 500 * 2 // 64) * 64


def plan_of(folder: Path, dataset: Table = PATTERN) -> Plan:
    path = folder / "run.toml"
    path.write_text(run_text(dataset=dataset))
    return load_plan(path)


def test_a_copy_of_all_different_frames_is_counted_once_a_module_and_orientation(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    upright, turned = plan.emulators
    assert turned_bytes(plan, upright) == 0
    assert len(turned_modules(plan, turned)) == 2
    assert turned_bytes(plan, turned) == 2 * 300 * FRAME
    assert [node["turned_bytes"] for node in json_of(summary_of(plan))["nodes"]] == [0, 0, 2 * 300 * FRAME]
    assert not any("turned modules" in line for line in unknown_of(summary_of(plan)))


def test_a_machine_without_room_for_them_is_refused_with_the_number(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    link, unit = Link(name="roce", bytes_per_s=0, pmtus=(4096,)), Unit(name="cpu", usable=True, what="")
    can = {
        node.name: Capabilities(
            node=node.label,
            role=node.role,
            software="test",
            processors=2,
            memory_bytes=500_000_000,
            max_dtps=256,
            pixels=("uint16",),
            kernels=(),
            sinks=("null",),
            links=(link,),
            units=(unit,),
        )
        for node in plan.nodes
    }
    with pytest.raises(
        CapacityError, match=r"dataset\.frames: .*the frames of turned modules \(0\.56 GiB\) take 0\.71"
    ) as refused:
        check_capacity(plan, can)
    assert "emulator turned" in str(refused.value)
    assert "emulator upright" not in str(refused.value)
    check_capacity(plan_of(tmp_path, {**PATTERN, "frames": 30}), can)


def test_frames_that_nobody_here_has_counted_are_not_known_and_hold_nothing_up(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.bin").write_bytes(bytes(1000 * 500 * 2))
    files = {"kind": "files", "files": [["0.bin"], ["1.bin"], ["2.bin"]], "format": "bin", "width": 1000, "height": 500}
    plan = plan_of(tmp_path, files)
    assert turned_bytes(plan, plan.emulators[1]) is None
    assert any("emulator turned: how many frames" in line for line in unknown_of(summary_of(plan)))
