# SPDX-License-Identifier: Apache-2.0
"""Rates kept, bursts bounded, nobody held back who has no rate."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge

RATE, BURST = 55, 58  # words of the table
SLACK = 40  # cycles: a bucket is looked at every 16


async def set_word(dut, dtp, word, value):
    dut.table_i.value = 1 << 43 | dtp << 39 | word << 32 | value
    await FallingEdge(dut.clk_i)
    dut.table_i.value = 0


async def begin(dut, rates, bursts):
    cocotb.start_soon(Clock(dut.clk_i, 4, unit="ns").start())
    for name in ("arm_i", "table_i", "spend_i", "dtp_i", "bytes_i"):
        getattr(dut, name).value = 0
    dut.rst_ni.value = 0
    await ClockCycles(dut.clk_i, 3)
    await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    for dtp in range(16):
        await set_word(dut, dtp, RATE, rates[dtp])
        await set_word(dut, dtp, BURST, bursts[dtp])
    await arm(dut)


async def arm(dut):
    await FallingEdge(dut.clk_i)
    dut.arm_i.value = 1
    await FallingEdge(dut.clk_i)
    dut.arm_i.value = 0


async def play(dut, cycles, pick, most, asks=1.0, of=range(16)):
    """A descriptor every fourth cycle at most, of a DTP that may go. What was spent: (cycle, DTP, bytes)."""
    spent, last = [], 0
    for cycle in range(cycles):
        await FallingEdge(dut.clk_i)
        dut.spend_i.value = 0
        may = int(dut.may_go_o.value)
        able = [d for d in of if may >> d & 1]
        if cycle % 4 or not able or pick.random() > asks:
            continue
        last = next((d for d in able if d > last), able[0])
        bytes_ = pick.randint(1, most)
        dut.spend_i.value, dut.dtp_i.value, dut.bytes_i.value = 1, last, bytes_
        spent.append((cycle, last, bytes_))
    dut.spend_i.value = 0
    await RisingEdge(dut.clk_i)
    return spent


def bounded(spent, dtp, rate, burst, most):
    """In no stretch of time more than rate and burst allow, and one descriptor."""
    own = [(cycle, bytes_) for cycle, d, bytes_ in spent if d == dtp]
    level, before = float(burst), 0
    for cycle, bytes_ in own:
        level = min(burst + rate * SLACK / 65536, level + (cycle - before) * rate / 65536)
        before = cycle
        assert level > -most - rate * SLACK / 65536, f"DTP {dtp} has sent too much at cycle {cycle}"
        level -= bytes_


@cocotb.test()
@cocotb.parametrize(seed=[1, 2, 3])
async def no_dtp_goes_beyond_its_rate_and_burst(dut, seed):
    pick = random.Random(seed)
    rates = [pick.choice([0, pick.randint(1, 70000), pick.randint(1, 1 << 22)]) for _ in range(16)]
    bursts = [pick.choice([4096, 1 << 20, pick.randint(1, 65536)]) for _ in range(16)]
    await begin(dut, rates, bursts)
    spent = await play(dut, 12000, pick, 4096, asks=pick.choice([1.0, 0.3]))
    for dtp in range(16):
        if rates[dtp]:
            bounded(spent, dtp, rates[dtp], bursts[dtp], 4096)


@cocotb.test()
async def who_always_asks_gets_his_rate(dut):
    pick = random.Random(4)
    rates = [65536 * 3 // 2 + 7, 65536 * 10, 65536 // 3] + [0] * 13
    await begin(dut, rates, [4096] * 16)
    cycles = 30000
    spent = await play(dut, cycles, pick, 512, of=range(3))
    for dtp in range(3):
        due = rates[dtp] * cycles / 65536
        got = sum(b for _, d, b in spent if d == dtp) - 4096
        assert 0.99 * due - 600 < got < 1.01 * due + 600, (dtp, got, due)


@cocotb.test()
async def slow_rates_are_kept_to_the_byte(dut):
    """Less than a byte a look: what remains of it must add up."""
    pick = random.Random(9)
    rates = [3000, 4095, 4097, 1500, 8000, 6143] + [0] * 10
    await begin(dut, rates, [64] * 16)
    cycles = 60000
    spent = await play(dut, cycles, pick, 32, of=range(6))
    for dtp in range(6):
        due = rates[dtp] * cycles / 65536 + 64
        got = sum(b for _, d, b in spent if d == dtp)
        assert due - 1 - rates[dtp] * SLACK / 65536 < got < due + 33, (dtp, got, due)


@cocotb.test()
async def any_burst_and_any_rate_let_it_go(dut):
    bursts = [0, 1, (1 << 30) - 1, 1 << 30, (1 << 31) - 1, 1 << 31, 0xFFFFFFFF, 1 << 20] + [0xFFFFFFFF] * 8
    await begin(dut, [0xFFFFFFFF] * 8 + [1 << 20] * 8, bursts)
    await ClockCycles(dut.clk_i, 100)
    assert int(dut.may_go_o.value) == 0xFFFF
    spent = await play(dut, 4000, random.Random(10), 256)
    await ClockCycles(dut.clk_i, 40)
    assert len(spent) > 900 and int(dut.may_go_o.value) == 0xFFFF


@cocotb.test()
async def without_a_rate_nothing_is_held_back(dut):
    pick = random.Random(5)
    await begin(dut, [0] * 16, [0] * 16)
    await ClockCycles(dut.clk_i, 40)
    spent = await play(dut, 800, pick, 1 << 20, of=range(16))
    assert len(spent) == 200
    assert int(dut.may_go_o.value) == 0xFFFF


@cocotb.test()
async def arm_fills_the_buckets(dut):
    pick = random.Random(6)
    await begin(dut, [100] * 16, [5000] * 16)
    first = await play(dut, 4000, pick, 2000)
    assert int(dut.may_go_o.value) == 0
    await arm(dut)
    await ClockCycles(dut.clk_i, 40)
    assert int(dut.may_go_o.value) == 0xFFFF
    again = await play(dut, 4000, pick, 2000)
    for spent in (first, again):
        for dtp in range(16):
            assert sum(b for _, d, b in spent if d == dtp) >= 5000
