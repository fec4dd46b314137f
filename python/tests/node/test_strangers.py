# SPDX-License-Identifier: Apache-2.0
"""Whole acquisitions while hostile clients connect to published services: every image is stored, in bounded memory, and good clients can reconnect."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
pytest.importorskip("zmq")

import rashpa
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.telegrams.telegram import BufferStatus
from rashpa.data.stream.feedback_record import Image
from rashpa.node.engine.native_engine import NativeFactory
from rashpa.node.offline.receive_stream import StreamFiles, receive
from rashpa.node.state.node import Node
from rashpa.testing import zmtp
from rashpa.testing.children import children, memory_mb
from rashpa.testing.free_ports import free_ports
from rashpa.testing.in_process import run_in_process
from rashpa.testing.waiting import eventually

pytestmark = pytest.mark.whole

RATE_HZ = 500
HOSTILE_S = float(os.environ.get("RASHPA_STRANGERS_S", "5"))  # `make test-strangers` takes longer
RUN = """\
[run]
name = "visited"
frames = {frames}
output = "{output}"
[detector]
width = 64
height = 32
rate_hz = {rate_hz}
[dataset]
kind = "pattern"
modules = 1
frames = 32
width = 64
height = 32
[link]
kind = "pcie"
[[buffer]]
name = "full"
slots = 64
stack = 1
deadline_ms = 2000
sink = [{{ kind = "hdf5" }}{stream}]
feedback = {{ zmq = "tcp://127.0.0.1:{port}" }}
"""
STREAM = ', {{ kind = "stream2", endpoint = "tcp://127.0.0.1:{port}", pattern = "{pattern}" }}'


class Reader(threading.Thread):
    """A well-behaved subscriber of feedback."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self.images: list[Image] = []
        self._port = port
        self.start()

    def run(self) -> None:
        # a publisher that stands still is ended with its run, and tells nobody of the end
        with (
            suppress(TimeoutError),
            rashpa.feedback(f"tcp://127.0.0.1:{self._port}", timeout_s=60) as images,
        ):
            self.images.extend(images)


class Run(threading.Thread):
    """Holds a run in this process that publishes at `port` and `port` + 1."""

    def __init__(self, folder: Path, seconds: float, pattern: str = "push") -> None:
        super().__init__(daemon=True)
        self.port = free_ports(2)
        self.frames = round(RATE_HZ * seconds)
        self.buffer: BufferStatus | None = None
        self.raised: BaseException | None = None
        self.file = folder / "out" / "visited_full_master.h5"
        self._path = folder / "run.toml"
        stream = STREAM.format(port=self.port + 1, pattern=pattern)
        text = RUN.format(frames=self.frames, output=folder / "out", rate_hz=RATE_HZ, port=self.port, stream=stream)
        self._path.write_text(text)
        self.start()

    @property
    def doors(self) -> tuple[str, str]:
        return f"tcp://127.0.0.1:{self.port}", f"tcp://127.0.0.1:{self.port + 1}"

    def run(self) -> None:
        try:
            nodes = {role: Node(role, role, NativeFactory(role)) for role in ("emulator", "receiver")}
            outcome = run_in_process(load_plan(self._path), nodes)
            assert outcome.good, outcome.problem
            self.buffer = outcome.buffers[0]
        except BaseException as error:  # noqa: BLE001 (told in the test's thread)
            self.raised = error

    def stored(self) -> BufferStatus:
        """Return the books when every image is stored."""
        self.join(timeout=120)
        assert not self.is_alive()
        if self.raised is not None:
            raise self.raised
        assert self.buffer is not None
        books = self.buffer.books
        assert (books.complete, books.written) == (self.frames, self.frames)
        with rashpa.open(self.file) as stored:
            assert len(stored) == self.frames
            np.testing.assert_array_equal(stored.tables.frame_number, np.arange(self.frames))
        return self.buffer


def publishers() -> list[int]:
    return children("rashpa-publisher")


def wait_until_published(reader: Reader) -> None:
    seen = len(reader.images)
    eventually(lambda: len(reader.images) > seen, what="feedback comes")


