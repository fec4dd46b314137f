# SPDX-License-Identifier: Apache-2.0
"""Runs the example of a stream with the two commands of its how-to page; in one test the client leaves early."""

import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  (registers the bitshuffle filter)
import numpy as np
import pytest

from rashpa.testing.free_ports import free_ports
from rashpa.testing.waiting import GUARD_S, eventually

pytest.importorskip("cbor2")
zmq = pytest.importorskip("zmq")

EXAMPLE = Path(__file__).parents[2] / "examples" / "15_stream.toml"
RASHPA = [sys.executable, "-m", "rashpa.cli.entry"]


def example(folder: Path, port: int, frames: int) -> Path:
    text = EXAMPLE.read_text(encoding="utf-8")
    assert "31001" in text, "where a sink publishes that says nothing, and what the example's command reads"
    text = re.sub(r"(?m)^frames = 1000$", f"frames = {frames}", text)
    text = text.replace('kind = "stream2"\n', f'kind = "stream2"\nendpoint = "tcp://127.0.0.1:{port}"\n')
    assert f":{port}" in text
    assert f"frames = {frames}\n" in text
    file = folder / EXAMPLE.name
    file.write_text(text, encoding="utf-8")
    return file


def started(command: list[str], folder: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*RASHPA, *command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def receiving(folder: Path, port: int) -> "subprocess.Popen[str]":
    client = started(["receive-stream", f"tcp://127.0.0.1:{port}", "out/received", "--timeout", "60"], folder)
    assert client.stdout is not None
    assert "waiting for images" in client.stdout.readline()
    return client


def opened(file: Path) -> Any:
    return h5py.File(file)["/entry/data/data"]


def test_the_example_is_received_as_it_is_stored(tmp_path: Path) -> None:
    port = free_ports(1)
    client = receiving(tmp_path, port)
    try:
        run = started(["run", str(example(tmp_path, port, 240))], tmp_path)
        said, _ = run.communicate(timeout=240)
        assert run.returncode == 0, said
        out, _ = client.communicate(timeout=GUARD_S)
        assert client.returncode == 0, out
    finally:
        client.kill()
        client.communicate()
    got, stored = (opened(tmp_path / "out" / f"{name}_master.h5") for name in ("received", "stream_full"))
    assert f"series 1: {len(stored)} images: out/received_master.h5" in out
    assert len(got) == len(stored) > 0
    for number in range(len(stored)):
        np.testing.assert_array_equal(got[number], stored[number])


def test_who_receives_a_run_that_is_interrupted_gets_its_end(tmp_path: Path) -> None:
    port = free_ports(1)
    client = receiving(tmp_path, port)
    run = started(["run", str(example(tmp_path, port, 100_000))], tmp_path)
    data = tmp_path / "out" / "received_data_000001.h5"
    try:
        eventually(
            lambda: data.exists() and data.stat().st_size > 1_000_000,
            90.0,
            lambda: "received_data_000001.h5 does not grow" if run.poll() is None else run.communicate()[0],
            run,
        )
        run.send_signal(signal.SIGINT)
        said, _ = run.communicate(timeout=GUARD_S)
        assert run.returncode == 130, said
        out, _ = client.communicate(timeout=GUARD_S)
    finally:
        for process in (run, client):
            process.kill()
            process.communicate()
    assert client.returncode == 3, out  # most of the series never came to the sender
    assert "end did not come" not in out
    assert re.search(r"series 1: \d+ images, \d+ never came to the sender: out/received_master\.h5", out), out
    assert len(opened(tmp_path / "out" / "received_master.h5")) > 0
