# SPDX-License-Identifier: Apache-2.0
"""Runs whose storage fails: their reports, and the remaining files on the disk."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from typer.testing import CliRunner, Result

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa.cli.main import app
from rashpa.cli.report.report import write_report
from rashpa.cli.run.run import exit_code
from rashpa.control.books.outcome import Outcome, Progress
from rashpa.control.nodes.launcher import LocalLauncher
from rashpa.control.nodes.local_node import local_command
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.run.manager import Manager
from rashpa.control.runfile.schemas import schema_path
from rashpa.data.datasets.dataset_spec import PatternSpec
from rashpa.data.datasets.datasets import dataset_from_spec
from rashpa.data.stored.reader import open_run
from rashpa.node.engine.native_engine import NativeFactory
from rashpa.node.state.node import Node
from rashpa.testing.in_process import run_in_process
from rashpa.testing.run_file import run_file

pytestmark = pytest.mark.whole


def run_text(frames: int, output: Path, rate_hz: float) -> str:
    return run_file(
        run={"name": "disk", "frames": frames, "output": output},
        detector={"width": 256, "height": 256, "rate_hz": rate_hz, "module": [{"x": 0, "y": 0}]},
        dataset={"modules": 1, "frames": 8},
        link={"kind": "pcie"},
        receiver={"memory": "pageable", "port": None},
        buffer={"slots": 40, "sink": [{"kind": "hdf5"}]},
    )


def plan_of(tmp_path: Path, output: Path, frames: int = 400, rate_hz: float = 0.0) -> Plan:
    path = tmp_path / "run.toml"
    path.write_text(run_text(frames=frames, output=output, rate_hz=rate_hz))
    return load_plan(path)


def play(plan: Plan, observer: Callable[[Progress], None]) -> Outcome:
    return run_in_process(
        plan, {role: Node(role, role, NativeFactory(role)) for role in ("emulator", "receiver")}, observer
    )


def written(progress: Progress) -> int:
    status = progress.receivers.get("receiver")
    return sum(buffer.books.written for buffer in status.destination.buffers) if status and status.destination else 0


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "200"})


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Yield a folder on a file system of 4 MB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount")
    if mount is None or os.geteuid() != 0:
        pytest.skip("no file system may be mounted here")
    if subprocess.run([mount, "-t", "tmpfs", "-o", "size=4m", "tmpfs", disk], check=False).returncode != 0:
        pytest.skip("no file system may be mounted here")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


def test_a_run_on_a_full_disk_is_red_and_says_what_and_where(tmp_path: Path, small_disk: Path) -> None:
    outcome = play(plan_of(tmp_path, small_disk), lambda progress: None)
    assert exit_code(outcome) == 3
    books = outcome.books
    assert books.errored > 0
    assert outcome.balanced
    first = outcome.buffers[0].first_errored
    assert first is not None
    assert first.reason == "storage"
    assert f"buffer full: {books.errored} of 400 images errored ({books.errored} storage)" in outcome.reasons[0]
    assert f"image {first.index} (frame {first.frame}), storage: {small_disk}" in outcome.reasons[0]
    assert f"frame {first.frame}: " in outcome.reasons[0]
    assert "No space left" in outcome.reasons[0]

    as_json, as_html = write_report(outcome, tmp_path, tmp_path / "run.toml")
    report = json.loads(as_json.read_text())
    Draft202012Validator(json.loads(schema_path("report.schema.json").read_text())).validate(report)
    assert report["run"]["good"] is False
    assert report["run"]["reasons"] == list(outcome.reasons)
    assert report["buffers"][0]["errors"]["storage"] == books.errored
    assert report["buffers"][0]["first_errored"]["index"] == first.index
    assert f"{books.errored} of 400 images errored" in as_html.read_text()

    with open_run(small_disk / "disk_full_master.h5") as run:
        assert len(run) == books.written
        assert run.summary().errors == {"storage": books.errored}
        dataset = dataset_from_spec(PatternSpec(kind="pattern", modules=1, frames=8, width=256, height=256), tmp_path)
        for frame, image in run.images():
            np.testing.assert_array_equal(image, dataset.dataset.frame(0, frame % 8))


def test_an_output_folder_that_is_removed_is_found_at_the_end(tmp_path: Path) -> None:
    output = tmp_path / "out"

    def remove(progress: Progress) -> None:
        if written(progress) > 20:
            shutil.rmtree(output, ignore_errors=True)

    outcome = play(plan_of(tmp_path, output, rate_hz=400.0), remove)
    assert exit_code(outcome) == 3
    assert outcome.books.written == 0
    assert outcome.books.errored == 400
    assert outcome.balanced
    assert "removed" in outcome.reasons[0]
    assert np.frombuffer(outcome.decisions["full"], np.uint8).tolist() == [3] * 400


def test_the_file_of_a_killed_receiver_is_completed_later(tmp_path: Path) -> None:
    output = tmp_path / "out"
    managers: list[Manager] = []

    def kill(progress: Progress) -> None:
        if written(progress) > 50:
            os.kill(managers[0].local_nodes["receiver"].pid, signal.SIGKILL)

    async def run() -> Outcome:
        managers.append(Manager(plan_of(tmp_path, output, rate_hz=200.0), kill, launcher=LocalLauncher(local_command)))
        return await managers[0].run()

    outcome = asyncio.run(run())
    assert exit_code(outcome) == 1
    master = output / "disk_full_master.h5"
    refused = call("inspect", master)
    assert refused.exit_code == 2
    assert "ended before it could complete" in refused.stderr
    assert "rashpa repair" in refused.stderr

    repaired = call("repair", master)
    assert repaired.exit_code == 3, repaired.output
    assert "is complete" not in repaired.stdout
    assert "nothing is known of" in repaired.stderr
    shown = call("inspect", master)
    assert shown.exit_code == 3, shown.output
    assert "The receiver ended early" in shown.stdout
    assert "Storing failed" not in shown.stdout
    with open_run(master) as stored:
        made = len(stored)
        assert made > 50
        assert len(stored.tables.frame_number) == 400
        dataset = dataset_from_spec(PatternSpec(kind="pattern", modules=1, frames=8, width=256, height=256), tmp_path)
        for frame, image in stored.images():
            np.testing.assert_array_equal(image, dataset.dataset.frame(0, frame % 8))
    again = call("repair", output / "disk_full")
    assert again.exit_code == 3
    assert "nothing to do" in again.stdout
    said = json.loads(call("repair", output / "disk_full", "--json").stdout)
    assert said["books"]["expected"] == 400
    assert said["books"]["made"] == made < 400
    assert said["books"]["missing"] == 400 - said["books"]["made"]


def test_what_cannot_be_repaired_is_one_clear_error(tmp_path: Path) -> None:
    done = call("repair", tmp_path / "absent")
    assert done.exit_code == 2
    assert "no such file" in done.stderr
    (tmp_path / "bad_master.h5").write_bytes(b"nothing")
    assert call("repair", tmp_path / "bad_master.h5").exit_code == 2
