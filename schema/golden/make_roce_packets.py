# SPDX-License-Identifier: Apache-2.0
"""Writes roce_packets.json: RoCE packets made from the public header layouts alone, with zlib's CRC and no code of rashpa.

Run in this folder: `python make_roce_packets.py`. The C++ codec is tested against the result in both directions.
"""

import json
import struct
import zlib
from pathlib import Path

PAYLOAD = bytes((7 * i + 3) & 0xFF for i in range(4096))


def _bth(opcode: int, psn: int, pad: int = 0, qp: int = 0x12, flags: int = 0, resv8a: int = 0, ack: int = 0) -> bytes:
    return struct.pack("!BBHII", opcode, flags | pad << 4, 0xFFFF, resv8a << 24 | qp, ack << 31 | psn)


def _reth(address: int, key: int, length: int) -> bytes:
    return struct.pack("!QII", address, key, length)


def _deth(qkey: int, qp: int) -> bytes:
    return struct.pack("!II", qkey, qp)


def _checksum(header: bytes) -> int:
    total: int = sum(struct.unpack(f"!{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def _icrc(masked_front: bytes, transport: bytes) -> bytes:
    masked = bytearray(transport)
    masked[4] = 0xFF
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + masked_front + bytes(masked)))


def _ipv4(transport: bytes, identification: int = 0, options: bytes = b"", tos: int = 0, ttl: int = 64) -> bytes:
    udp = struct.pack("!HHHH", 0xC123, 4791, 8 + len(transport) + 4, 0)
    ihl = 5 + len(options) // 4
    head = struct.pack(
        "!BBHHHBBH", 0x40 | ihl, tos, 4 * ihl + len(udp) + len(transport) + 4, identification, 0x4000, ttl, 17, 0
    )
    head += bytes([10, 1, 2, 3]) + bytes([10, 1, 2, 4]) + options
    masked = bytearray(head + udp)
    masked[1] = masked[8] = masked[10] = masked[11] = 0xFF
    masked[-2:] = b"\xff\xff"
    head = head[:10] + struct.pack("!H", _checksum(head)) + head[12:]
    return head + udp + transport + _icrc(bytes(masked), transport)


def _ipv6(transport: bytes) -> bytes:
    udp = struct.pack("!HHHH", 0xC123, 4791, 8 + len(transport) + 4, 0)
    addresses = bytes.fromhex("20010db800000000000000000000000120010db8000000000000000000000002")
    head = struct.pack("!IHBB", 6 << 28 | 0x2A << 20 | 0x12345, len(udp) + len(transport) + 4, 17, 61) + addresses
    masked = bytearray(head + udp)
    masked[0:4] = b"\x6f\xff\xff\xff"
    masked[7] = 0xFF
    masked[-2:] = b"\xff\xff"
    return head + udp + transport + _icrc(bytes(masked), transport)


def _grh(transport: bytes) -> bytes:
    gids = bytes.fromhex("fe800000000000000202c9fffe000001fe800000000000000202c9fffe000002")
    head = struct.pack("!IHBB", 6 << 28 | 0x03 << 20 | 0x00007, len(transport) + 4, 0x1B, 1) + gids
    masked = bytearray(head)
    masked[0:4] = b"\x6f\xff\xff\xff"
    masked[7] = 0xFF
    return head + transport + _icrc(bytes(masked), transport)


def _ethernet(packet: bytes, ethertype: int, vlans: tuple[tuple[int, int], ...] = ()) -> bytes:
    tags = b"".join(struct.pack("!HH", tpid, control) for tpid, control in vlans)
    return bytes.fromhex("0200000000b20200000000a1") + tags + struct.pack("!H", ethertype) + packet


def _padded(payload: bytes) -> tuple[bytes, int]:
    pad = -len(payload) & 3
    return payload + bytes(pad), pad


