# SPDX-License-Identifier: Apache-2.0
"""A packet of a sender is parsed from its bytes, and each wrong field is named."""

import struct

import pytest

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa.data.wire.packet import Flow, encode
from rashpa.node.judge.judged_packet import (
    FIRST,
    LAST_IMMEDIATE,
    MIDDLE,
    ONLY,
    ONLY_IMMEDIATE,
    judge_icrc,
    take_apart,
)
from rashpa.node.judge.rules import Verdicts

PAYLOAD = bytes(range(1, 65))


def packet(
    opcode: int,
    payload: bytes = PAYLOAD,
    *,
    flags: int = 0,
    partition: int = 0xFFFF,
    reserved: int = 0,
    length: int | None = None,
) -> bytes:
    """Return the bytes after UDP; the ICRC is 0."""
    pad = -len(payload) % 4
    head = struct.pack(">BBHII", opcode, flags | pad << 4, partition, reserved << 24 | 0x123, 0x80000456)
    if opcode in (FIRST, ONLY, ONLY_IMMEDIATE):
        head += struct.pack(">QII", 1 << 40, 99, len(payload) if length is None else length)
    if opcode in (LAST_IMMEDIATE, ONLY_IMMEDIATE):
        head += struct.pack(">I", 0x07000001)
    return head + payload + bytes(pad) + bytes(4)


@pytest.mark.parametrize(
    ("opcode", "named", "ends"),
    [
        (FIRST, True, False),
        (MIDDLE, False, False),
        (LAST_IMMEDIATE, False, True),
        (ONLY, True, False),
        (ONLY_IMMEDIATE, True, True),
    ],
)
def test_fields_are_those_of_the_bytes(opcode: int, named: bool, ends: bool) -> None:
    verdicts = Verdicts()
    found = take_apart(packet(opcode, PAYLOAD[:61]), verdicts)
    assert found is not None
    assert (found.opcode, found.qpn, found.psn, found.payload) == (opcode, 0x123, 0x456, PAYLOAD[:61])
    assert (found.address, found.key, found.length) == ((1 << 40, 99, 61) if named else (None, None, None))
    assert found.immediate == (0x07000001 if ends else None)
    assert (verdicts.by_rule["packet"].kept, verdicts.by_rule["packet"].broken) == (1, 0)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "an empty datagram is no packet"),
        (packet(0x0A), "opcode 0x0a is no RDMA WRITE of UC"),
        (packet(ONLY)[:15], "opcode 0x2a is no RDMA WRITE of UC"),
        (packet(ONLY)[:16], "16 bytes are no header, payload, pad of 0 and ICRC"),
        (packet(MIDDLE) + b"1", "81 bytes are no header, payload, pad of 0 and ICRC"),
    ],
)
def test_bytes_that_are_no_packet_are_counted(data: bytes, says: str) -> None:
    verdicts = Verdicts()
    assert take_apart(data, verdicts) is None
    verdict = verdicts.by_rule["packet"]
    assert (verdict.kept, verdict.broken) == (0, 1)
    assert verdict.faults[0].startswith(says)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (packet(ONLY, flags=1), "version 1 of the transport header; 0"),
        (packet(ONLY, partition=0x7FFF), "partition key 0x7fff; 0xffff"),
        (packet(ONLY, PAYLOAD[:61])[:-5] + b"\1" + bytes(4), "pad bytes that are not 0"),
        (packet(ONLY, reserved=0x3F), "reserved byte 0x3f; 0 on the wire, ones in the ICRC alone"),
        (packet(ONLY, length=65), "length 65 with a payload of 64 bytes"),
    ],
)
def test_a_wrong_field_is_named_and_the_packet_goes_on(data: bytes, says: str) -> None:
    verdicts = Verdicts()
    assert take_apart(data, verdicts) is not None
    faults = verdicts.by_rule["packet"].faults
    assert [fault.rpartition(": ")[0] for fault in faults] == [says]


def test_the_icrc_is_compared_with_the_one_of_the_flow() -> None:
    flow = Flow("fd00::1", "fd00::2", 0xC123)
    whole = encode(
        {
            "ipv6": {"source": flow.source, "destination": flow.destination},
            "udp": {"source_port": flow.source_port, "destination_port": flow.destination_port},
            "bth": {"opcode": ONLY, "partition_key": 0xFFFF, "destination_qp": 5, "psn": 6},
            "reth": {"virtual_address": 64, "remote_key": 7, "dma_length": 4},
            "payload": "01020304",
        }
    )[40 + 8 :]
    for data, kept in ((whole, 1), (whole[:-1] + bytes([whole[-1] ^ 1]), 0)):
        verdicts = Verdicts()
        found = take_apart(data, verdicts)
        assert found is not None
        judge_icrc(found, flow, verdicts)
        assert (verdicts.by_rule["icrc"].kept, verdicts.by_rule["icrc"].broken) == (kept, 1 - kept)
