# SPDX-License-Identifier: Apache-2.0
"""Parses one packet of a sender, and checks everything that the packet alone shows."""

import struct
from dataclasses import dataclass

from rashpa.data.wire.packet import Flow, decode
from rashpa.node.judge.rules import Verdicts

FIRST, MIDDLE, LAST, LAST_IMMEDIATE, ONLY, ONLY_IMMEDIATE = 0x26, 0x27, 0x28, 0x29, 0x2A, 0x2B
_NAMED = {FIRST, ONLY, ONLY_IMMEDIATE}  # with address, key and length
_ENDING = {LAST_IMMEDIATE, ONLY_IMMEDIATE}  # with an immediate
_OPCODES = {FIRST, MIDDLE, LAST, LAST_IMMEDIATE, ONLY, ONLY_IMMEDIATE}
_BTH, _RETH, _IMMEDIATE, _ICRC = 12, 16, 4, 4
_PARTITION = 0xFFFF


@dataclass(frozen=True)
class JudgedPacket:
    """Holds the fields of a packet. `address`, `key` and `length` are None in packets that continue a message; `immediate` is None where there is
    none."""

    opcode: int
    qpn: int
    psn: int
    address: int | None
    key: int | None
    length: int | None
    immediate: int | None
    payload: bytes
    whole: bytes


def take_apart(data: bytes, verdicts: Verdicts) -> JudgedPacket | None:
    """Return the parsed packet. Count a fault and return None when the bytes are no packet."""
    if len(data) < _BTH + _ICRC or data[0] not in _OPCODES:
        named = f"opcode 0x{data[0]:02x} is no RDMA WRITE of UC" if data else "an empty datagram is no packet"
        verdicts.fail("packet", named, data)
        return None
    opcode, flags, partition, qpn, psn = struct.unpack_from(">BBHII", data)
    pad = flags >> 4 & 3
    head = _BTH + (_RETH if opcode in _NAMED else 0) + (_IMMEDIATE if opcode in _ENDING else 0)
    payload = len(data) - head - pad - _ICRC
    if payload < 0 or (head + payload + pad) % 4:
        verdicts.fail("packet", f"{len(data)} bytes are no header, payload, pad of {pad} and ICRC", data)
        return None
    address, key, length = struct.unpack_from(">QII", data, _BTH) if opcode in _NAMED else (None, None, None)
    immediate = int(struct.unpack_from(">I", data, head - _IMMEDIATE)[0]) if opcode in _ENDING else None
    faults = [
        (flags & 0x0F != 0, f"version {flags & 0x0F} of the transport header; 0"),
        (partition != _PARTITION, f"partition key 0x{partition:04x}; 0xffff"),
        (any(data[head + payload : head + payload + pad]), "pad bytes that are not 0"),
        (bool(data[4] & 0x3F), f"reserved byte 0x{data[4]:02x}; 0 on the wire, ones in the ICRC alone"),
        (opcode in (ONLY, ONLY_IMMEDIATE) and length != payload, f"length {length} with a payload of {payload} bytes"),
    ]
    wrong = [text for found, text in faults if found]
    for text in wrong:
        verdicts.fail("packet", text, data)
    if not wrong:
        verdicts.keep("packet")
    return JudgedPacket(
        opcode, qpn & 0xFFFFFF, psn & 0xFFFFFF, address, key, length, immediate, data[head : head + payload], data
    )


def judge_icrc(packet: JudgedPacket, flow: Flow, verdicts: Verdicts) -> None:
    """Compare the invariant CRC with the one computed from the packet's bytes, addresses and ports. On IPv4, the CRC may match any identification."""
    found = decode(packet.whole, "udp_payload", flow)["icrc"]["verdict"]
    if found in ("ok", "modulo-id"):
        verdicts.keep("icrc")
    else:
        verdicts.fail(
            "icrc", "the ICRC is wrong; most often the identification is not 0, or a field is not masked", packet.whole
        )
