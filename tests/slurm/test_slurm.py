# SPDX-License-Identifier: Apache-2.0
"""Tests runs with nodes as job steps of a real Slurm: `make test-slurm`."""

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import h5py
import pytest
from tests.chain.test_attach import RUN
from tests.chain.test_nodes import COMMAND
from tests.slurm.cluster import cluster, missing

from rashpa.testing.waiting import eventually

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.skipif(bool(missing()), reason=f"not installed: {', '.join(missing())} (make test-slurm)"),
]


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with cluster(tmp_path_factory.mktemp("slurm")) as environment:
        yield environment


def run_file(folder: Path, frames: int = 300, extra: str = "", orphaned: str = "end") -> Path:
    path = folder / "run.toml"
    path.write_text(RUN.format(frames=frames, out=folder / "out", orphaned=orphaned, nodes=extra))
    return path


def steps(environment: dict[str, str]) -> list[str]:
    """Return the names of the running steps."""
    done = subprocess.run(["squeue", "-h", "-o", "%j"], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.split()


def run(path: Path, environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, "run", str(path), "-q", "--launcher", "slurm", *words]
    return subprocess.run(
        command, cwd=path.parent, env=environment, capture_output=True, text=True, check=False, timeout=240
    )


def written(folder: Path) -> int:
    with h5py.File(folder / "out" / "orphan_full_master.h5") as file:
        return int(file["/entry/rashpa/books/written"][()])


@contextlib.contextmanager
def killed(path: Path, environment: dict[str, str]) -> Iterator[None]:
    """Start a run, and kill its manager when images are stored."""
    command = [*COMMAND, "run", str(path), "-q", "--launcher", "slurm"]
    manager = subprocess.Popen(command, cwd=path.parent, env=environment, stderr=subprocess.DEVNULL)
    try:
        eventually((path.parent / "out" / "orphan_full_data_000003.h5").exists, 120.0)
    finally:
        os.kill(manager.pid, signal.SIGKILL)
        manager.wait()
    yield


def test_nodes_are_job_steps_and_the_run_is_as_any_other(tmp_path: Path, slurm: dict[str, str]) -> None:
    done = run(run_file(tmp_path), slurm, "--output", "report")
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / "report" / "report.json").read_text())
    assert report["books"]["written"] == 300 == written(tmp_path)
    assert "listens at https://" in (tmp_path / "report" / "nodes.log").read_text()
    eventually(lambda: not steps(slurm))


def test_steps_share_the_allocation_in_which_the_run_is(tmp_path: Path, slurm: dict[str, str]) -> None:
    path = run_file(tmp_path)
    inside = " ".join([*COMMAND, "run", str(path), "-q", "--launcher", "slurm"])
    batch = ["srun", "--nodes=1", "--ntasks=1", "sh", "-c", inside]
    done = subprocess.run(batch, cwd=tmp_path, env=slurm, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    assert written(tmp_path) == 300


def test_what_slurm_refuses_is_said_with_the_node(tmp_path: Path, slurm: dict[str, str]) -> None:
    done = run(run_file(tmp_path), slurm, "--launcher-options", "--partition=nowhere")
    assert done.returncode == 1
    assert "did not start; it said: srun: error: " in done.stderr
    assert "invalid partition specified: nowhere" in done.stderr
    wrong = '[[receiver]]\nname = "far"\nlaunch = ["--nodelist=elsewhere"]\n'
    done = run(run_file(tmp_path, extra=wrong), slurm)
    assert done.returncode == 1
    assert "receiver far did not start; it said: srun: error: " in done.stderr


def test_a_node_that_gets_no_machine_in_time_is_given_up(tmp_path: Path, slurm: dict[str, str]) -> None:
    done = run(run_file(tmp_path), slurm, "--launcher-options", "--begin=now+3600", "--timeout", "3")
    assert done.returncode == 1
    assert "did not start within 3 s" in done.stderr
    eventually(lambda: not steps(slurm))


def test_steps_end_with_a_manager_that_is_killed(tmp_path: Path, slurm: dict[str, str]) -> None:
    with killed(run_file(tmp_path, 100_000), slurm):
        eventually(lambda: not steps(slurm), 90.0)
    assert written(tmp_path) > 0


def test_a_run_of_job_steps_is_attached_to(tmp_path: Path, slurm: dict[str, str]) -> None:
    with killed(run_file(tmp_path, 1000, orphaned="finish"), slurm):
        command = [*COMMAND, "attach", "out", "-q"]
        done = subprocess.run(
            command, cwd=tmp_path, env=slurm, capture_output=True, text=True, check=False, timeout=240
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert written(tmp_path) == 1000
        eventually(lambda: not steps(slurm))


def test_without_slurm_it_is_said_what_is_missing(tmp_path: Path) -> None:
    empty = {"PATH": str(tmp_path)}
    done = run(run_file(tmp_path), empty)
    assert done.returncode == 2
    assert "srun is not there; run where Slurm's commands are, or without --launcher slurm" in done.stderr
