# SPDX-License-Identifier: Apache-2.0
"""Words in and out as they like, full and empty, emptied at times: all in order; a word a cycle; how late the first one is."""

# build: -GWidth=20 -GDepth=16
# build: -GWidth=7 -GDepth=4
import random
from collections import deque

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly


class Bench:
    def __init__(self, dut, seed: int) -> None:
        self.dut, self.pick = dut, random.Random(seed)
        self.depth, self.width = int(dut.Depth.value), int(dut.Width.value)
        self.words: deque[int] = deque()
        self.popped = self.full = 0

    async def begin(self) -> None:
        dut = self.dut
        Clock(dut.clk_i, 4, unit="ns").start()
        for name in ("clear_i", "push_i", "pop_i", "data_i"):
            getattr(dut, name).value = 0
        dut.rst_ni.value = 0
        for _ in range(3):
            await FallingEdge(dut.clk_i)
        dut.rst_ni.value = 1

    async def cycle(self, pushes: float, pops: float, clears: float = 0.0) -> bool:
        """One, in which a word is pushed and popped with these chances when that is allowed. Whether one was shown."""
        dut, pick = self.dut, self.pick
        shown = bool(dut.valid_o.value)
        dut.push_i.value = push = int(not dut.full_o.value and pick.random() < pushes)
        dut.pop_i.value = pop = int(shown and pick.random() < pops)
        dut.clear_i.value = clear = int(pick.random() < clears)
        dut.data_i.value = word = pick.getrandbits(self.width)
        await ReadOnly()
        assert dut.full_o.value == (len(self.words) == self.depth)
        self.full += len(self.words) == self.depth
        if shown:
            assert self.words and int(dut.data_o.value) == self.words[0]
        if pop:
            self.words.popleft()
            self.popped += 1
        if push:
            self.words.append(word)
        if clear:
            self.words.clear()
        await FallingEdge(dut.clk_i)
        return shown


@cocotb.test()
async def words_come_out_in_order(dut) -> None:
    bench = Bench(dut, 1)
    await bench.begin()
    for _ in range(120):
        pushes, pops = (bench.pick.choice((0.1, 0.5, 1.0)) for _ in range(2))
        clears = bench.pick.choice((0.0, 0.0, 0.02))
        for _ in range(50):
            await bench.cycle(pushes, pops, clears)
    assert bench.popped > 1500 and bench.full > 300


@cocotb.test()
async def a_word_a_cycle_two_cycles_late(dut) -> None:
    bench = Bench(dut, 2)
    await bench.begin()
    shown = [await bench.cycle(1.0, 1.0) for _ in range(100)]
    assert shown == [False, False] + [True] * 98
    shown = [await bench.cycle(0.0, 1.0) for _ in range(3)]
    assert shown == [True, True, False]


@cocotb.test()
async def clear_empties_it(dut) -> None:
    bench = Bench(dut, 3)
    await bench.begin()
    for _ in range(bench.depth + 4):
        await bench.cycle(1.0, 0.0)
    assert dut.full_o.value == 1
    await bench.cycle(0.0, 0.0, 1.0)
    assert not dut.valid_o.value and not dut.full_o.value
