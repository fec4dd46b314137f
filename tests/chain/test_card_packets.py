# SPDX-License-Identifier: Apache-2.0
"""Checks the packets of the simulated hardware sender with `rashpa packet`: every field, and every byte of the images."""

import json
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from rashpa.cli.main import app
from rashpa.control.nodes.native_program import native_program
from rashpa.data.wire.packet import decode, encode
from rashpa.sim.pattern import pattern_frame
from rashpa.testing.waiting import GUARD_S

CARD, DRIVER = native_program("rashpa_card"), native_program("rashpa_vm_card")
pytestmark = pytest.mark.skipif(CARD is None or DRIVER is None, reason="no Verilator where this was built")

FRAMES, MODULES, WIDTH, HEIGHT, PMTU = 3, 2, 299, 5, 256
LINE, PITCH, SLOT, RUN = 2 * WIDTH, 2 * WIDTH + 10, 4096, 7
CUTS = (256, 256, 86)  # a line at the path MTU
QPS = (17, 18)
MACS = {"destination": "02:00:00:00:00:01", "source": "02:00:00:00:00:02"}


@dataclass(frozen=True)
class Way:
    """Holds the addresses of the card and of the destination."""

    ip: int
    here: str
    there: str


WAYS = [Way(4, "10.0.4.2", "10.0.4.1"), Way(6, "fd00:4::2", "fd00:4::1")]


