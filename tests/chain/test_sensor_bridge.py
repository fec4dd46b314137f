# SPDX-License-Identifier: Apache-2.0
"""Tests an independent sensor bridge that writes like Holoscan Sensor Bridge: packets of 1408 bytes, its own metadata as event, no records, no
credits."""

import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

import rashpa
from rashpa.data.wire.packet import Flow, decode, encode
from rashpa.testing.run_file import run_file
from rashpa.testing.typed_run import good_run

FRAMES = 12
SENDER = """
import json, os, socket, struct, time
import numpy as np
from rashpa.data.wire.packet import encode
place, = json.loads(os.environ["RASHPA_ENDPOINTS"])
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
out.setsockopt(socket.IPPROTO_IP, 10, 2)
out.bind(("127.0.0.1", 0))
psn = 7
def write(address, payload, immediate=None):
    global psn
    packet = {
        "ipv4": {"source": "127.0.0.1", "destination": place["address"]},
        "udp": {"source_port": out.getsockname()[1], "destination_port": place["port"]},
        "bth": {"opcode": 0x2A if immediate is None else 0x2B, "migration_request": 1, "partition_key": 0xFFFF, "destination_qp": place["qpn"], "psn": psn},
        "reth": {"virtual_address": address, "remote_key": place["rkey"], "dma_length": len(payload)},
        "payload": payload.hex(),
    }
    if immediate is not None:
        packet["immdt"] = {"immediate_data": immediate}
    out.sendto(encode(packet)[28:], (place["address"], place["port"]))
    psn = (psn + 1) % (1 << 24)
for frame in range(FRAMES):
    pixels = ((np.arange(8 * 1024) + frame) % 50000).astype("<u2").tobytes()
    slot = place["pixels_offset"] + frame % place["slots"] * place["slot_bytes"] + place["first_line_offset"]
    for at in range(0, len(pixels), 1408):
        if (frame, at) != (5, 1408):  # the network loses one
            write(slot + at, pixels[at : at + 1408])
    metadata = struct.pack(">IIIQIQHHQI", 0, psn, 0, 1_700_000_000, frame * 1000, len(pixels), 0, frame, 1_700_000_000, frame * 1000)
    write(place["records_offset"] + frame % place["slots"] * 128, metadata.ljust(128, b"\\0"), frame)
    time.sleep(0.02)  # wait: a bridge has its rate
"""


def run_text(frames: int, start: list[str]) -> str:
    return run_file(
        run={"name": "bridge", "frames": frames, "output": "."},
        detector={
            "width": 1024,
            "height": 8,
            "rate_hz": 50.0,
            "control": {"kind": "command", "address": "127.0.0.1", "start": start, "silence_s": 2.0},
        },
        link={"kind": "roce", "flow": "paced", "roce": {"records": False}},
        buffer={"name": "whole", "slots": 8, "stack": 2, "deadline_ms": 1000, "sink": [{"kind": "hdf5"}]},
        dataset=None,
    )


def test_its_frames_are_stored_and_a_lost_packet_is_a_partial_image(tmp_path: Path) -> None:
    (tmp_path / "send.py").write_text(f"FRAMES = {FRAMES}\n{SENDER}", encoding="utf-8")
    _, report = good_run(run_text(frames=FRAMES, start=[sys.executable, "send.py"]), tmp_path)
    books = report["buffers"][0]["books"]
    assert (books["complete"], books["partial"], books["missing"]) == (FRAMES - 1, 1, 0)
    with rashpa.open(tmp_path / "bridge_whole_master.h5") as run:
        for frame in range(FRAMES):
            if frame == 5:
                continue
            expected = ((np.arange(8 * 1024) + frame) % 50000).reshape(8, 1024)
            np.testing.assert_array_equal(run.image(frame), expected)


def test_its_metadata_event_is_decoded() -> None:
    metadata = (
        (3).to_bytes(4, "big") + (99).to_bytes(4, "big") + (0xCAFE).to_bytes(4, "big") + (1_700_000_000).to_bytes(8, "big")
        + (5).to_bytes(4, "big") + (16384).to_bytes(8, "big") + bytes(2) + (12).to_bytes(2, "big") + (1_700_000_001).to_bytes(8, "big") + (6).to_bytes(4, "big")
    )  # fmt: skip
    packet = {
        "ipv4": {"source": "10.0.0.1", "destination": "10.0.0.2"},
        "udp": {"source_port": 12288, "destination_port": 4791},
        "bth": {"opcode": 0x2B, "partition_key": 0xFFFF, "destination_qp": 17, "psn": 5},
        "reth": {"virtual_address": 4096, "remote_key": 1, "dma_length": 128},
        "immdt": {"immediate_data": 12},
        "payload": metadata.ljust(128, b"\0").hex(),
    }
    bytes_ = encode(packet)
    right = {
        "flags": 3, "psn": 99, "crc": 0xCAFE, "timestamp_s": 1_700_000_000, "timestamp_ns": 5, "bytes_written": 16384, "frame_number": 12,
        "metadata_s": 1_700_000_001, "metadata_ns": 6,
    }  # fmt: skip
    assert decode(bytes_, "ip")["hsb_metadata"] == right
    assert decode(bytes_[28:], "udp_payload", Flow("10.0.0.1", "10.0.0.2", 12288))["hsb_metadata"] == right
    assert encode(decode(bytes_, "ip")) == bytes_
    other = encode(packet | {"payload": b"\xff".hex() * 128})
    assert "hsb_metadata" not in decode(other, "ip")
