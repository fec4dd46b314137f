# SPDX-License-Identifier: Apache-2.0
"""A receiver that cannot start one of its threads, tried for each thread: the start is refused with a reason, is not left half done, and does not
hang."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

MOST = 12
"""More threads than such a receiver has."""
CODE = """\
import faulthandler, os, pathlib, time
from rashpa import _native
faulthandler.dump_traceback_later(20, exit=True)
armed = pathlib.Path(os.environ["FEW_ARMED"])
buffer = _native.BufferConfig({"slots": 8, "stack": 2, "deadline_ms": 100, "threads": THREADS})
buffer.name, buffer.width, buffer.height, buffer.pixel = "full", 64, 64, "uint16"
buffer.images = 100
buffer.dtps = [_native.DestinationDtp(0, 0, 0, 0, 64, 64)]
buffer.sinks = [_native.SinkConfig("null", {})] * 2
config = _native.ReceiverConfig()
config.buffers, config.memory, config.run, config.link_threads = [buffer], "pageable", 1, 1
config.link, config.source_link = _native.LinkOptions("pcie", {}), "pcie"
receiver = _native.Receiver(config)
receiver.arm(receiver.endpoints())
armed.touch()
try:
    receiver.start()
    said = "started"
except _native.ResourceError as error:
    said = f"refused: {error}"
armed.unlink()
began = time.monotonic()
receiver.stop()
state = receiver.status().state
del receiver
print(said, state, "at once" if time.monotonic() - began < 10 else "late")
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("few") / "few_threads.so"
    source = Path(__file__).with_name("few_threads.c")
    command = ["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", str(source), "-o", str(made), "-ldl"]
    subprocess.run(command, check=True, timeout=60)
    return made


@pytest.mark.parametrize("threads", [1, 3])
def test_a_start_that_runs_out_of_threads_is_refused_and_given_back(
    tmp_path: Path, library: Path, threads: int
) -> None:
    ends: list[str] = []
    for allowed in range(MOST):
        environment = {**os.environ, "LD_PRELOAD": str(library)}
        environment |= {"FEW_ARMED": str(tmp_path / "armed"), "FEW_THREADS": str(allowed)}
        done = subprocess.run(
            [sys.executable, "-c", CODE.replace("THREADS", str(threads))],
            capture_output=True, text=True, timeout=60, env=environment,
        )  # fmt: skip
        assert done.returncode == 0, f"{allowed} threads: {done.stderr}"
        ends.append(done.stdout.strip())
        if ends[-1].startswith("started"):
            break
    *refused, started = ends
    assert started == "started stopped at once"
    assert refused, "no thread was refused"
    for end in refused:
        assert end.startswith("refused: receiver: a thread cannot be started: "), end
        assert "allow more (ulimit -u, pids of a cgroup)" in end
        assert end.endswith("stopped at once")
