# SPDX-License-Identifier: Apache-2.0
"""Whole acquisitions with published decisions: every image comes once, and agrees with the file."""

import os
import threading
import uuid
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

import rashpa
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.control.telegrams.telegram import FeedbackStatus
from rashpa.data.stored.run_facts import COMPLETENESS, DECISIONS
from rashpa.data.stream.feedback_record import Image
from rashpa.node.engine.engine import EngineError
from rashpa.node.engine.folders import Folders
from rashpa.node.engine.native_engine import NativeFactory
from rashpa.node.state.node import Node
from rashpa.testing.in_process import run_in_process
from rashpa.testing.waiting import GUARD_S, eventually

pytestmark = pytest.mark.whole

FRAMES = 120
RUN = """\
[run]
name = "fed"
frames = {frames}
output = "{output}"
[detector]
width = 1024
height = 512
[dataset]
kind = "jungfrau"
modules = 1
frames = 40
hit_fraction = 0.5
[receiver]
port = 0
[link]
{link}
[[buffer]]
name = "full"
slots = 20
stack = {stack}
deadline_ms = 1000
sink = [{{ kind = "hdf5" }}]
{feedback}
[[buffer.kernel]]
name = "jungfrau"
[[buffer.kernel]]
name = "bragg_count"
threshold = 6
min_pixels = 20
[[buffer.kernel]]
name = "peakfinder8"
threshold = 6
{faults}
"""
FAULTS = """\
[faults]
seed = 4
drop = 0.002
"""


def new_name() -> str:
    return f"test-{uuid.uuid4().hex[:12]}"


class Subscriber:
    """Reads images in a separate thread."""

    def __init__(self, source: str) -> None:
        self.images: list[Image] = []
        self.lost = 0
        self.raised: list[BaseException] = []
        self._source = source
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            with rashpa.feedback(self._source, timeout_s=60) as images:
                self.images.extend(images)
                self.lost = images.lost
        except BaseException as error:  # noqa: BLE001 (told in the test's thread)
            self.raised.append(error)

    def all(self) -> list[Image]:
        self._thread.join(timeout=GUARD_S)
        assert not self._thread.is_alive()
        assert not self.raised, self.raised
        return self.images


def run(
    tmp_path: Path, feedback: str, link: str = "", faults: str = "", stack: int = 1, rate_hz: float = 0.0
) -> FeedbackStatus:
    path = tmp_path / "run.toml"
    output = tmp_path / "out"
    text = RUN.format(frames=FRAMES, output=output, feedback=feedback, link=link, faults=faults, stack=stack)
    path.write_text(text.replace("height = 512\n", f"height = 512\nrate_hz = {rate_hz}\n", 1))
    nodes = {role: Node(role, role, NativeFactory(role)) for role in ("emulator", "receiver")}
    outcome = run_in_process(load_plan(path), nodes)
    assert outcome.good, outcome.problem
    buffer = outcome.buffers[0]
    assert buffer.feedback is not None
    latencies = {latency.stage: latency.count for latency in buffer.latencies}
    arrived = buffer.books.arrived
    assert arrived <= latencies["published"] <= FRAMES
    assert ("sent" in latencies) == (buffer.feedback.zmq != "")
    return buffer.feedback


def check_against_file(images: list[Image], tmp_path: Path) -> None:
    """Compare all stored values of each image, and the rows of accepted ones."""
    assert [image.index for image in images] == list(range(FRAMES))
    assert [image.number for image in images] == list(range(FRAMES))
    stored = rashpa.open(tmp_path / "out" / "fed_full_master.h5")
    tables = stored.tables
    np.testing.assert_array_equal([image.frame for image in images], tables.frame_number)
    np.testing.assert_array_equal([image.timestamp_ns for image in images], tables.timestamp_ns)
    np.testing.assert_array_equal([image.flags for image in images], tables.flags)
    assert [image.completeness for image in images] == [COMPLETENESS[value] for value in tables.completeness]
    assert [image.decision for image in images] == [DECISIONS[value] for value in tables.decision]
    reasons = [stored.veto_reasons[value] for value in tables.veto_reason]
    assert [image.reason for image in images if image.decision == "vetoed"] == [
        reason for reason, decision in zip(reasons, tables.decision, strict=True) if DECISIONS[decision] == "vetoed"
    ]
    for name in ("bright_pixels", "n_peaks"):
        found = tables.counted(name)
        for image in images:
            if image.decision == "accepted":
                assert image.scalars[name] == found[image.index]
    accepted = [image for image in images if image.decision == "accepted"]
    assert accepted
    for image in accepted:
        place = int(tables.stored_index[image.index])
        rows: dict[str, NDArray[np.generic]] = stored.table("peakfinder8", place)
        assert len(image.peaks) == image.scalars["n_peaks"]
        for column in ("x", "y", "intensity", "snr"):
            np.testing.assert_array_equal(image.peaks[column], rows[column])


@pytest.mark.parametrize("stack", [1, 5])
def test_a_ring_has_every_image_once_as_it_is_stored(tmp_path: Path, stack: int) -> None:
    ring = new_name()
    subscriber = Subscriber(ring)
    told = run(tmp_path, f'feedback = {{ ring = "{ring}" }}', stack=stack)
    images = subscriber.all()
    assert (told.published, told.sent, told.zmq, subscriber.lost) == (FRAMES, 0, "", 0)
    assert told.ring == f"/dev/shm/rashpa.{ring}"
    check_against_file(images, tmp_path)
    for image in images:
        if image.completeness != "missing":
            assert image.last_packet_ns <= image.decided_ns <= image.published_ns <= image.received_ns


