# SPDX-License-Identifier: Apache-2.0
"""Tests a run with a card in a network: its directory and the MAC addresses of the card and its neighbours come from the run file, and are in every
frame on the wire."""

import json
import re
import selectors
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from rashpa.control.nodes.native_program import native_program

PROGRAM = native_program("rashpa_card")
pytestmark = pytest.mark.skipif(
    PROGRAM is None, reason="no simulated card: Verilator was not there when rashpa was built"
)

CARD, ROUTER = "02:00:00:00:00:01", "0c:42:a1:00:00:07"
HERE, THERE = "127.0.0.9", "127.0.0.1"
FRAMES, LINES, DTPS = 12, 32, 2
_ADDRESSES, _UDP = 26, 34  # of a frame with IPv4
_IP_MTU_DISCOVER: Final = getattr(socket, "IP_MTU_DISCOVER", 10)
_IP_PMTUDISC_DO: Final = getattr(socket, "IP_PMTUDISC_DO", 2)

RUN = f"""
[run]
name = "network"
frames = {FRAMES}
output = "out"
[detector]
name = "small"
width = 128
height = 64
pixel = "uint16"
[dataset]
kind = "pattern"
frames = 4
width = 128
height = 64
[link]
flow = "paced"              # the wire below carries nothing back
[receiver]
port = 0
[[emulator]]
name = "detector"
engine = "fpga"
card = "card"
address = "{HERE}"
KEYS
[[buffer]]
name = "all"
region = [32, 16, 64, {LINES}]
bands = {DTPS}
slots = {FRAMES}
stack = 1
deadline_ms = 60000
[[buffer.sink]]
kind = "hdf5"
"""
MACS = f'card_mac = "{CARD}"\nneighbours = {{ "{THERE}" = "{ROUTER}" }}\n'


class Wire:
    """Represents the other end of the card's wire: counts frames by MAC addresses and EtherType, and forwards their UDP payload to its destination."""

    def __init__(self, path: Path) -> None:
        self.seen: Counter[tuple[str, str, int]] = Counter()
        self.ports: set[int] = set()
        self._sockets: dict[tuple[str, int], socket.socket] = {}
        self._wire = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._wire.bind(str(path))
        self._ends, self._end = socket.socketpair()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def close(self) -> None:
        self._end.close()
        self._thread.join()
        for one in (self._wire, self._ends, *self._sockets.values()):
            one.close()

    def _run(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._wire, selectors.EVENT_READ)
            selector.register(self._ends, selectors.EVENT_READ)
            while all(key.fileobj is self._wire for key, _ in selector.select()):
                self._carry(self._wire.recv(65536))

    def _carry(self, frame: bytes) -> None:
        self.seen[frame[6:12].hex(":"), frame[:6].hex(":"), int.from_bytes(frame[12:14])] += 1
        source, destination = (socket.inet_ntoa(frame[at : at + 4]) for at in (_ADDRESSES, _ADDRESSES + 4))
        from_port, to_port = (int.from_bytes(frame[at : at + 2]) for at in (_UDP, _UDP + 2))
        self.ports.add(from_port)
        end = self._sockets.get((source, from_port))
        if end is None:
            end = self._sockets[source, from_port] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            end.setsockopt(socket.IPPROTO_IP, _IP_MTU_DISCOVER, _IP_PMTUDISC_DO)  # identification 0, as in the frame
            end.bind((source, from_port))
        length = int.from_bytes(frame[_UDP + 4 : _UDP + 6])
        end.sendto(frame[_UDP + 8 : _UDP + length], (destination, to_port))


@contextmanager
def card_and_wire(folder: Path) -> Iterator[Wire]:
    """Run a card in `folder`/card, which reports that it is simulated, during the context; yield its wire."""
    assert PROGRAM is not None
    wire = Wire(folder / "wire")
    try:
        with subprocess.Popen(
            [PROGRAM, folder / "card", "--memory", "1M", "--network", f"unix:{folder}/mac,{folder}/wire"],
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                assert process.stdout is not None
                assert process.stdout.readline().startswith("ready")
                yield wire
            finally:
                process.terminate()
    finally:
        wire.close()


def run(folder: Path, keys: str) -> subprocess.CompletedProcess[str]:
    file = folder / "network.toml"
    file.write_text(RUN.replace("KEYS\n", keys), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "rashpa.cli.entry",
        "run",
        str(file),
        "--output",
        str(folder / "report"),
        "--no-page",
    ]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=400)


def test_every_frame_has_the_mac_addresses_of_the_run_file(tmp_path: Path) -> None:
    with card_and_wire(tmp_path) as wire:
        done = run(tmp_path, MACS)
        assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / "report" / "report.json").read_text())
    assert report["books"]["complete"] == FRAMES
    packets = FRAMES * (LINES + DTPS)
    assert report["emulators"][0]["card"]["packets"] == packets
    assert wire.seen == {(CARD, ROUTER, 0x0800): packets}
    assert all(port >= 0xC000 for port in wire.ports), "those that RoCEv2 sends from"


@pytest.mark.parametrize(
    ("keys", "lacking"),
    [(f'card_mac = "{CARD}"\n', "neighbours"), (f'neighbours = {{ "{THERE}" = "{ROUTER}" }}\n', "card_mac")],
)
def test_a_card_that_is_given_half_of_them_is_refused_in_words(tmp_path: Path, keys: str, lacking: str) -> None:
    with card_and_wire(tmp_path) as wire:
        done = run(tmp_path, keys)
    assert done.returncode != 0
    said = re.sub(r"\s+", " ", done.stdout + done.stderr)
    assert "DTP " in said
    assert lacking in said
    assert not wire.seen