@contextmanager
def card(folder: Path) -> Iterator[socket.socket]:
    """Run a simulated card with its nodes in `folder` during the context; yield the other end of its wire."""
    assert CARD is not None
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as wire,
        subprocess.Popen(
            [CARD, folder / "nodes", "--memory", "1M", "--network", f"unix:{folder}/card,{folder}/wire"],
            stdout=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        wire.bind(str(folder / "wire"))
        assert process.stdout is not None
        assert process.stdout.readline().startswith("ready")
        yield wire
        process.terminate()
        assert process.wait(GUARD_S) == 0


def sent_by(folder: Path, wire: socket.socket, way: Way, packetisation: str) -> list[bytes]:
    """Return all frames of a run without a receiver."""
    assert DRIVER is not None
    ends = [
        f"{way.there} 4791 {qp} {0xBEEF0000 + qp} 0 0 {0x10000 * i} {SLOT} 2 0 {PITCH} {LINE} {HEIGHT} {0x80000 + 0x1000 * i}\n"
        for i, qp in enumerate(QPS)
    ]
    for suffix in ("destination", "armed"):
        (folder / f"exchange.{suffix}").write_text(f"{MODULES}\n{''.join(ends)}")
    options = {
        "card": folder / "nodes",
        "exchange": folder / "exchange",
        "bind": way.here,
        "packetisation": packetisation,
    }
    options |= {"frames": FRAMES, "width": WIDTH, "height": HEIGHT, "pmtu": PMTU, "flow": "paced"}
    words = [str(word) for name, value in options.items() for word in (f"--{name}", value)]
    with subprocess.Popen([DRIVER, *words], stdout=subprocess.PIPE, text=True) as driver:
        wire.settimeout(20)
        frames = [wire.recv(65536) for _ in range(FRAMES * MODULES * (HEIGHT * len(CUTS) + 1))]
        said = json.loads(driver.communicate(timeout=GUARD_S)[0])
    assert said["packets"] == len(frames)
    wire.settimeout(0.1)
    with pytest.raises(TimeoutError):
        wire.recv(1)
    return frames


def expected_writes(dtp: int, packetisation: str) -> Iterator[tuple[str, dict[str, int] | None, int]]:
    """Yield opcode, RETH and bytes of each packet of a DTP, in order."""
    key = 0xBEEF0000 + QPS[dtp]
    for image in range(FRAMES):
        for line in range(HEIGHT):
            at = 0x10000 * dtp + SLOT * (image % 2) + PITCH * line
            for i, cut in enumerate(CUTS):
                if packetisation == "only":
                    reth = {"virtual_address": at + PMTU * i, "remote_key": key, "dma_length": cut}
                    yield "UC_RDMA_WRITE_ONLY", reth, cut
                else:
                    reth = {"virtual_address": at, "remote_key": key, "dma_length": LINE}
                    yield f"UC_RDMA_WRITE_{('FIRST', 'MIDDLE', 'LAST')[i]}", None if i else reth, cut
        record = {"virtual_address": 0x80000 + 0x1000 * dtp + 128 * (image % 2), "remote_key": key, "dma_length": 128}
        yield "UC_RDMA_WRITE_ONLY_WITH_IMMEDIATE", record, 128


def check_headers(packet: dict[str, Any], way: Way, dtp: int, number: int, payload: int) -> None:
    """Check the fields that are equal in every packet of a DTP."""
    pad = -payload % 4
    bth = packet["bth"]
    udp_bytes = 8 + 12 + (16 if "reth" in packet else 0) + (4 if "immdt" in packet else 0) + payload + pad + 4
    assert packet["ethernet"] == {**MACS, "ethertype": 0x0800 if way.ip == 4 else 0x86DD}
    assert packet["udp"] == {
        "source_port": 0xC000 + dtp,
        "destination_port": 4791,
        "length": udp_bytes,
        "checksum": 0,
    }
    if way.ip == 4:
        ip = packet["ipv4"]
        assert (ip["total_length"], ip["identification"], ip["flags"], ip["ttl"]) == (20 + udp_bytes, 0, 2, 64)
        assert (ip["version"], ip["ihl"], ip["tos"], ip["fragment_offset"], ip["protocol"]) == (4, 5, 0, 0, 17)
    else:
        ip = packet["ipv6"]
        assert (ip["payload_length"], ip["hop_limit"], ip["next_header"]) == (udp_bytes, 64, 17)
    assert (ip["source"], ip["destination"]) == (way.here, way.there)
    assert bth["psn"] == (0xFFFFF0 + dtp + number) % 2**24
    assert (bth["destination_qp"], bth["partition_key"], bth["pad_count"]) == (QPS[dtp], 0xFFFF, pad)
    zeros = (
        "solicited_event",
        "migration_request",
        "transport_version",
        "fecn",
        "becn",
        "reserved6",
        "ack_request",
        "reserved7",
    )
    assert not any(bth[name] for name in zeros)
    assert packet["pad"] == "00" * pad
    assert packet["icrc"]["verdict"] == "ok"


@pytest.mark.parametrize("packetisation", ["only", "first_middle_last"])
@pytest.mark.parametrize("way", WAYS, ids=["ipv4", "ipv6"])
def test_every_field_of_every_packet_is_what_it_should_be(tmp_path: Path, way: Way, packetisation: str) -> None:
    with card(tmp_path) as wire:
        frames = sent_by(tmp_path, wire, way, packetisation)
    packets = [decode(frame, "ethernet") for frame in frames]
    for frame, packet in zip(frames, packets, strict=True):
        assert encode(packet) == frame, "nothing of it is left out"
    for dtp, qp in enumerate(QPS):
        memory = bytearray(0x100000)
        own = [packet for packet in packets if packet["bth"]["destination_qp"] == qp]
        at = image = 0
        for number, (packet, (opcode, reth, payload)) in enumerate(
            zip(own, expected_writes(dtp, packetisation), strict=True)
        ):
            assert packet["bth"]["opcode_name"] == opcode
            assert packet.get("reth") == reth
            check_headers(packet, way, dtp, number, payload)
            at = at if reth is None else reth["virtual_address"]
            memory[at : at + payload] = bytes.fromhex(packet["payload"])
            at += payload
            assert ("immdt" in packet) == opcode.endswith("IMMEDIATE")
            if "immdt" in packet:
                check_image(packet, memory, dtp, image)
                image += 1


def check_image(event: dict[str, Any], memory: bytearray, dtp: int, image: int) -> None:
    """Check the event's record, and the image that the earlier writes have left in its slot."""
    assert event["immdt"]["immediate_data"] == dtp << 24 | image
    record = event["frame_record"]
    assert (record["dtp"], record["index"], record["frame_number"]) == (dtp, image, image)
    assert (record["slot"], record["lines"], record["payload_bytes"], record["run"]) == (
        image % 2,
        HEIGHT,
        HEIGHT * LINE,
        RUN,
    )
    assert record["flags"] == (4 if image == FRAMES - 1 else 0), "the last of the run"
    slot = np.frombuffer(memory, np.uint8, SLOT, 0x10000 * dtp + SLOT * (image % 2))
    lines = np.stack([slot[PITCH * line : PITCH * line + LINE].view(np.uint16) for line in range(HEIGHT)])
    np.testing.assert_array_equal(lines, pattern_frame("uint16", dtp, image, HEIGHT, WIDTH))


def test_the_command_reads_them(tmp_path: Path) -> None:
    with card(tmp_path) as wire:
        frame = sent_by(tmp_path, wire, WAYS[0], "only")[0]
    done = CliRunner().invoke(app, ["packet", "decode", frame.hex()])
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert said["layer"] == "ethernet"
    assert said["icrc"]["verdict"] == "ok"
