# SPDX-License-Identifier: Apache-2.0
"""The page of the protocol is true: its packets are right, nodes accept its telegrams, and the two senders written from it work."""

import json
import os
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa.control.telegrams.telegram_xml import decode as decode_telegram
from rashpa.data.stored.reader import open_run
from rashpa.data.wire.packet import decode
from rashpa.testing.warm_nodes import WarmNodes

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "reference" / "protocol.md").read_text(encoding="utf-8")
SENDERS = ROOT / "examples" / "sender"


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)


def packets() -> list[bytes]:
    return [bytes.fromhex(text) for text in blocks("text") if re.fullmatch(r"[0-9a-f]+\n", text)]


def on_the_wire(packet: bytes) -> bytes:
    """Return the packet with its IP header, identification 0, from 127.0.0.1 port 49152 to port 4791."""
    own = bytes((127, 0, 0, 1))
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 28 + len(packet), 0, 0x4000, 64, 17, 0, own, own)
    return head + struct.pack(">HHHH", 49152, 4791, 8 + len(packet), 0) + packet


def test_packets_of_the_page_are_right_by_our_codec() -> None:
    line, record = (decode(on_the_wire(packet), "ip") for packet in packets()[:2])
    assert (line["icrc"]["verdict"], record["icrc"]["verdict"]) == ("ok", "ok")
    assert line["reth"]["virtual_address"] == 4096
    assert record["frame_record"]["run"] == 7
    assert record["frame_record"]["lines"] == 1
    assert crc32c(packets()[1][32:156]) == int.from_bytes(packets()[1][156:160], "little")
    assert record["frame_record"]["payload_crc32c"] == crc32c(bytes(range(16)))


def test_credits_of_the_page_grant_sixteen_images() -> None:
    credit = packets()[2]
    assert credit[0] == 0x2A
    assert int.from_bytes(credit[5:8], "big") == 77
    assert int.from_bytes(credit[20:24], "big") == 72
    assert (int.from_bytes(credit[28:36], "little"), len(credit)) == (16, 44)


def test_telegrams_of_the_page_are_telegrams() -> None:
    found = [type(decode_telegram(text.encode())).__name__ for text in blocks("xml")]
    assert found == ["Configure", "Configure", "Configured", "Arm", "Stop"]


def test_each_counter_of_the_page_is_counted_by_the_link() -> None:
    headers = "".join(path.read_text() for path in (ROOT / "src" / "rashpa" / "link").rglob("*counters.hpp"))
    table = PAGE.partition("## Faults and their signs")[2]
    names = re.findall(r"^\| `([a-z_]+)` \|", table, re.MULTILINE)
    assert len(names) == 10
    assert [name for name in names if f'"{name}"' not in headers] == []


@pytest.fixture(scope="module")
def receiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    folder = tmp_path_factory.mktemp("protocol")
    with WarmNodes(folder) as nodes:
        yield nodes.url("receiver"), folder


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def carried_out(words: list[str]) -> Any:
    environment = {key: value for key, value in os.environ.items() if key != "RASHPA_TOKEN"}
    return subprocess.run(words, capture_output=True, text=True, timeout=120, env=environment)


def test_the_sender_in_python_sends_what_the_file_then_holds(receiver: tuple[str, Path]) -> None:
    url, folder = receiver
    done = carried_out([sys.executable, str(SENDERS / "sender.py"), url, "20", str(folder / "mine")])
    assert done.returncode == 0, done.stderr
    books = json.loads(done.stdout.replace("'", '"'))
    assert books == {
        "expected": "20", "complete": "20", "partial": "0", "missing": "0", "accepted": "20", "vetoed": "0", "errored": "0", "written": "20"
    }  # fmt: skip
    with open_run(folder / "mine_master.h5") as run:
        assert run.frame_numbers.tolist() == list(range(20))
        for frame in range(20):
            expected = (np.arange(128 * 256) + frame & 0x3FFF).reshape(128, 256)
            np.testing.assert_array_equal(run.image(frame), expected)


def test_the_sender_in_c_is_received_whole(receiver: tuple[str, Path], tmp_path: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler, "a compiler is part of the tests' packages"
    program = tmp_path / "sender"
    subprocess.run(
        [compiler, "-O2", "-Wall", "-Wextra", "-Werror", "-o", str(program), str(SENDERS / "sender.c")], check=True
    )
    done = carried_out([str(program), receiver[0].rpartition(":")[2], "20"])
    assert (done.returncode, done.stdout) == (0, "complete 20 of 20\n"), done.stderr


def test_senders_stay_as_short_as_the_page_says() -> None:
    lines = {name: len((SENDERS / name).read_text().splitlines()) for name in ("sender.py", "sender.c")}
    assert {name: count for name, count in lines.items() if count > 150} == {}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('images="{count}">', 'images="{count}" pixel="uint12">', "uint12"),
        ('images="{count}">', 'images="{count}" slots="0">', "slots"),
        ("<Destination>", '<Destination peer_link="rice">', "rice"),
        ('images="{count}">', 'images="0" slots="1">', "Buffer.images"),
        ('images="{count}">', 'images="0" slots="1">', "Buffer.slots"),
    ],
)
def test_a_refusal_names_the_attribute_and_the_sender_ends(
    receiver: tuple[str, Path], tmp_path: Path, old: str, new: str, said: str
) -> None:
    text = (SENDERS / "sender.py").read_text()
    assert old in text
    (tmp_path / "wrong.py").write_text(text.replace(old, new))
    done = carried_out([sys.executable, str(tmp_path / "wrong.py"), receiver[0], "3"])
    assert done.returncode == 1
    assert done.stderr.startswith("Configure: ")
    assert said in done.stderr