def test_partial_and_missing_images_are_published_as_such(tmp_path: Path) -> None:
    ring = new_name()
    subscriber = Subscriber(ring)
    run(tmp_path, f'feedback = {{ ring = "{ring}" }}', faults=FAULTS)
    images = subscriber.all()
    assert {image.completeness for image in images} >= {"complete", "partial"}
    check_against_file(images, tmp_path)


def test_a_reader_that_never_reads_is_not_felt(tmp_path: Path) -> None:
    ring = new_name()
    opened: list[object] = []
    idle = threading.Thread(target=lambda: opened.append(rashpa.feedback(ring, timeout_s=60)), daemon=True)
    idle.start()
    told = run(tmp_path, f'feedback = {{ ring = "{ring}", images = 2 }}', link='kind = "pcie"')
    idle.join(timeout=GUARD_S)
    assert told.published == FRAMES
    (late,) = opened
    remaining = [image.index for image in late]  # type: ignore[attr-defined]
    assert remaining == [FRAMES - 1]
    assert late.lost == FRAMES - 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("left", [0, 4096])
def test_whoever_cuts_the_ring_ends_neither_the_run_nor_its_readers(tmp_path: Path, left: int) -> None:
    ring = new_name()
    subscriber = Subscriber(ring)

    def cut() -> None:
        eventually(lambda: len(subscriber.images) > 5, 60.0, look_s=0.001)
        os.truncate(f"/dev/shm/rashpa.{ring}", left)

    cutting = threading.Thread(target=cut)
    cutting.start()
    told = run(tmp_path, f'feedback = {{ ring = "{ring}" }}', link='flow = "credits"', rate_hz=100.0)
    cutting.join()
    assert told.published == FRAMES
    with pytest.raises(AssertionError, match="was cut by another process"):
        subscriber.all()
    assert 5 < len(subscriber.images) < FRAMES
    with rashpa.open(tmp_path / "out" / "fed_full_master.h5") as stored:
        assert stored.books["written"] == stored.books["accepted"] > 0


def test_zeromq_has_the_same(tmp_path: Path) -> None:
    pytest.importorskip("zmq")
    ring = new_name()
    port = free_port()
    by_zmq, by_ring = Subscriber(f"tcp://127.0.0.1:{port}"), Subscriber(ring)
    told = run(tmp_path, f'feedback = {{ ring = "{ring}", zmq = "tcp://127.0.0.1:{port}" }}', stack=2)
    assert (told.published, told.sent, told.dropped, told.full) == (FRAMES, FRAMES, 0, 0)
    assert told.zmq == f"tcp://127.0.0.1:{port}"
    known = {image.index: image for image in by_ring.all()}
    images = by_zmq.all()
    # a subscription takes some milliseconds; what was published before it is not had
    assert images[-1].index == FRAMES - 1
    assert [image.index for image in images] == list(range(images[0].index, FRAMES))
    for image in images:
        other = known[image.index]
        assert (image.decision, image.reason, image.scalars) == (other.decision, other.reason, other.scalars)
        for name in image.tables:
            np.testing.assert_array_equal(image.tables[name], other.tables[name])


def free_port() -> int:
    import socket

    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def test_a_receiver_publishes_where_it_is_allowed_to(tmp_path: Path) -> None:
    folders = Folders([tmp_path], [tmp_path], feedback=tmp_path, publish=["192.0.2.7"])
    assert folders.ring_file("hits") == tmp_path / "rashpa.hits"
    for endpoint in ("", "tcp://127.0.0.1:0", "tcp://127.1.2.3:4", "tcp://[::1]:0", "tcp://192.0.2.7:4000"):
        folders.check_publish(endpoint, "feedback.zmq")
    for endpoint in ("tcp://0.0.0.0:0", "tcp://192.0.2.8:4000", "tcp://[::]:0"):
        with pytest.raises(EngineError, match="publishes on loopback alone; start it with --publish"):
            folders.check_publish(endpoint, "feedback.zmq")
    with pytest.raises(EngineError, match=r"feedback\.zmq"):
        folders.check_publish("tcp://300.0.0.1:0", "feedback.zmq")


@pytest.mark.parametrize(
    ("feedback", "said"),
    [
        ("feedback = { }", "goes nowhere"),
        ('feedback = { ring = "../hits" }', "feedback.ring"),
        ('feedback = { zmq = "ipc:///tmp/x" }', "feedback.zmq"),
        ('feedback = { ring = "a", images = 1 }', "feedback.images"),
    ],
)
def test_what_cannot_be_published_is_said_before_the_run(tmp_path: Path, feedback: str, said: str) -> None:
    path = tmp_path / "run.toml"
    path.write_text(RUN.format(frames=1, output=".", feedback=feedback, link="", faults="", stack=1))
    with pytest.raises(RunFileError, match=said):
        load_plan(path)


def test_two_buffers_do_not_share_a_ring_or_a_port(tmp_path: Path) -> None:
    text = RUN.format(
        frames=1,
        output=".",
        feedback='feedback = { ring = "a", zmq = "tcp://127.0.0.1:4000" }',
        link="",
        faults="",
        stack=1,
    )
    other = '[[buffer]]\nname = "two"\nslots = 20\nsink = [{ kind = "null" }]\n'
    path = tmp_path / "run.toml"
    path.write_text(text + other + 'feedback = { ring = "a", zmq = "tcp://127.0.0.1:4000" }\n')
    with pytest.raises(
        RunFileError, match=r"(?s)buffer full publishes at a, too.*publishes at tcp://127\.0\.0\.1:4000"
    ):
        load_plan(path)
    path.write_text(text + other + 'feedback = { ring = "b", zmq = "tcp://127.0.0.1:0" }\n')
    load_plan(path)