@pytest.mark.parametrize("pattern", ["push", "pub"])
def test_publishers_that_are_killed_cost_no_image_and_come_back(tmp_path: Path, pattern: str) -> None:
    run = Run(tmp_path, 3.0, pattern)
    reader = Reader(run.port)
    files = StreamFiles(tmp_path / "got")
    receiver = threading.Thread(
        target=receive, args=(run.doors[1], files), kwargs={"pattern": pattern, "timeout_s": 60}, daemon=True
    )
    receiver.start()
    wait_until_published(reader)
    first = eventually(lambda: publishers() if len(publishers()) == 2 else [])
    for pid in first:
        os.kill(pid, signal.SIGKILL)
    wait_until_published(reader)
    eventually(lambda: len(publishers()) == 2 and not set(publishers()) & set(first))
    buffer = run.stored()
    feedback = buffer.feedback
    assert feedback is not None
    assert feedback.restarts == 1
    assert buffer.sinks[1].restarts == 1
    reader.join(timeout=60)
    assert reader.images[-1].index == run.frames - 1
    receiver.join(timeout=60)
    assert files.done[-1].ended
    assert publishers() == [], "a child was not waited for"


def test_hostile_visitors_cost_no_image_and_little_memory(tmp_path: Path) -> None:
    run = Run(tmp_path, HOSTILE_S + 3.0)
    reader = Reader(run.port)
    wait_until_published(reader)
    before = memory_mb()
    most = 0.0
    until = time.monotonic() + HOSTILE_S
    while time.monotonic() < until:
        for visit in zmtp.HOSTILE.values():
            for kind, door in zip((b"SUB", b"PULL"), run.doors, strict=True):
                with suppress(OSError):
                    visit(door, kind)
                most = max([most, *(memory_mb(pid, "VmHWM") for pid in publishers())])
    assert most < 400, f"{most} MB in a process that publishes"
    assert memory_mb() < before + 100
    buffer = run.stored()
    assert buffer.feedback is not None
    assert buffer.feedback.restarts >= 1, "of too many subscriptions"
    assert buffer.sinks[1].restarts == 0
    reader.join(timeout=60)
    assert reader.images[-1].index == run.frames - 1, "a good subscriber was lost"


def test_many_subscribers_that_stand_still_cost_no_image(tmp_path: Path) -> None:
    run = Run(tmp_path, 3.0)
    reader = Reader(run.port)
    wait_until_published(reader)
    before = memory_mb()
    with zmtp.stalled(run.doors[0], 450), zmtp.stalled(run.doors[1], 100, b"PULL"):
        run.stored()
        assert memory_mb() < before + 100
    reader.join(timeout=60)
    assert reader.images[-1].index == run.frames - 1


def test_a_publisher_that_stands_still_holds_up_no_image(tmp_path: Path) -> None:
    run = Run(tmp_path, 2.0)
    reader = Reader(run.port)
    wait_until_published(reader)
    stopped = eventually(publishers)
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    buffer = run.stored()
    assert buffer.feedback is not None
    assert buffer.feedback.published == run.frames
    assert buffer.feedback.sent + buffer.feedback.dropped == run.frames
    assert publishers() == []


def test_a_publisher_ends_with_its_receiver(tmp_path: Path) -> None:
    """Check also a killed receiver: no remaining process holds a port."""
    port = free_ports(2)
    path = tmp_path / "run.toml"
    text = RUN.format(frames=5000, output=tmp_path / "out", rate_hz=RATE_HZ, port=port, stream="")
    path.write_text(text)
    program = (
        "import sys; from pathlib import Path; from rashpa.control.plan.run_plan import load_plan; "
        "from rashpa.node.engine.native_engine import NativeFactory; from rashpa.node.state.node import Node; "
        "from rashpa.testing.in_process import run_in_process; "
        "nodes = {role: Node(role, role, NativeFactory(role)) for role in ('emulator', 'receiver')}; "
        "run_in_process(load_plan(Path(sys.argv[1])), nodes)"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(path)]) as process:
        (publisher,) = eventually(lambda: children("rashpa-publisher", process.pid), process=process)
        process.kill()
    eventually(lambda: not Path(f"/proc/{publisher}").exists(), 10.0)
