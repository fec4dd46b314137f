# SPDX-License-Identifier: Apache-2.0
"""Random packets from a memory that is late, pauses and refuses reads: the right beats in order, bursts as AXI wants them, and
never more asked for than the payload FIFO has room for."""

# build: -GRoom=128
import random
from collections import deque
from dataclasses import dataclass

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly
from hdl import NAMES, Struct

PACKET = Struct("packet_t")
ROOM = 128
BEAT, PAGE = 64, 4096
MOST_BEATS = 64  # of a burst
MOST_BURSTS = 64  # under way
PACKETS = 8  # of the packet FIFO
SLVERR = 2
PATIENCE = 5000  # cycles
Fields = dict[str, int]


@dataclass
class Burst:
    dtp: int
    address: int
    beats: int
    due: int


def content(address: int) -> int:
    """What memory holds: a beat that no other address has."""
    return int.from_bytes(random.Random(address).randbytes(BEAT), "little")


class Bench:
    """Inputs are written at a falling edge; outputs are looked at when they have settled, before the next rising one."""

    def __init__(self, dut, seed: int) -> None:
        self.dut, self.pick = dut, random.Random(seed)
        self.now = 0
        # how often the memory takes an address, gives a beat, refuses it; how late it is; how often the FIFOs are read
        self.accepts, self.gives, self.refuses, self.latency = 1.0, 1.0, 0.0, 0
        self.pops, self.unloads = 1.0, 1.0
        self.memory: deque[Burst] = deque()
        self.asked = 0  # beats, asked for and still in the payload FIFO
        self.fifo = 0  # beats in it
        self.packets = 0  # in the packet FIFO
        self.shown: tuple[int, int] | None = None
        self.wanted: deque[tuple[int, int]] = deque()  # beats to be asked for: address, DTP
        self.taken: deque[Fields] = deque()  # packets that are not pushed yet
        self.beats: deque[int] = deque()  # given by the memory, and not come out
        self.errors: deque[int] = deque()
        self.crossed = self.most_bursts = self.most_asked = self.refused = self.full = 0

    async def begin(self) -> None:
        dut = self.dut
        Clock(dut.clk_i, 4, unit="ns").start()
        for name in ("valid_i", "packet_i", "source_i", "full_i", "popped_i"):
            getattr(dut, name).value = 0
        for name in ("arready", "rvalid", "rdata", "rresp", "rlast"):
            getattr(dut, f"m_axi_{name}").value = 0
        dut.rst_ni.value = 0
        for _ in range(3):
            await FallingEdge(dut.clk_i)
        dut.rst_ni.value = 1

    def packet(self, most: int = 4096) -> tuple[Fields, int]:
        """And its address, often near the end of a page."""
        size = self.pick.choice((self.pick.randint(1, most), most, self.pick.randint(1, min(most, 64))))
        source = self.pick.randrange(1 << 20)
        if self.pick.random() < 0.5:
            source = source // PAGE * PAGE + PAGE - self.pick.randint(1, min(size + 64, PAGE))
        source += self.pick.randrange(1 << 12) << 32
        fields = {
            "dtp": self.pick.randrange(16),
            "kind": NAMES["WriteOnly"],
            "lead": source % BEAT,
            "bytes": size,
            "destination": self.pick.getrandbits(64),
            "index": self.pick.getrandbits(64),
        }
        return fields, source

    async def cycle(self, offered: tuple[Fields, int] | None) -> bool:
        """One cycle, in which `offered` is offered. Whether it was taken."""
        dut, pick = self.dut, self.pick
        dut.valid_i.value = offered is not None
        dut.packet_i.value = PACKET.pack(**offered[0]) if offered else pick.getrandbits(PACKET.bits)
        dut.source_i.value = offered[1] if offered else pick.getrandbits(48)
        dut.full_i.value = full = int(self.packets == PACKETS)
        dut.popped_i.value = popped = int(self.fifo > 0 and pick.random() < self.pops)
        dut.m_axi_arready.value = arready = int(pick.random() < self.accepts)
        given = self.give()
        await ReadOnly()
        self.full += full
        self.packets -= int(self.packets > 0 and pick.random() < self.unloads)
        if popped:
            self.fifo -= 1
            self.asked -= 1
        assert dut.m_axi_rready.value == 1, "the memory is held up"
        if given or self.memory:
            assert dut.idle_o.value == 0, "idle with a burst under way"
        # before the packet of this cycle is known: what comes of it comes later
        self.address(arready)
        self.out()
        if dut.push_o.value:
            assert not full, "pushed into a full FIFO"
            self.packets += 1
            self.pushed(PACKET.unpack(int(dut.packet_o.value)))
        taken = bool(offered and dut.ready_o.value)
        if taken:
            fields, source = offered
            span = range(source // BEAT, (source + fields["bytes"] - 1) // BEAT + 1)
            self.taken.append(fields | {"beats": len(span)})
            self.wanted.extend((beat * BEAT, fields["dtp"]) for beat in span)
            self.crossed += source // PAGE != (source + fields["bytes"] - 1) // PAGE
        await FallingEdge(dut.clk_i)
        self.now += 1
        return taken

    def give(self) -> bool:
        """A beat of the memory, or anything on the wires."""
        dut, pick = self.dut, self.pick
        dut.m_axi_rvalid.value = gives = bool(
            self.memory and self.now >= self.memory[0].due and pick.random() < self.gives
        )
        if not gives:
            dut.m_axi_rresp.value = pick.randrange(4)
            dut.m_axi_rlast.value = pick.randrange(2)
            return False
        burst = self.memory[0]
        dut.m_axi_rdata.value = data = content(burst.address)
        dut.m_axi_rresp.value = answer = SLVERR if pick.random() < self.refuses else 0
        dut.m_axi_rlast.value = burst.beats == 1
        if answer:
            self.errors.append(burst.dtp)
        self.beats.append(data)
        burst.address += BEAT
        burst.beats -= 1
        if burst.beats == 0:
            self.memory.popleft()
        return True

    def address(self, arready: int) -> None:
        dut = self.dut
        if not dut.m_axi_arvalid.value:
            assert self.shown is None, "an address was taken back"
            return
        now = (int(dut.m_axi_araddr.value), int(dut.m_axi_arlen.value) + 1)
        assert self.shown in (None, now), "an address has changed before it was taken"
        self.shown = None if arready else now
        if not arready:
            return
        address, beats = now
        assert address % BEAT == 0 and beats <= MOST_BEATS
        assert address // PAGE == (address + beats * BEAT - 1) // PAGE, "a burst crosses 4 KiB"
        asked = [self.wanted.popleft() for _ in range(beats)]
        assert [at for at, _ in asked] == [address + n * BEAT for n in range(beats)], "others than the packet's"
        assert len({dtp for _, dtp in asked}) == 1, "a burst of two packets"
        self.memory.append(
            Burst(asked[0][1], address, beats, self.now + self.pick.randint(self.latency, 2 * self.latency) + 1)
        )
        self.most_bursts = max(self.most_bursts, len(self.memory))
        assert len(self.memory) <= MOST_BURSTS
        self.asked += beats
        self.most_asked = max(self.most_asked, self.asked)
        assert self.asked <= ROOM, "more is asked for than there is room for"

    def out(self) -> None:
        """Beats for the payload FIFO, and errors: none is lost, none comes twice."""
        dut = self.dut
        if dut.beat_o.value:
            assert self.beats and int(dut.data_o.value) == self.beats.popleft()
            self.fifo += 1
        if dut.error_o.value:
            assert self.errors and int(dut.error_dtp_o.value) == self.errors.popleft()
            self.refused += 1

    def pushed(self, packet: Fields) -> None:
        assert self.taken, "a packet that was not given"
        want = dict.fromkeys(PACKET.fields, 0) | self.taken.popleft()
        assert packet == want

    async def play(self, packets: int, most: int = 4096) -> int:
        """So many, until all is read and idle. Cycles."""
        begin = self.now
        for _ in range(packets):
            packet, offered = self.packet(most), self.now
            while not await self.cycle(packet):
                assert self.now - offered < PATIENCE, "a packet is not taken"
        rest = self.now
        while self.wanted or self.memory or self.beats or self.taken or self.errors or self.fifo:
            await self.cycle(None)
            assert self.now - rest < 10 * PATIENCE, "a packet is not read"
        cycles = self.now - begin
        for _ in range(4):
            await self.cycle(None)
        await ReadOnly()
        assert self.dut.idle_o.value == 1
        await FallingEdge(self.dut.clk_i)
        return cycles


@cocotb.test()
async def it_keeps_its_pace(dut) -> None:
    """Four cycles a packet, five when it crosses 4 KiB."""
    bench = Bench(dut, 8)
    await bench.begin()
    packets = 300
    cycles = await bench.play(packets, most=64)
    assert cycles <= 4 * packets + bench.crossed + 8


@cocotb.test()
@cocotb.parametrize(seed=[1, 2, 3])
async def packets_are_read(dut, seed: int) -> None:
    bench = Bench(dut, seed)
    await bench.begin()
    bench.accepts, bench.gives = bench.pick.choice(((1.0, 1.0), (0.5, 0.5), (0.2, 0.9)))
    bench.latency = bench.pick.choice((0, 10, 100))
    bench.refuses = 0.02
    bench.pops, bench.unloads = bench.pick.choice(((1.0, 1.0), (0.9, 0.3), (0.4, 1.0)))
    await bench.play(70)
    assert bench.crossed > 12 and bench.refused > 5


@cocotb.test()
async def a_full_payload_fifo_holds_it_back(dut) -> None:
    """All of the room is used, and not a beat more."""
    bench = Bench(dut, 5)
    await bench.begin()
    bench.pops = 0.1
    await bench.play(20)
    assert bench.most_asked > ROOM - 65


@cocotb.test()
async def the_room_is_used_to_its_last_beat(dut) -> None:
    bench = Bench(dut, 9)
    await bench.begin()
    bench.pops = 0.0
    for at in range(0, ROOM * BEAT, PAGE):
        fields, _ = bench.packet()
        offered = bench.now
        while not await bench.cycle((fields | {"lead": 0, "bytes": PAGE}, at)):
            assert bench.now - offered < PATIENCE, "a packet is not taken"
    for _ in range(2 * ROOM):
        await bench.cycle(None)
    assert bench.fifo == ROOM


@cocotb.test()
async def a_full_packet_fifo_holds_it_back(dut) -> None:
    bench = Bench(dut, 6)
    await bench.begin()
    bench.unloads = 0.05
    await bench.play(80, most=64)
    assert bench.full > 100


@cocotb.test()
async def bursts_under_way_are_bounded(dut) -> None:
    """As many as their DTPs can be remembered; each answer is of the right one."""
    bench = Bench(dut, 7)
    await bench.begin()
    bench.latency, bench.refuses = 1000, 0.5
    await bench.play(200, most=1)
    assert bench.most_bursts == MOST_BURSTS and bench.refused > 50


@cocotb.test()
async def memory_may_answer_in_the_next_cycle(dut) -> None:
    """A refusal then names the DTP of its own burst, too."""
    bench = Bench(dut, 10)
    await bench.begin()
    bench.latency, bench.refuses = 0, 0.5
    await bench.play(200, most=3)
    assert bench.refused > 50
