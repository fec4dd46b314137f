# SPDX-License-Identifier: Apache-2.0
"""Images of a judged sender are counted by their records, and each broken rule is named."""

import struct
from typing import Any

import pytest

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa import _native
from rashpa.control.telegrams.telegram import Placement
from rashpa.node.judge.judged_images import JudgedImages
from rashpa.node.judge.judged_packet import FIRST, LAST, ONLY, ONLY_IMMEDIATE, JudgedPacket
from rashpa.node.judge.rules import Verdicts

PLACE = Placement(
    pixels_offset=4096, slot_bytes=1024, slots=2, first_line_offset=0, pitch=256, line_bytes=128, lines=2, records_offset=65536
)  # fmt: skip
KEY, DTP, RUN = 99, 7, 3
LINES = [bytes([line + 1]) * 128 for line in range(2)]


class Bench:
    """Sends packets to the judge, with rising sequence numbers."""

    def __init__(self, *, credits_used: bool = False) -> None:
        self.verdicts = Verdicts()
        self.images = JudgedImages(DTP, PLACE, KEY, RUN, 1024, credits_used, self.verdicts)
        self.images.begin(1000)
        self.psn = 1000

    def send(self, opcode: int, address: int | None, payload: bytes, **more: Any) -> None:
        fields = {
            "key": KEY if address is not None else None,
            "length": len(payload),
            "immediate": None,
            "psn": self.psn,
        } | more
        self.psn = fields["psn"] + 1
        self.images.take(JudgedPacket(opcode=opcode, qpn=1, address=address, payload=payload, whole=payload, **fields))

    def lines(self, image: int) -> None:
        for number, line in enumerate(LINES):
            self.send(ONLY, PLACE.pixels_offset + image % 2 * 1024 + number * 256, line)

    def record(self, image: int, **wrong: int) -> None:
        said = {"magic": 0x41505352, "version": 1, "bytes": 128, "dtp": DTP, "flags": 0, "frame": image + 1, "time": 5, "index": image, "slot": image % 2, "lines": 2, "payload_bytes": 256, "crc": _native.crc32c(b"".join(LINES)), "run": RUN} | wrong  # fmt: skip
        body = struct.pack("<IHHIIQQQIIQII", *said.values()).ljust(124, b"\0")
        self.send(
            ONLY_IMMEDIATE,
            PLACE.records_offset + image % 2 * 128,
            body + struct.pack("<I", _native.crc32c(body)),
            immediate=DTP << 24 | image,
        )

    @property
    def faults(self) -> list[str]:
        return [f"{rule}: {fault}" for rule, one in self.verdicts.by_rule.items() for fault in one.faults]


def test_whole_images_are_done_and_grant_the_next_ones() -> None:
    bench = Bench()
    assert bench.images.granted == 2
    for image in range(3):
        bench.lines(image)
        bench.record(image)
    assert bench.faults == []
    assert (bench.images.done, bench.images.granted, bench.images.received) == (3, 5, 3 * (256 + 128))
    assert {rule: bench.verdicts.by_rule[rule].kept for rule in ("sequence", "lines", "checksum", "record")} == {
        "sequence": 9, "lines": 3, "checksum": 3, "record": 3,
    }  # fmt: skip


def test_a_message_in_several_packets_goes_on_behind_its_first() -> None:
    bench = Bench()
    bench.send(FIRST, 4096, LINES[0][:64], length=128)
    bench.send(LAST, None, LINES[0][64:], length=None)
    bench.send(ONLY, 4096 + 256, LINES[1])
    bench.record(0)
    assert bench.faults == []
    assert bench.images.done == 1


@pytest.mark.parametrize(
    ("address", "payload", "more", "says"),
    [
        (4096, bytes(128), {"psn": 1002}, "sequence: sequence number 1002; 1000 is next"),
        (4096, bytes(128), {"key": 98}, "key: key 98; 99"),
        (None, bytes(128), {}, "packet: a message goes on that has not begun"),
        (4095, bytes(64), {}, "bounds: 64 bytes at 4095 lie in no line"),
        (4096 + 64, bytes(128), {}, "bounds: 128 bytes at 4160 lie in no line: slot 0, line 0, byte 64 of 128"),
        (4096 + 512, bytes(64), {}, "bounds: 64 bytes at 4608 lie in no line: slot 0, line 2, byte 0 of 128"),
        (4096 + 2048, bytes(64), {}, "bounds: 64 bytes at 6144 lie in no line: slot 2"),
        (4096 + 4, bytes(64), {}, "alignment: bytes 4 … 68 of the payload; multiples of 64"),
    ],
)
def test_a_packet_that_breaks_a_rule_is_named(
    address: int | None, payload: bytes, more: dict[str, int], says: str
) -> None:
    bench = Bench()
    bench.send(ONLY if address is not None else LAST, address, payload, **more)
    assert len(bench.faults) == 1
    assert bench.faults[0].startswith(says)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"magic": 0}, "magic 0 in the record; 1095783250"),
        ({"dtp": 8}, "dtp 8 in the record; 7"),
        ({"index": 1}, "index 1 in the record; 0"),
        ({"payload_bytes": 255}, "payload_bytes 255 in the record; 256"),
        ({"run": 4}, "run 4 in the record; 3"),
        ({"flags": 0x10}, "flags 0x10; bits 0 … 3 and 8 … 11 alone"),
    ],
)
def test_a_wrong_record_is_named_and_ends_its_image(wrong: dict[str, int], says: str) -> None:
    bench = Bench()
    bench.lines(0)
    bench.record(0, **wrong)
    assert [fault.partition(": ")[2].rpartition(": ")[0] for fault in bench.faults] == [says]
    assert bench.images.done == 1


def test_lines_that_lack_and_lines_of_other_bytes_are_told_at_the_record() -> None:
    bench = Bench()
    bench.send(ONLY, 4096, LINES[0])
    bench.record(0)
    assert bench.faults[0].startswith("lines: image 0 lacks 128 bytes when its record comes")
    bench = Bench()
    bench.lines(0)
    bench.record(0, crc=1)
    assert bench.faults[0].startswith("checksum: the CRC32C of image 0 is 0x")


def test_numbers_of_frames_rise() -> None:
    bench = Bench()
    for image in range(2):
        bench.lines(image)
        bench.record(image, frame=5)
    assert bench.faults[0].startswith("record: frame 5 behind frame 5; numbers rise")


def test_an_image_that_is_not_granted_is_not_taken() -> None:
    bench = Bench(credits_used=True)
    bench.images.told = 1
    bench.lines(0)
    bench.record(0)
    assert bench.faults == []
    bench.lines(1)
    assert bench.faults[0].startswith(
        "credits: image 1 is written and 1 are granted; wait until the first word is greater than 1"
    )
    assert bench.verdicts.by_rule["credits"].broken == 2
    bench.record(1)
    assert bench.images.done == 1
