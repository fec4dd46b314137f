# SPDX-License-Identifier: Apache-2.0
"""Whole acquisitions with streams: other programs get the same images as the file has."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin
import numpy as np
import pytest

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

import rashpa
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.control.telegrams.telegram import BufferStatus, SinkStatus
from rashpa.data.stored.reader import Run
from rashpa.node.engine.native_engine import NativeFactory
from rashpa.node.offline.receive_stream import StreamFiles, receive
from rashpa.node.state.node import Node
from rashpa.testing.free_ports import free_ports
from rashpa.testing.in_process import run_in_process
from rashpa.testing.waiting import GUARD_S, eventually

pytestmark = pytest.mark.whole

cbor2 = pytest.importorskip("cbor2")
zmq = pytest.importorskip("zmq")

FRAMES = 60
RUN = """\
[run]
name = "sent"
number = 7
frames = {frames}
output = "{output}"
[detector]
width = 1024
height = 512
count_time_s = 0.0001
[dataset]
kind = "jungfrau"
modules = 1
frames = 20
hit_fraction = 0.5
[link]
kind = "pcie"
[[buffer]]
name = "full"
slots = 20
stack = {stack}
deadline_ms = 1000
sink = [{sinks}]
[[buffer.kernel]]
name = "jungfrau"
[[buffer.kernel]]
name = "bragg_count"
threshold = 6
min_pixels = 20
"""


def stream(port: int, consumers: int = 1, more: str = "") -> str:
    return (
        f'{{ kind = "stream2", endpoint = "tcp://127.0.0.1:{port}", consumers = {consumers}, wait_s = 3, '
        f"waiting = 1024{more} }}"
    )


HDF5 = '{ kind = "hdf5" }'


def run(tmp_path: Path, sinks: str, frames: int = FRAMES, stack: int = 1) -> BufferStatus:
    path = tmp_path / "run.toml"
    path.write_text(RUN.format(frames=frames, output=tmp_path / "out", sinks=sinks, stack=stack))
    nodes = {role: Node(role, role, NativeFactory(role)) for role in ("emulator", "receiver")}
    outcome = run_in_process(load_plan(path), nodes)
    assert outcome.good, outcome.problem
    return outcome.buffers[0]


def sink_of(buffer: BufferStatus) -> SinkStatus:
    return next(sink for sink in buffer.sinks if sink.name == "stream2")


def check_same(masters: Sequence[str], stored: Run, firsts: Sequence[int]) -> None:
    """Compare the images of each file with those of the receiver's, from a first one on."""
    got = [rashpa.open(master) for master in masters]
    assert [len(one) for one in got] == [len(stored) - first for first in firsts]
    for place in range(len(stored)):
        image = stored.image(place)
        for one, first in zip(got, firsts, strict=True):
            if place >= first:
                np.testing.assert_array_equal(one.image(place - first), image)


