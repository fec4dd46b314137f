# SPDX-License-Identifier: Apache-2.0
"""Whole runs, whose frames scapy reads: addresses, lengths, checksums, BTH, ICRC; RETH, immediate and payload behind them."""

import re
import struct
from dataclasses import dataclass
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from scapy.all import IP, UDP, Ether, IPv6
from scapy.contrib.roce import BTH

PACKAGE = (Path(__file__).resolve().parents[1] / "package" / "card_registers_pkg.sv").read_text(encoding="utf-8")
ADDRESS = {m[1]: int(m[2], 16) for m in re.finditer(r"(\w+)Address = \d+'h([0-9a-f]+);", PACKAGE)}
WORD = {m[1]: int(m[2]) for m in re.finditer(r"DtpTable(\w+)Word = \d+'d(\d+);", PACKAGE)}
TABLE = 0x4000

MACS = ("02:00:00:00:00:01", "02:00:00:00:00:02")  # destination, card
ADDRESSES = {4: ("10.0.4.1", "10.0.4.2"), 6: ("fd00:4::1", "fd00:4::2")}
LINES, LINE, PITCH, PMTU = 3, 598, 640, 256
CUTS = (256, 256, 86)
IMAGES, SLOTS, SLOT, RECORDS = 3, 2, 0x1000, 0x8000
QPN, RKEY, DTP, FIRST_PSN = 0x123456, 0xDEADBEEF, 0x5A, 0xFFFFFC
STRIDE = 128 + LINES * PITCH  # of frames in card memory
CRC32C = 0x82F63B78


def crc32c(data: bytes) -> int:
    state = 0xFFFFFFFF
    for byte in data:
        state ^= byte
        for _ in range(8):
            state = state >> 1 ^ (CRC32C if state & 1 else 0)
    return state ^ 0xFFFFFFFF


def factor(count: int) -> int:
    """x^(8·count) mod P, reflected."""
    value = 1 << 31
    for _ in range(8 * count):
        value = value >> 1 ^ (CRC32C if value & 1 else 0)
    return value


def template(frame: int) -> bytes:
    """A record as its source writes it: the card adds the rest."""
    record = bytearray(128)
    struct.pack_into("<4sHHIIQQ", record, 0, b"RSPA", 1, 128, 0, 0, frame, 1000 + frame)
    struct.pack_into("<I", record, 124, crc32c(record[:124]))
    return bytes(record)


def pixels(frame: int, line: int) -> bytes:
    return bytes((37 * frame + 11 * line + i * i) % 251 for i in range(LINE))


def card_memory() -> bytes:
    frames = [
        template(n) + b"".join(pixels(n, line).ljust(PITCH, b"\xee") for line in range(LINES)) for n in range(IMAGES)
    ]
    return b"".join(frames).ljust(1 << 15, b"\0")


