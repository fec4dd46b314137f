# SPDX-License-Identifier: Apache-2.0
"""Pushed descriptors against what was pushed."""

# build: -GMemoryMiB=3
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge

MEMORY = 3 << 20
EMPTY, OUTSIDE, DTP, LONG = 6, 7, 8, 10


class Bench:
    """Writes as the registers do; takes as the segmenter does."""

    def __init__(self, dut, seed):
        self.dut, self.pick = dut, random.Random(seed)
        self.posted = 0
        self.out, self.errors = [], []

    async def begin(self, posted=0):
        dut = self.dut
        cocotb.start_soon(Clock(dut.clk_i, 4, unit="ns").start())
        for name in ("write_i", "arm_i", "running_i", "ready_i"):
            getattr(dut, name).value = 0
        dut.posted_i.value = self.posted = posted
        dut.enabled_i.value = 0xFFFF & ~(1 << 9)
        dut.rst_ni.value = 0
        await ClockCycles(dut.clk_i, 3)
        dut.rst_ni.value = 1
        await self.arm()
        dut.running_i.value = 1
        cocotb.start_soon(self._take())

    async def arm(self):
        self.dut.arm_i.value = 1
        await ClockCycles(self.dut.clk_i, 1)
        self.dut.arm_i.value = 0
        await ClockCycles(self.dut.clk_i, 2)

    async def _take(self):
        dut = self.dut
        shown = None
        while True:
            await FallingEdge(dut.clk_i)
            dut.ready_i.value = ready = int(self.pick.random() < 0.4)
            if int(dut.valid_o.value):
                now = int(dut.descriptor_o.value)
                assert shown in (None, now), "changed before it was taken"
                shown = None if ready else now
                if ready:
                    self.out.append(now)
            else:
                assert shown is None, "withdrawn"
            error = int(dut.error_o.value)
            if error >> 40:
                self.errors.append((error >> 36 & 15, error >> 32 & 15, error & 0xFFFFFFFF))

    async def push(self, source, dtp, event, destination, bytes_, immediate):
        words = [source & 0xFFFFFFFF, source >> 32 | dtp << 16 | event << 20, destination & 0xFFFFFFFF, destination >> 32,
                 bytes_, immediate, 0, 0]  # fmt: skip
        while (self.posted - int(self.dut.taken_o.value)) & 0xFFFFFFFF >= 64:
            await RisingEdge(self.dut.clk_i)
        order = list(range(8))
        self.pick.shuffle(order)
        for word in order:
            self.dut.write_i.value = 1 << 41 | (self.posted % 64 * 8 + word) << 32 | words[word]
            await ClockCycles(self.dut.clk_i, 1)
        self.dut.write_i.value = 0
        self.posted = (self.posted + 1) & 0xFFFFFFFF
        if self.pick.random() < 0.5:
            self.dut.posted_i.value = self.posted

    async def drained(self):
        self.dut.posted_i.value = self.posted
        for _ in range(5000):
            await RisingEdge(self.dut.clk_i)
            if int(self.dut.taken_o.value) == self.posted and int(self.dut.idle_o.value):
                return
        raise AssertionError("never drained")

    def good(self):
        pick = self.pick
        event = int(pick.random() < 0.2)
        most = 4096 if pick.random() < 0.9 else MEMORY
        bytes_ = 128 if event else pick.randint(1, most)
        source = pick.randint(0, MEMORY - bytes_) if pick.random() < 0.9 else MEMORY - bytes_
        dtp = pick.choice([d for d in range(16) if d != 9])
        return source, dtp, event, pick.getrandbits(64), bytes_, pick.getrandbits(32)


def packed(source, dtp, event, destination, bytes_, immediate):
    """A descriptor_t."""
    value = dtp << 4 | event << 3
    for part, width in ((source, 48), (destination, 64), (bytes_, 32), (immediate, 32), (0, 64 + 32 + 32)):
        value = value << width | part
    return value


@cocotb.test()
@cocotb.parametrize(begin=[0, 0xFFFFFFE0])
async def all_come_out_in_order(dut, begin):
    bench = Bench(dut, begin)
    await bench.begin(begin)
    sent = [bench.good() for _ in range(300)]
    for descriptor in sent:
        await bench.push(*descriptor)
    await bench.drained()
    assert bench.out == [packed(*d) for d in sent]
    assert bench.errors == []


@cocotb.test()
async def what_is_wrong_is_said_and_stops(dut):
    bench = Bench(dut, 3)
    await bench.begin()
    good = (64, 2, 0, 5, 64, 0)
    cases = [
        ((64, 2, 0, 5, 0, 0), EMPTY),
        ((64, 9, 0, 5, 64, 0), DTP),
        ((64, 2, 1, 5, 130, 0), LONG),
        ((0, 2, 0, 5, 0x80000001, 0), LONG),
        ((MEMORY, 2, 0, 5, 1, 0), OUTSIDE),
        ((MEMORY - 64, 2, 0, 5, 65, 0), OUTSIDE),
        ((0xFFFFFFFFFFFE, 2, 0, 5, 4, 0), OUTSIDE),
        ((1 << 32, 2, 0, 5, 4, 0), OUTSIDE),
        ((0xFFFFFFF0, 2, 0, 5, 0x80000000, 0), OUTSIDE),
    ]
    for number, (bad, code) in enumerate(cases):
        bench.out.clear()
        bench.errors.clear()
        for _ in range(number % 3):
            await bench.push(*good)
        await bench.push(*bad)
        await bench.push(*good)
        dut.posted_i.value = bench.posted
        await ClockCycles(dut.clk_i, 200)
        assert bench.errors == [(code, bad[1], number % 3)], bad
        assert bench.out == [packed(*good)] * (number % 3)
        await bench.arm()


@cocotb.test()
async def nothing_moves_while_no_run_is_on(dut):
    bench = Bench(dut, 4)
    await bench.begin()
    dut.running_i.value = 0
    for _ in range(5):
        await bench.push(*bench.good())
    dut.posted_i.value = bench.posted
    await ClockCycles(dut.clk_i, 50)
    assert not bench.out and int(dut.taken_o.value) == 0 and int(dut.idle_o.value)
    await bench.arm()
    assert int(dut.taken_o.value) == 5  # what was posted before Arm is forgotten
    dut.running_i.value = 1
    last = bench.good()
    await bench.push(*last)
    await bench.drained()
    assert bench.out == [packed(*last)]
