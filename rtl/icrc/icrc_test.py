# SPDX-License-Identifier: Apache-2.0
"""The published packets, and frames of IPv6 by scapy, through the block; a reset in the middle of a frame."""

import random
import struct
import zlib
from collections.abc import Iterator

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from scapy.all import UDP, Ether, IPv6, Raw
from scapy.contrib.roce import BTH

ICRC = 4
IPV6 = b"\x86\xdd"

# Ethernet frames with the ICRC that others made: three WRITEs, and a CNP of an RNIC.
PUBLISHED = (
    "02000000000202000000000108004500005c000040004011b93dc0a80001c0a80002c00012b7004800002a00ffff00000011"
    "0000000100007f00000010000000beef00000020000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d"
    "1e1fd96cfed1",
    "020000000002020000000001080045000048000040004011b951c0a80001c0a80002c00012b7003400002b30ffff00000011"
    "0000000200007f00000020000000beef000000051234567800010203040000002dbc5a5e",
    "020000000002020000000001080045000040000040004011b959c0a80001c0a80002c00012b7002c00002b00ffff00000011"
    "00000003000000000000000000000000000000001234567871d17dc9",
    "e41d2dab2bc27cfe90643b32080045c2003c718c4000401191610a0011010a001201000012b7002800008100ffff40000118"
    "000000000000000000000000000000000000000082fd002a",
)


async def begin(dut) -> None:
    Clock(dut.clk_i, 4, unit="ns").start()
    dut.beat_i.value = 0
    dut.data_i.value = 0
    dut.rst_ni.value = 0
    for _ in range(3):
        await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 1


def beats(frame: bytes) -> Iterator[tuple[int, int]]:
    """What the sender puts on the wires for a frame: `frame_beat_t`, data."""
    covered = len(frame) - ICRC
    blank = frame[:-ICRC] + bytes(ICRC)
    ipv6 = frame[12:14] == IPV6
    for at in range(0, len(frame), 64):
        last = at + 64 >= len(frame)
        said = 1 << 9 | (at == 0) << 8 | last << 7 | ipv6 << 6 | covered % 64
        yield said, int.from_bytes(blank[at : at + 64], "little")


async def send(dut, given: list[tuple[int, int]]) -> list[bytes]:
    """The frames that come out while these beats go in, one a cycle."""
    frames, frame = [], b""
    for said, data in given + [(0, 0)] * 10:
        dut.beat_i.value = said
        dut.data_i.value = data
        await FallingEdge(dut.clk_i)
        if dut.m_valid_o.value:
            frame += int(dut.m_data_o.value).to_bytes(64, "little")[: int(dut.m_bytes_o.value)]
            if dut.m_last_o.value:
                frames.append(frame)
                frame = b""
    assert frame == b"", "a frame without end"
    return frames


def ipv6_frame(payload: bytes) -> bytes:
    """A WRITE's layout does not matter to the ICRC: scapy's BTH, and its ICRC by RoCEv2's rules for IPv6."""
    network = IPv6(src="fd00::1", dst="fd00::2", tc=7, fl=0x12345, hlim=9)
    packet = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / network
    packet = (
        packet / UDP(sport=0xC001, dport=4791, chksum=0) / BTH(opcode=0x2A, padcount=0, dqpn=0x11, psn=7) / Raw(payload)
    )
    frame = bytearray(bytes(packet))
    covered = bytearray(frame[14:-ICRC])
    struct.pack_into(">I", covered, 0, 0x6FFFFFFF)
    covered[7] = 0xFF
    covered[46:48] = b"\xff\xff"
    covered[52] = 0xFF
    frame[-ICRC:] = struct.pack("<I", zlib.crc32(b"\xff" * 8 + covered))
    return bytes(frame)


@cocotb.test()
async def published_packets(dut) -> None:
    """Their ICRCs were made by others."""
    await begin(dut)
    frames = [bytes.fromhex(packet) for packet in PUBLISHED]
    given = [beat for frame in frames for beat in beats(frame)]
    assert await send(dut, given) == frames


@cocotb.test()
async def every_end_with_ipv6(dut) -> None:
    """All 16 places of the ICRC in a beat, back to back, of frames of one to five beats."""
    await begin(dut)
    chance = random.Random(1)
    frames = [ipv6_frame(chance.randbytes(4 * words)) for words in range(40)]
    chance.shuffle(frames)
    assert {(len(frame) - ICRC) % 64 for frame in frames} == set(range(2, 64, 4))
    assert await send(dut, [beat for frame in frames for beat in beats(frame)]) == frames


@cocotb.test()
async def reset_in_a_frame(dut) -> None:
    """Nothing of the frame comes out behind it, and the next is right."""
    await begin(dut)
    frame = ipv6_frame(bytes(range(200)))
    for said, data in list(beats(frame))[:-1]:
        dut.beat_i.value = said
        dut.data_i.value = data
        await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 0
    dut.beat_i.value = 0
    await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    assert await send(dut, list(beats(frame))) == [frame]