@dataclass(frozen=True)
class Way:
    ip: int
    first_middle_last: bool

    def words(self) -> dict[str, int]:
        """The DTP's row of the table; _HIGH: the second word of a value."""
        there, here = ((IP if self.ip == 4 else IPv6)(src=text) for text in ADDRESSES[self.ip])
        words = {}
        for name, header in (("IpDestination", there), ("IpSource", here)):
            field = bytes(header)[12:16] if self.ip == 4 else bytes(header)[8:24]
            words |= {
                f"{name}{'+' * i}": int.from_bytes(field[4 * i : 4 * i + 4], "little") for i in range(len(field) // 4)
            }
        for name, text in zip(("DestinationMac", "SourceMac"), MACS, strict=True):
            value = int.from_bytes(bytes.fromhex(text.replace(":", "")), "little")
            words |= {name: value & 0xFFFFFFFF, f"{name}+": value >> 32}
        constant = bytes(
            IP(src=ADDRESSES[4][1], dst=ADDRESSES[4][0], len=0, id=0, flags="DF", ttl=64, proto=17, chksum=0)
        )
        total = sum(struct.unpack(">10H", constant))
        return words | {
            "Ports": 4791 << 16 | 0xC123,
            "Traffic": 64 << 8,
            "Ipv4Sum": total % 0xFFFF,
            "Qpn": QPN,
            "Rkey": RKEY,
            "FirstPsn": FIRST_PSN,
            "Mtu": PMTU | self.first_middle_last << 16 | (self.ip == 6) << 17,
            "Dtp": DTP | 1 << 9 | 1 << 10,
            "Run": 7,
            "Source": 128,
            "RecordSource": 0,
            "FrameStep": STRIDE,
            "FrameRing": STRIDE * IMAGES,
            "OuterCount": LINES,
            "InnerCount": 1 if self.first_middle_last else len(CUTS),
            "OuterSourceStep": PITCH,
            "OuterDestinationStep": PITCH,
            "PieceBytes": LINE if self.first_middle_last else PMTU,
            "RestBytes": LINE if self.first_middle_last else CUTS[-1],
            "LastBytes": LINE if self.first_middle_last else CUTS[-1],
            "FactorPiece": factor(CUTS[-1] if self.first_middle_last else PMTU),
            "FactorRest": factor(CUTS[-1]),
            "FactorLast": factor(CUTS[-1]),
            "FactorMtu": factor(PMTU),
            "Slots": SLOTS,
            "SlotBytes": SLOT,
            "Records": RECORDS,
            "Images": IMAGES,
            "FramesBetween": 1,
            "Lines": LINES,
            "PayloadBytes": LINES * LINE,
            "LinesPerRun": 1,
        }


class Bench:
    """The sender with memory that answers the next cycle, and a MAC that takes everything."""

    def __init__(self, dut):
        self.dut = dut
        self.memory = card_memory()
        self.reads: list[list[int]] = []  # address, beats
        self.frames: list[bytes] = []
        self.frame = b""

    async def begin(self) -> None:
        dut = self.dut
        Clock(dut.clk_i, 4, unit="ns").start()
        for name in (
            "s_axil_awvalid",
            "s_axil_wvalid",
            "s_axil_arvalid",
            "m_axi_rvalid",
            "m_axi_rresp",
            "s_axis_tvalid",
        ):
            getattr(dut, name).value = 0
        for name in ("s_axil_bready", "s_axil_rready", "m_axi_arready", "m_axis_tready"):
            getattr(dut, name).value = 1
        dut.s_axil_wstrb.value = 15
        dut.rst_ni.value = 0
        for _ in range(8):
            await FallingEdge(dut.clk_i)
        dut.rst_ni.value = 1

    async def cycle(self) -> None:
        """What the sender says now is taken at the edge that comes, and so is what is said to it."""
        dut = self.dut
        dut.m_axi_rvalid.value = bool(self.reads)
        if self.reads:
            read = self.reads[0]
            dut.m_axi_rdata.value = int.from_bytes(self.memory[read[0] : read[0] + 64], "little")
            dut.m_axi_rlast.value = read[1] == 1
            read[0] += 64
            read[1] -= 1
            if read[1] == 0:
                self.reads.pop(0)
        if dut.m_axi_arvalid.value:
            self.reads.append([int(dut.m_axi_araddr.value), int(dut.m_axi_arlen.value) + 1])
        if dut.m_axis_tvalid.value:
            count = int(dut.m_axis_tkeep.value).bit_count()
            self.frame += int(dut.m_axis_tdata.value).to_bytes(64, "little")[:count]
            if dut.m_axis_tlast.value:
                self.frames.append(self.frame)
                self.frame = b""
        await FallingEdge(dut.clk_i)

    async def write(self, address: int, value: int) -> None:
        dut = self.dut
        dut.s_axil_awaddr.value = address
        dut.s_axil_wdata.value = value
        dut.s_axil_awvalid.value = dut.s_axil_wvalid.value = 1
        for _ in range(2000):
            taken = int(dut.s_axil_awready.value), int(dut.s_axil_wready.value)
            answered, answer = int(dut.s_axil_bvalid.value), int(dut.s_axil_bresp.value)
            await self.cycle()
            if taken[0]:
                dut.s_axil_awvalid.value = 0
            if taken[1]:
                dut.s_axil_wvalid.value = 0
            if answered:
                assert answer == 0, f"write of {address:#x} answered {answer}"
                return
        raise AssertionError(f"write of {address:#x} is never answered")

    async def play(self, way: Way, run: int) -> list[bytes]:
        """The frames of a run."""
        words = way.words()
        for name in WORD:
            for i in range(4):
                if name + "+" * i in words:
                    await self.write(TABLE + 4 * (WORD[name] + i), words[name + "+" * i])
        await self.write(ADDRESS["DoorbellsFramesAvailable"], 0)
        await self.write(ADDRESS["DoorbellsArm"], run)
        for _ in range(3000):
            await self.cycle()
        await self.write(ADDRESS["DoorbellsFramesAvailable"], IMAGES)
        await self.write(ADDRESS["DoorbellsStart"], run)
        self.frames = []
        for _ in range(3000):
            await self.cycle()
        assert self.frame == b""
        return self.frames


def expected(way: Way) -> list[tuple[int, bytes, int]]:
    """Opcode, headers behind BTH, and bytes of payload of each packet."""
    packets = []
    for image in range(IMAGES):
        for line in range(LINES):
            at = SLOT * (image % SLOTS) + PITCH * line
            for i, cut in enumerate(CUTS):
                if way.first_middle_last:
                    packets.append((0x26 + i, b"" if i else struct.pack(">QII", at, RKEY, LINE), cut))
                else:
                    packets.append((0x2A, struct.pack(">QII", at + PMTU * i, RKEY, cut), cut))
        reth = struct.pack(">QII", RECORDS + 128 * (image % SLOTS), RKEY, 128)
        packets.append((0x2B, reth + struct.pack(">I", DTP << 24 | image), 128))
    return packets


def check_with_scapy(frame: bytes, way: Way, number: int, opcode: int, payload: int) -> None:
    """Everything in front of the payload, and the ICRC, which scapy makes itself."""
    packet = Ether(frame)
    assert (packet.dst, packet.src) == MACS
    network = packet[IP if way.ip == 4 else IPv6]
    assert (network.dst, network.src) == ADDRESSES[way.ip]
    bth = packet[BTH]
    assert (bth.opcode, bth.dqpn, bth.psn) == (opcode, QPN, (FIRST_PSN + number) % 2**24)
    assert (bth.padcount, bth.pkey, bth.version) == (-payload % 4, 0xFFFF, 0)
    assert not any((bth.solicited, bth.migreq, bth.fecn, bth.becn, bth.resv6, bth.ackreq, bth.resv7))
    assert (packet[UDP].sport, packet[UDP].dport) == (0xC123, 4791)
    for layer, names in ((network, ("len", "plen", "chksum")), (packet[UDP], ("len",)), (bth, ("icrc",))):
        for name in names:
            if name in layer.fields:
                delattr(layer, name)
    packet[UDP].chksum = 0
    assert bytes(packet) == frame, "lengths, header checksum and ICRC as scapy makes them"


@cocotb.test()
async def scapy_reads_every_packet(dut):
    bench = Bench(dut)
    await bench.begin()
    for dtp in range(1, 16):
        await bench.write(TABLE + 0x200 * dtp + 4 * WORD["Dtp"], 0)
    ways = [Way(ip, long) for ip in (4, 6) for long in (False, True)]
    for run, way in enumerate(ways, 1):
        frames = await bench.play(way, run)
        memory = bytearray(1 << 16)
        at = image = 0
        for number, (frame, (opcode, headers, payload)) in enumerate(zip(frames, expected(way), strict=True)):
            check_with_scapy(frame, way, number, opcode, payload)
            behind = frame[14 + (20 if way.ip == 4 else 40) + 8 + 12 : -4]
            data = behind[len(headers) : len(headers) + payload]
            assert behind == headers + data + bytes(-payload % 4)
            if headers:
                at = struct.unpack_from(">Q", headers)[0]
            memory[at : at + payload] = data
            at += payload
            if opcode == 0x2B:
                check_image(memory, image)
                image += 1


def check_image(memory: bytearray, image: int) -> None:
    """Lines and record, as the packets before have left them."""
    lines = [
        memory[at : at + LINE] for at in range(SLOT * (image % SLOTS), SLOT * (image % SLOTS) + LINES * PITCH, PITCH)
    ]
    assert lines == [pixels(image, line) for line in range(LINES)]
    record = memory[RECORDS + 128 * (image % SLOTS) :][:128]
    assert struct.unpack_from("<I", record, 124)[0] == crc32c(record[:124])
    flags = 4 if image + 1 == IMAGES else 0
    assert struct.unpack_from("<4sHHIIQQQIIQII", record) == (
        *(b"RSPA", 1, 128, DTP, flags, image, 1000 + image),
        *(image, image % SLOTS, LINES, LINES * LINE, crc32c(b"".join(lines)), 7),
    )
