# SPDX-License-Identifier: Apache-2.0
"""Tests whole acquisitions with a killed manager, using real commands, packets and files."""

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401  (filters of the files)
import httpx
import pytest
from tests.chain.test_nodes import COMMAND, node

from rashpa.control.nodes.process_identity import is_process
from rashpa.testing.waiting import eventually

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

RUN = """\
[run]
name = "orphan"
frames = {frames}
output = "{out}"
orphaned = "{orphaned}"
[detector]
width = 64
height = 32
rate_hz = 100.0
[dataset]
kind = "pattern"
width = 64
height = 32
[receiver]
port = 0
[[buffer]]
name = "full"
[[buffer.sink]]
kind = "hdf5"
images_per_file = 20
{nodes}
"""


@contextlib.contextmanager
def killed(folder: Path, orphaned: str, frames: int, nodes: str = "") -> Iterator[list[dict[str, object]]]:
    """Yield the nodes of a run in `folder`/out whose `rashpa run` was killed after images were stored."""
    path = folder / "run.toml"
    path.write_text(RUN.format(frames=frames, out=folder / "out", orphaned=orphaned, nodes=nodes))
    command = [*COMMAND, "run", str(path), "-q", "--no-page", "--output", str(folder / "report")]
    manager = subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL)
    try:
        eventually((folder / "out" / "orphan_full_data_000003.h5").exists, 200.0)
    finally:
        manager.send_signal(signal.SIGKILL)
        manager.wait()
    known = json.loads((folder / "out" / "orphan_attach.json").read_text())["nodes"]
    try:
        yield known
    finally:
        for pid in alive(known):
            os.kill(pid, signal.SIGKILL)


def alive(nodes: list[dict[str, object]]) -> list[int]:
    return [int(str(one["pid"])) for one in nodes if is_process(int(str(one["pid"])), str(one["identity"]))]


def attach(folder: Path) -> tuple[int, str]:
    done = subprocess.run(
        [*COMMAND, "attach", "out", "-q"], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    return done.returncode, done.stdout + done.stderr


def images_in(folder: Path) -> int:
    """Return the number of images; check that master and data files agree on it."""
    with h5py.File(folder / "out" / "orphan_full_master.h5") as master:
        written = int(master["entry/rashpa/books/written"][()])
        assert written == master["entry/data/data"].shape[0]
        assert master["entry/rashpa/books/balanced"][()]
        assert master["entry/data/data"][written - 1].any()  # the bytes are there
    return written


def test_rashpa_attach_brings_a_run_to_the_end_that_it_would_have_had(tmp_path: Path) -> None:
    with killed(tmp_path, "finish", 800) as nodes:
        assert len(alive(nodes)) == 2
        code, said = attach(tmp_path)
        assert code == 0, said
        assert alive(nodes) == []
    report = json.loads((tmp_path / "report" / "report.json").read_text())
    assert report["run"]["good"]
    assert report["books"]["balanced"]
    assert report["books"]["written"] == 800
    assert " was gone; run orphan of " in report["run"]["cautions"][0]
    assert (tmp_path / "report" / "nodes.log").read_text()
    assert images_in(tmp_path) == 800
    assert attach(tmp_path) == (
        2,
        "rashpa attach: out: there is no such run (no *_attach.json is there); it has not begun, has come to its end, or its output is elsewhere: give the folder of run.output\n",
    )


def test_a_run_that_ends_with_its_manager_leaves_files_that_open(tmp_path: Path) -> None:
    with killed(tmp_path, "end", 100_000) as nodes:
        eventually(lambda: not alive(nodes))
        assert images_in(tmp_path) >= 20
        code, said = attach(tmp_path)
        assert code == 1
        assert "files that it wrote are closed: `rashpa inspect` shows them" in said
        inspected = subprocess.run([*COMMAND, "inspect", "out/orphan_full_master.h5"], cwd=tmp_path, check=False)
        assert inspected.returncode == 0


@pytest.mark.parametrize("orphaned", ["end", "finish"])
def test_standing_nodes_do_as_the_run_file_says_and_take_the_next_run(tmp_path: Path, orphaned: str) -> None:
    with (
        node("emulator", tmp_path, "--lease", "4") as emulator,
        node("receiver", tmp_path, "--lease", "4") as receiver,
    ):
        nodes = f'[nodes]\nemulator = "{emulator}"\nreceiver = "{receiver}"\n'
        frames = 600 if orphaned == "finish" else 100_000
        with killed(tmp_path, orphaned, frames, nodes):
            if orphaned == "finish":
                eventually(lambda: "the run goes on to its end" in _said(receiver))  # the lease is over
                code, said = attach(tmp_path)
                assert code == 0, said
                assert images_in(tmp_path) == 600
            else:
                eventually(lambda: "the node is free" in _said(receiver) + _said(emulator))
                eventually(lambda: all('"state": "idle"' in _said(url) for url in (emulator, receiver)))
                assert images_in(tmp_path) >= 20
                code, said = attach(tmp_path)
                assert code == 1
                assert "has ended the run: run orphan of" in said
        path = tmp_path / "next.toml"
        text = RUN.format(frames=50, out=tmp_path / "next", orphaned="end", nodes=nodes)
        path.write_text(text)
        again = subprocess.run([*COMMAND, "run", str(path), "-q"], cwd=tmp_path, check=False)
        assert again.returncode == 0


def _said(url: str) -> str:
    return json.dumps(httpx.get(f"{url}/status").json())
