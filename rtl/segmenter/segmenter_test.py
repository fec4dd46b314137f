# SPDX-License-Identifier: Apache-2.0
"""Random descriptors against a cut in a few lines of Python: bytes, order, kinds, addresses beyond 4 GiB, Abort, pace."""

import random
from collections import deque
from collections.abc import Iterator

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly
from hdl import NAMES, Struct, table_write

DESCRIPTOR, PACKET = Struct("descriptor_t"), Struct("packet_t")
MTUS = (256, 512, 1024, 2048, 4096)
KEPT = ("dtp", "complete_record", "last_of_run", "immediate", "index", "slot")  # of the descriptor, in each packet
GIB4 = 1 << 32
Fields = dict[str, int]


class Bench:
    """Inputs are written at a falling edge; outputs are looked at when they have settled, before the next rising one."""

    def __init__(self, dut, seed: int) -> None:
        self.dut, self.pick = dut, random.Random(seed)
        self.mtu = [self.pick.choice(MTUS) for _ in range(16)]
        self.parts = [self.pick.random() < 0.5 for _ in range(16)]  # FIRST, MIDDLE … LAST
        self.factor = [self.pick.getrandbits(32) for _ in range(16)]
        self.offers, self.takes, self.aborts = 0.7, 0.7, 0.0
        self.due: deque[Fields] = deque()  # packets of the descriptor in hand
        self.shown: Fields | None = None
        self.seen = 0

    async def begin(self) -> None:
        dut = self.dut
        Clock(dut.clk_i, 4, unit="ns").start()
        for name in ("clear_i", "table_i", "valid_i", "descriptor_i", "ready_i"):
            getattr(dut, name).value = 0
        dut.rst_ni.value = 0
        for _ in range(3):
            await FallingEdge(dut.clk_i)
        dut.rst_ni.value = 1
        for dtp in range(16):
            mtu = self.mtu[dtp] | self.parts[dtp] << NAMES["DtpTableMtuFirstMiddleLastLsb"]
            for word, value in (("Mtu", mtu), ("FactorMtu", self.factor[dtp])):
                dut.table_i.value = table_write(dtp, word, value)
                await FallingEdge(dut.clk_i)
        dut.table_i.value = 0

    def descriptor(self) -> Fields:
        pick = self.pick
        dtp = pick.randrange(16)
        mtu = self.mtu[dtp]
        event = pick.random() < 0.15
        whole = mtu * pick.choice((1, 1, 2, 3, 9))
        sizes = (pick.randint(1, mtu), whole, whole + 1, max(1, whole - pick.randrange(mtu)))
        return {
            "dtp": dtp,
            "event_record": int(event),
            "complete_record": int(event and pick.random() < 0.5),
            "begins_image": int(not event and pick.random() < 0.5),
            "last_of_run": pick.randrange(2),
            "source": self.address(47),
            "destination": self.address(63),
            "bytes": 128 if event else pick.choice(sizes),
            "immediate": pick.getrandbits(32),
            "index": pick.getrandbits(64),
            "slot": pick.getrandbits(32),
            "factor": pick.getrandbits(32),
        }

    def address(self, bits: int) -> int:
        """At times right before a multiple of 4 GiB."""
        if self.pick.random() < 0.5:
            return self.pick.getrandbits(bits)
        return self.pick.randrange(1, 1 << bits - 32) * GIB4 - self.pick.randrange(1, 9000)

    def packets(self, of: Fields) -> Iterator[Fields]:
        """What becomes of a descriptor."""
        mtu, parts = self.mtu[of["dtp"]], self.parts[of["dtp"]]
        for at in range(0, of["bytes"], mtu):
            size = min(mtu, of["bytes"] - at)
            first, last = at == 0, at + size == of["bytes"]
            if of["event_record"]:
                kind = "WriteEvent"
            elif not parts or (first and last):
                kind = "WriteOnly"
            else:
                kind = "WriteFirst" if first else "WriteLast" if last else "WriteMiddle"
            yield {
                **{name: of[name] for name in KEPT},
                "kind": NAMES[kind],
                "begins_image": int(of["begins_image"] and first),
                "ends_descriptor": int(last),
                "lead": (of["source"] + at) % 64,
                "bytes": size,
                "beats": 0,  # the reader's
                "destination": of["destination"] + at,
                "length": of["bytes"] if parts else size,
                "factor": of["factor"] if last else self.factor[of["dtp"]],
                "source": of["source"] + at,
            }

    async def cycle(self, offered: Fields | None) -> bool:
        """One cycle, in which `offered` is offered. Whether it was taken."""
        dut = self.dut
        dut.valid_i.value = offered is not None
        dut.descriptor_i.value = DESCRIPTOR.pack(**offered) if offered else self.pick.getrandbits(DESCRIPTOR.bits)
        dut.ready_i.value = ready = int(self.pick.random() < self.takes)
        dut.clear_i.value = clear = int(self.pick.random() < self.aborts)
        await ReadOnly()
        taken = bool(offered and dut.ready_o.value and not clear)
        now = None
        if dut.valid_o.value:
            now = PACKET.unpack(int(dut.packet_o.value)) | {"source": int(dut.source_o.value)}
            assert self.due, "a packet of nothing"
            assert now == self.due[0]
        assert self.shown in (None, now), "a packet was taken back"
        self.shown = None if ready or clear else now
        if clear:
            self.due.clear()
        elif now and ready:
            self.due.popleft()
            self.seen += 1
        if taken:
            assert not self.due, "a descriptor is taken before all of the one before is out"
            self.due.extend(self.packets(offered))
        await FallingEdge(dut.clk_i)
        return taken

    async def play(self, descriptors: int) -> int:
        """So many, to the end of the last one. Cycles."""
        cycles = 0
        for _ in range(descriptors):
            of = self.descriptor()
            while self.pick.random() > self.offers:
                cycles += 1
                await self.cycle(None)
            while not await self.cycle(of):
                cycles += 1
                assert cycles < descriptors * 200, "a descriptor is not taken"
            cycles += 1
        while self.due:
            await self.cycle(None)
            cycles += 1
            assert cycles < descriptors * 200, "a packet does not come"
        return cycles


@cocotb.test()
@cocotb.parametrize(seed=[1, 2, 3])
async def descriptors_are_cut(dut, seed: int) -> None:
    bench = Bench(dut, seed)
    await bench.begin()
    await bench.play(300)
    assert bench.seen > 500


@cocotb.test()
async def abort_forgets_what_is_in_hand(dut) -> None:
    """Nothing of a descriptor comes behind Abort, and the next one is cut as any."""
    bench = Bench(dut, 4)
    await bench.begin()
    bench.aborts = 0.1
    await bench.play(400)
    bench.aborts = 0.0
    before = bench.seen
    await bench.play(50)
    assert bench.seen >= before + 50


@cocotb.test()
async def it_keeps_its_pace(dut) -> None:
    """As quick as the frames on the wire: at most four cycles for a line, three more for each further packet, as README.md says."""
    bench = Bench(dut, 5)
    await bench.begin()
    bench.offers = bench.takes = 1.0
    descriptors = 200
    cycles = await bench.play(descriptors)
    assert cycles <= 4 * descriptors + 3 * (bench.seen - descriptors) + 4
