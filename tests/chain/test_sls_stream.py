# SPDX-License-Identifier: Apache-2.0
"""Tests a detector of four ports with publishing slsReceivers (rx_zmqstream), with faults and with a dead port, run as a user runs it. The sender
shares no code with rashpa."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import rashpa
from rashpa.testing.free_ports import free_ports
from rashpa.testing.run_file import run_file
from rashpa.testing.typed_run import typed_run

ROWS, COLUMNS, FRAMES = 32, 64, 12
PLACES = [(0, 0), (0, ROWS), (COLUMNS, 0), (COLUMNS, ROWS)]
"""The corners of the modules, as slsDetectorPackage counts them: down the first column, then the second one."""

SENDER = '''
"""Four ports of an slsReceiver; the words of the header are those of slsDetectorPackage 8."""
import json, sys, time
import numpy as np, zmq

first, what = int(sys.argv[1]), sys.argv[2]
rows, columns, frames = 32, 64, 12
context = zmq.Context()
sockets = []
for port in range(4):
    socket = context.socket(zmq.XPUB)
    socket.linger = 20000
    socket.sndhwm = 0
    socket.bind(f"tcp://127.0.0.1:{first + port}")
    sockets.append(socket)
for socket in sockets:
    socket.recv()  # somebody has subscribed

def image_of(frame, port):
    return np.random.default_rng(1000 * port + frame).poisson(3, (rows, columns)).astype(np.uint16)

def header(**words):
    said = {
        "jsonversion": 5, "bitmode": 16, "fileIndex": 6, "detshape": [2, 2], "shape": [columns, rows], "size": 2 * rows * columns,
        "acqIndex": 0, "frameIndex": 0, "progress": 0.5, "fname": "run", "data": 1, "completeImage": 1, "frameNumber": 0, "expLength": 20,
        "packetNumber": 8, "detSpec1": 0, "timestamp": 123456, "modId": 0, "row": 0, "column": 0, "detSpec2": 0, "detSpec3": 0, "detSpec4": 0,
        "detType": 3, "version": 2, "flipRows": 0, "quad": 0, "addJsonHeader": {"sample": "7"}, "rx_roi": [-1, -1, -1, -1],
    }
    return (json.dumps(said | words) + "\\n").encode()

def send(frame, port, pixels=None, **words):
    image = image_of(frame, port) if pixels is None else pixels
    if port == 2:  # as the lower halves of an EIGER
        image, words = image[::-1], words | {"flipRows": 1}
    place = {"row": port % 2, "column": port // 2, "modId": port}
    number = {"frameNumber": 5000 + frame, "frameIndex": frame, "acqIndex": frame}
    sockets[port].send_multipart([header(**{**place, **number, "size": image.nbytes, **words}), image.tobytes()])

def end(port):
    zeros = {"fileIndex": 0, "shape": [0, 0], "detshape": [0, 0], "size": 0, "completeImage": 0}
    sockets[port].send(header(data=0, **zeros))

faults = what == "faults"
if what == "dead before":
    end(3)
    time.sleep(1)  # wait: the end has to be there before the first image
for port in range(4):
    if port == 3 and what in ("dead before", "mute"):
        continue
    if what == "dead" and port == 3:
        end(port)  # its receiver has got nothing
        continue
    if faults:
        end(port)  # of an acquisition before
    order = list(range(frames))
    if faults and port == 0:
        order[4:6] = [5, 4]
    for frame in order:
        if faults and (port, frame) == (1, 2):
            continue  # lost
        if faults and (port, frame) == (1, 5):
            sockets[1].send_multipart([b'{"jsonversion":5,"data":1,"bitmode":', bytes(4096)])
            sockets[1].send(b"")
            sockets[1].send(b"[" * 5000)
        if faults and (port, frame) == (0, 8):
            send(frame, port, fileIndex=99)
        if faults and (port, frame) == (3, 6):
            send(frame, port, image_of(frame, port).astype(np.uint32), bitmode=32)
            continue
        send(frame, port, completeImage=int(not (faults and (port, frame) == (0, 7))))
        if faults and (port, frame) == (2, 3):
            send(frame, port)
    end(port)
'''


def ran(folder: Path, what: str) -> tuple[int, str, dict[str, Any]]:
    pytest.importorskip("zmq")
    (folder / "send.py").write_text(SENDER, encoding="utf-8")
    port = free_ports(4)
    text = run_file(
        run={"name": "sls", "frames": FRAMES, "output": ".", "existing": "replace"},
        detector={
            "width": COLUMNS,
            "height": ROWS,
            "pixel": "uint16",
            "control": {"kind": "command", "start": [sys.executable, "send.py", str(port), what], "silence_s": 8.0},
            "module": [{"x": x, "y": y} for x, y in PLACES],
        },
        link={
            "kind": "stream2",
            "stream2": {
                "dialect": "sls",
                "address": f"tcp://127.0.0.1:{port}",
                "connections": 4,
                "first_frame": 5000,
            },
        },
        buffer={
            "name": "all",
            "slots": 16,
            "stack": 2,
            "deadline_ms": 60_000,
            "kernel": [{"name": "total_counts"}],
            "sink": [{"kind": "hdf5"}],
        },
        dataset=None,
        receiver=None,
    )
    return typed_run(text, folder)


def made_of(frame: int) -> NDArray[np.uint16]:
    image = np.zeros((2 * ROWS, 2 * COLUMNS), np.uint16)
    for port, (x, y) in enumerate(PLACES):
        pixels = np.random.default_rng(1000 * port + frame).poisson(3, (ROWS, COLUMNS))
        image[y : y + ROWS, x : x + COLUMNS] = pixels.astype(np.uint16)
    return image


def check(folder: Path, lost: dict[int, set[int]]) -> None:
    """Compare all images of the file with those that were sent. `lost`: modules, by frame."""
    series = rashpa.open(folder / "sls_all_master.h5")
    np.testing.assert_array_equal(series.tables.frame_number, np.arange(FRAMES))
    for frame in range(FRAMES):
        mask = np.zeros((2 * ROWS, 2 * COLUMNS), bool)
        for module in lost.get(frame, ()):
            x, y = PLACES[module]
            mask[y : y + ROWS, x : x + COLUMNS] = True
        np.testing.assert_array_equal(series.lost_mask(frame), mask, err_msg=str(frame))
        image = np.asarray(series.image(frame))
        assert np.array_equal(image[~mask], made_of(frame)[~mask]), frame


def test_each_fault_costs_the_module_that_it_hits_and_is_counted(tmp_path: Path) -> None:
    code, output, report = ran(tmp_path, "faults")
    books, counts = report["buffers"][0]["books"], report["link"]
    assert (books["complete"], books["partial"], books["missing"]) == (9, 3, 0), output
    assert code == 0, output  # this host has lost nothing
    assert (counts["malformed"], counts["wrong_shape"], counts["partial_before"]) == (3, 1, 1)
    assert counts["dead_ports"] == 0
    assert counts["duplicate_packets"] + counts["late_packets"] == counts["other_series"] == 1
    check(tmp_path, {2: {1}, 6: {3}, 7: {0}})
    numbers = rashpa.open(tmp_path / "sls_all_master.h5").tables.counted("detector_frame")
    np.testing.assert_array_equal(numbers, 5000 + np.arange(FRAMES))


@pytest.mark.parametrize("what", ["dead", "dead before", "mute"])
def test_a_port_without_images_costs_its_module_alone_and_is_in_the_books(tmp_path: Path, what: str) -> None:
    code, output, report = ran(tmp_path, what)
    books = report["buffers"][0]["books"]
    assert report["link"]["dead_ports"] == 1
    assert (books["complete"], books["partial"], books["missing"]) == (0, FRAMES, 0), output
    assert code == 0, output  # this host has lost nothing
    check(tmp_path, {frame: {3} for frame in range(FRAMES)})