def _main() -> None:
    packets = []

    def add(name: str, opcode: str, layer2: bytes, payload: int, pad: int) -> None:
        packets.append(
            {"name": name, "opcode": opcode, "payload_bytes": str(payload), "pad": str(pad), "layer2": layer2.hex()}
        )

    for size in (0, 1, 2, 3, 4, 255, 4096):
        body, pad = _padded(PAYLOAD[:size])
        packet = _bth(0x2A, 0x100 + size, pad) + _reth(0x10_0000_0000 + size, 0xCAFE0001, size) + body
        add(f"UC WRITE ONLY of {size}", "UC_RDMA_WRITE_ONLY", _ethernet(_ipv4(packet), 0x0800), size, pad)
    body, pad = _padded(PAYLOAD[:130])
    packet = _bth(0x2B, 0xFFFFFF, pad, flags=0x80) + _reth(4096, 0xCAFE0001, 130) + struct.pack("!I", 0x07000009) + body
    add(
        "UC WRITE ONLY IMM, VLAN",
        "UC_RDMA_WRITE_ONLY_WITH_IMMEDIATE",
        _ethernet(_ipv4(packet), 0x0800, ((0x8100, 0x6064),)),
        130,
        pad,
    )
    add(
        "UC WRITE ONLY IMM, two VLANs",
        "UC_RDMA_WRITE_ONLY_WITH_IMMEDIATE",
        _ethernet(_ipv6(packet), 0x86DD, ((0x88A8, 0x1FFF), (0x8100, 0x0002))),
        130,
        pad,
    )
    add("UC WRITE ONLY IMM, RoCEv1", "UC_RDMA_WRITE_ONLY_WITH_IMMEDIATE", _ethernet(_grh(packet), 0x8915), 130, pad)
    first = _bth(0x26, 10) + _reth(0x2000, 0xCAFE0002, 600) + PAYLOAD[:256]
    add("UC WRITE FIRST", "UC_RDMA_WRITE_FIRST", _ethernet(_ipv6(first), 0x86DD), 256, 0)
    add("UC WRITE MIDDLE", "UC_RDMA_WRITE_MIDDLE", _ethernet(_ipv6(_bth(0x27, 11) + PAYLOAD[256:512]), 0x86DD), 256, 0)
    add("UC WRITE LAST", "UC_RDMA_WRITE_LAST", _ethernet(_ipv6(_bth(0x28, 12) + PAYLOAD[512:600]), 0x86DD), 88, 0)
    last, pad = _padded(PAYLOAD[512:601])
    add(
        "UC WRITE LAST IMM",
        "UC_RDMA_WRITE_LAST_WITH_IMMEDIATE",
        _ethernet(_ipv4(_bth(0x29, 12, pad) + struct.pack("!I", 5) + last), 0x0800),
        89,
        pad,
    )
    add(
        "identification, options, FECN",
        "UC_RDMA_WRITE_MIDDLE",
        _ethernet(
            _ipv4(_bth(0x27, 1, resv8a=0x95) + PAYLOAD[:256], 0xBEEF, bytes.fromhex("9404000001010100"), 0xB9, 3),
            0x0800,
        ),
        256,
        0,
    )
    send, pad = _padded(PAYLOAD[:21])
    add(
        "UD SEND ONLY",
        "UD_SEND_ONLY",
        _ethernet(_ipv4(_bth(0x64, 3, pad, 1) + _deth(0x80010000, 1) + send), 0x0800),
        21,
        pad,
    )
    add(
        "UD SEND ONLY IMM",
        "UD_SEND_ONLY_WITH_IMMEDIATE",
        _ethernet(_ipv6(_bth(0x65, 3, pad) + _deth(0x11111111, 0xABCDEF) + struct.pack("!I", 77) + send), 0x86DD),
        21,
        pad,
    )
    # schema/line_header.md: qkey is the receiver's key without its highest bit.
    line = struct.pack("<QIHH", 0x12340, 192, 1, 1) + PAYLOAD[:192]
    add(
        "UD line",
        "UD_SEND_ONLY",
        _ethernet(_ipv4(_bth(0x64, 0xFFFFFF) + _deth(0x4AFE0001, 0x11) + line), 0x0800),
        208,
        0,
    )
    record = struct.pack("<QIHH", 0x20000, 128, 2, 1) + PAYLOAD[:128]
    add(
        "UD record",
        "UD_SEND_ONLY_WITH_IMMEDIATE",
        _ethernet(_ipv6(_bth(0x65, 0) + _deth(0x4AFE0001, 0x11) + struct.pack("!I", 0x07000009) + record), 0x86DD),
        144,
        0,
    )
    add("RC ACK", "RC_ACKNOWLEDGE", _ethernet(_ipv4(_bth(0x11, 44) + struct.pack("!I", 0x1F00002A)), 0x0800), 0, 0)
    add("RC NAK", "RC_ACKNOWLEDGE", _ethernet(_ipv4(_bth(0x11, 45) + struct.pack("!I", 0x60000001)), 0x0800), 0, 0)
    add(
        "RC READ REQUEST",
        "RC_RDMA_READ_REQUEST",
        _ethernet(_ipv4(_bth(0x0C, 46, ack=1) + _reth(64, 9, 1 << 20)), 0x0800),
        0,
        0,
    )
    add(
        "RC READ RESPONSE ONLY",
        "RC_RDMA_READ_RESPONSE_ONLY",
        _ethernet(_ipv6(_bth(0x10, 46) + struct.pack("!I", 0x1F00002B) + PAYLOAD[:64]), 0x86DD),
        64,
        0,
    )
    add(
        "RC FETCH ADD",
        "RC_FETCH_ADD",
        _ethernet(_ipv4(_bth(0x14, 47) + struct.pack("!QIQQ", 8, 9, 1, 0)), 0x0800),
        0,
        0,
    )
    add(
        "RC ATOMIC ACK",
        "RC_ATOMIC_ACKNOWLEDGE",
        _ethernet(_ipv4(_bth(0x12, 47) + struct.pack("!IQ", 0x1F00002C, 1 << 40)), 0x0800),
        0,
        0,
    )
    add(
        "RC SEND ONLY INVALIDATE",
        "RC_SEND_ONLY_WITH_INVALIDATE",
        _ethernet(_ipv4(_bth(0x17, 48) + struct.pack("!I", 0xCAFE0003) + PAYLOAD[:8]), 0x0800),
        8,
        0,
    )
    add("CNP", "CNP", _ethernet(_ipv4(_bth(0x81, 0, resv8a=0x40) + bytes(16)), 0x0800), 16, 0)
    short = _bth(0x2A, 1) + _reth(0, 1, 0)
    add("with Ethernet padding", "UC_RDMA_WRITE_ONLY", _ethernet(_ipv4(short), 0x0800) + bytes(6), 0, 0)
    text = json.dumps(packets, indent=1) + "\n"
    Path(__file__).with_name("roce_packets.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    _main()
