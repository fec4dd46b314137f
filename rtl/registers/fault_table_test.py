# SPDX-License-Identifier: Apache-2.0
"""Faults hit the packets that they name, once a run, and no other."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge


@cocotb.test()
async def faults_hit_once_and_nothing_else(dut):
    pick = random.Random(1)
    cocotb.start_soon(Clock(dut.clk_i, 4, unit="ns").start())
    for name in ("clear_i", "write_i", "ask_i", "dtp_i", "psn_i"):
        getattr(dut, name).value = 0
    dut.rst_ni.value = 0
    await ClockCycles(dut.clk_i, 3)
    await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 1

    async def write(word, value):
        dut.write_i.value = 1 << 39 | word << 32 | value
        await FallingEdge(dut.clk_i)
        dut.write_i.value = 0

    async def ask(dtp, psn, asks=1):
        dut.ask_i.value, dut.dtp_i.value, dut.psn_i.value = asks, dtp, psn
        await FallingEdge(dut.clk_i)
        dut.ask_i.value = 0
        return int(dut.drop_o.value), int(dut.flip_o.value), int(dut.bit_o.value)

    faults = {}
    while len(faults) < 64:
        faults[pick.randrange(16), pick.getrandbits(24)] = (pick.choice((0, 1, 2)), pick.getrandbits(15))
    for entry, ((dtp, psn), (kind, bit)) in enumerate(faults.items()):
        await write(2 * entry, dtp << 24 | psn)
        await write(2 * entry + 1, kind << 16 | bit)
    for _ in range(2):
        dut.clear_i.value = 1
        await FallingEdge(dut.clk_i)
        dut.clear_i.value = 0
        for dtp, psn in faults:
            assert (await ask(dtp, psn, asks=0))[:2] == (0, 0), "nobody asked"
            assert (await ask(dtp ^ 1, psn))[:2] == (0, 0) or (dtp ^ 1, psn) in faults
            assert (await ask(dtp, psn ^ 1 << pick.randrange(24)))[:2] == (0, 0)
        order = list(faults)
        pick.shuffle(order)
        for dtp, psn in order:
            kind, bit = faults[dtp, psn]
            assert await ask(dtp, psn) == (int(kind == 1), int(kind == 2), bit)
            assert (await ask(dtp, psn))[:2] == (0, 0), "it has hit already"
    for entry, ((dtp, psn), (kind, bit)) in enumerate(faults.items()):
        if entry % 3 == 0:
            await write(2 * entry + entry % 2, kind << 16 | bit if entry % 2 else dtp << 24 | psn)
    for entry, ((dtp, psn), (kind, bit)) in enumerate(faults.items()):
        again = entry % 3 == 0  # written again: it hits once more
        assert await ask(dtp, psn) == ((int(kind == 1), int(kind == 2), bit) if again else (0, 0, 0))
        assert (await ask(dtp, psn))[:2] == (0, 0)