class Reader(threading.Thread):
    """A client by the vendor's description: PULL, cbor2 with a hook for tags, and a decompressor that shares no code with the sender's."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self.messages: list[dict[str, Any]] = []
        self._port = port
        self.start()

    def run(self) -> None:
        with zmq.Context() as context, context.socket(zmq.PULL) as socket:
            socket.linger, socket.rcvtimeo, socket.reconnect_ivl = 0, 60_000, 10
            socket.connect(f"tcp://127.0.0.1:{self._port}")
            while not self.messages or self.messages[-1]["type"] != "end":
                self.messages.append(cbor2.loads(socket.recv(), tag_hook=hook))

    def all(self) -> list[dict[str, Any]]:
        self.join(timeout=GUARD_S)
        assert not self.is_alive()
        return self.messages


def decompressed(chunk: bytes, element_bytes: int) -> bytes:
    """Decompress a chunk in the form of the HDF5 filter."""
    count = int.from_bytes(chunk[:8], "big") // element_bytes
    with h5py.File("chunk", "w", driver="core", backing_store=False) as file:
        kind = hdf5plugin.Bitshuffle(cname="lz4")
        made = file.create_dataset("a", shape=count, dtype=f"u{element_bytes}", chunks=(count,), compression=kind)
        made.id.write_direct_chunk((0,), chunk)
        plain: bytes = made[()].tobytes()
        return plain


def hook(*given: Any) -> Any:
    """Decode a tag, which is the second argument up to cbor2 5, and the first one since."""
    tag = next(one for one in given if isinstance(one, cbor2.CBORTag))
    if tag.tag == 56500:
        algorithm, element, packed = tag.value
        assert algorithm == "bslz4"
        return decompressed(packed, element)
    if tag.tag == 40:
        (rows, columns), values = tag.value
        return values.reshape(rows, columns)
    dtype = {64: "u1", 69: "<u2", 70: "<u4", 77: "<i2", 78: "<i4", 85: "<f4"}.get(tag.tag)
    return tag if dtype is None else np.frombuffer(tag.value, dtype)


class Receiver(threading.Thread):
    """Runs `rashpa receive-stream` without its command line."""

    def __init__(self, port: int, prefix: Path, pattern: str = "push") -> None:
        super().__init__(daemon=True)
        self.files = StreamFiles(prefix)
        self._port, self._pattern = port, pattern
        self.start()

    def run(self) -> None:
        receive(f"tcp://127.0.0.1:{self._port}", self.files, pattern=self._pattern, timeout_s=60)

    def wait(self) -> StreamFiles:
        self.join(timeout=GUARD_S)
        assert not self.is_alive()
        return self.files


@pytest.mark.parametrize("stack", [1, 5])
def test_every_consumer_gets_the_pixels_of_the_file(tmp_path: Path, stack: int) -> None:
    port = free_ports(4)
    receiver, reader = Receiver(port, tmp_path / "got"), Reader(port + 1)
    buffer = run(tmp_path, f"{HDF5}, {stream(port, 2)}", stack=stack)
    files, messages = receiver.wait(), reader.all()

    stored = rashpa.open(tmp_path / "out" / "sent_full_master.h5")
    (received,) = files.done
    assert received.whole, received
    assert received.images == buffer.books.accepted == len(stored) > 10
    got = rashpa.open(received.files[0])
    check_same([received.files[0]], stored, [0])
    accepted = stored.tables.decision == 1
    np.testing.assert_array_equal(got.tables.frame_number, stored.tables.frame_number[accepted])
    np.testing.assert_array_equal(got.tables.timestamp_ns, stored.tables.timestamp_ns[accepted])

    assert [message["type"] for message in messages] == ["start", *["image"] * received.images, "end"]
    for place, message in enumerate(messages[1:-1]):
        assert message["image_id"] == place
        np.testing.assert_array_equal(message["data"]["threshold_1"], stored.image(place))
        assert message["user_data"]["frame_number"] == stored.tables.frame_number[accepted][place]
        assert message["user_data"]["completeness"] == "complete"
        assert (
            message["user_data"]["values"]["bright_pixels"] == stored.tables.counted("bright_pixels")[accepted][place]
        )
    told = sink_of(buffer)
    assert (told.written, told.dropped, told.errored) == (buffer.books.accepted, 0, 0)
    assert [(one.sent, one.missed) for one in told.consumers] == [(received.images, 0)] * 2


def test_the_start_says_what_the_run_knows_and_nothing_else(tmp_path: Path) -> None:
    port = free_ports(4)
    reader = Reader(port)
    buffer = run(tmp_path, stream(port), frames=20)
    start, *_, end = reader.all()
    assert start["series_id"] == 7
    assert start["channels"] == ["threshold_1"]
    assert (start["image_size_x"], start["image_size_y"], start["image_dtype"]) == (1024, 512, "int16")
    assert start["number_of_images"] == 20
    assert start["pixel_mask"]["threshold_1"].shape == (512, 1024)
    assert start["count_time"] == 0.0001
    assert start["incident_energy"] == pytest.approx(12398.419843320026 / start["incident_wavelength"])
    assert start["detector_translation"][2] > 0
    assert start["saturation_value"] == 32766
    assert start["arm_date"].tzinfo is not None
    assert start["user_data"]["buffer"] == "full"
    for unknown in ("detector_serial_number", "goniometer", "threshold_energy", "flatfield"):
        assert unknown not in start
    assert end["series_unique_id"] == start["series_unique_id"]
    assert end["user_data"]["images"] == buffer.books.accepted
    assert end["user_data"]["vetoed"] == buffer.books.vetoed
    assert end["user_data"]["whole_run"] is True


def test_of_pub_any_number_of_clients_get_all_from_one_port(tmp_path: Path) -> None:
    port = free_ports(4)
    receivers = [Receiver(port, tmp_path / f"got{n}", "pub") for n in range(3)]
    buffer = run(tmp_path, f"{HDF5}, {stream(port, more=', pattern = ' + chr(34) + 'pub' + chr(34))}")
    stored = rashpa.open(tmp_path / "out" / "sent_full_master.h5")
    done = [one for receiver in receivers for one in receiver.wait().done]
    assert len(done) == 3
    for received in done:
        # one of them may come later than the run's begin: then it lacks the first ones, and says so
        assert received.started
        assert received.ended
        assert received.images + received.missed == buffer.books.accepted
    check_same([one.files[0] for one in done], stored, [one.missed for one in done])


def test_where_nobody_listens_images_are_dropped_and_the_file_has_them_all(tmp_path: Path) -> None:
    buffer = run(tmp_path, f'{HDF5}, {{ kind = "stream2", endpoint = "tcp://127.0.0.1:0", consumers = 2 }}')
    told = sink_of(buffer)
    assert (told.written, told.dropped) == (0, told.accepted)
    assert [one.missed for one in told.consumers] == [told.accepted] * 2
    assert buffer.books.written == buffer.books.accepted
    assert buffer.books.balanced


def test_one_stopped_consumer_of_four_costs_the_others_nothing(tmp_path: Path) -> None:
    port, frames = free_ports(4), 120
    command = [sys.executable, "-m", "rashpa.cli.entry", "receive-stream", "--timeout", "60"]
    clients = [
        subprocess.Popen(
            [*command, f"tcp://127.0.0.1:{port + n}", str(tmp_path / f"got{n}")], stdout=subprocess.PIPE, text=True
        )
        for n in range(4)
    ]
    stopped = clients[3]
    for client in clients:
        assert client.stdout is not None
        assert "waiting for images" in client.stdout.readline()
    connected = threading.Thread(target=stop_when_connected, args=(stopped, port + 3))
    connected.start()
    try:
        buffer = run(tmp_path, f"{HDF5}, {stream(port, 4)}", frames=frames)
        stored = rashpa.open(tmp_path / "out" / "sent_full_master.h5")
        for client in clients[:3]:
            out, _ = client.communicate(timeout=GUARD_S)
            assert client.returncode == 0, out
        check_same([str(tmp_path / f"got{n}_master.h5") for n in range(3)], stored, [0, 0, 0])
    finally:
        connected.join()
        stopped.kill()
        for client in clients:
            client.kill()
            client.communicate()
    told = sink_of(buffer)
    assert [one.missed for one in told.consumers[:3]] == [0, 0, 0]
    assert told.written == told.accepted


def stop_when_connected(process: "subprocess.Popen[str]", port: int) -> None:
    """Stop the process as soon as it has a connection to that port."""
    wanted = f":{port:04X}"

    def connected() -> bool:
        rows = Path("/proc/net/tcp").read_text().splitlines()[1:]
        return any(row.split()[2].endswith(wanted) and row.split()[3] == "01" for row in rows)

    eventually(connected, process=process, look_s=0.002)
    os.kill(process.pid, signal.SIGSTOP)


@pytest.mark.parametrize(
    ("sinks", "says"),
    [
        (f"{stream(40000)}, {stream(40000)}", "publishes at tcp://127.0.0.1:40000, too"),
        (f"{stream(40000, 3)}, {stream(40002)}", "publishes at tcp://127.0.0.1:40002, too"),
        (stream(65530, 10), "need ports up to 65539"),
        ('{ kind = "stream2", endpoint = "ipc:///tmp/x" }', "endpoint"),
    ],
)
def test_what_cannot_be_sent_is_refused_before_the_run(tmp_path: Path, sinks: str, says: str) -> None:
    path = tmp_path / "run.toml"
    path.write_text(RUN.format(frames=20, output=tmp_path / "out", sinks=sinks, stack=1))
    with pytest.raises(RunFileError, match=says):
        load_plan(path)


def test_lists_of_pixels_are_no_stream(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    text = RUN.format(frames=20, output=tmp_path / "out", sinks=stream(40000), stack=1)
    path.write_text(text + '[[buffer.kernel]]\nname = "csr"\nthreshold = 1\ncapacity = 1\n')
    with pytest.raises(RunFileError, match="stream2 sends whole images"):
        load_plan(path)


FAULTS = """
[faults]
seed = 4
drop = 0.002
"""


def test_what_receive_stream_writes_has_the_lost_lines_of_the_file(tmp_path: Path) -> None:
    port = free_ports(4)
    receiver = Receiver(port, tmp_path / "got")
    path = tmp_path / "run.toml"
    text = RUN.format(frames=FRAMES, output=tmp_path / "out", sinks=f"{HDF5}, {stream(port)}", stack=1) + FAULTS
    path.write_text(text.replace('[link]\nkind = "pcie"', "[receiver]\nport = 0"))
    nodes = {role: Node(role, role, NativeFactory(role)) for role in ("emulator", "receiver")}
    outcome = run_in_process(load_plan(path), nodes)
    assert not outcome.problem, outcome.problem
    (received,) = receiver.wait().done
    stored, got = rashpa.open(tmp_path / "out" / "sent_full_master.h5"), rashpa.open(received.files[0])
    check_same([received.files[0]], stored, [0])
    rows = np.flatnonzero(stored.tables.decision == 1)
    assert any(stored.lost_runs(row) for row in rows)
    for place, row in enumerate(rows):
        assert got.lost_runs(place) == stored.lost_runs(row)
        np.testing.assert_array_equal(got.lost_mask(place), stored.lost_mask(row))
        assert got.tables.completeness[place] == stored.tables.completeness[row]
