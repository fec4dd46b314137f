# SPDX-License-Identifier: Apache-2.0
"""Random writes of all words of all DTPs: one word is kept, and shown in the same cycle."""

# build: -GWord=7'd41
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer
from hdl import TABLE_WRITE

WORD = 41


@cocotb.test()
async def one_word_is_kept(dut) -> None:
    pick = random.Random(1)
    Clock(dut.clk_i, 4, unit="ns").start()
    kept: dict[int, int] = {}
    await FallingEdge(dut.clk_i)
    for _ in range(4000):
        write = {
            "valid": pick.randrange(2),
            "dtp": pick.randrange(16),
            "word": pick.choice((WORD, WORD, WORD ^ 1 << pick.randrange(7), pick.randrange(128))),
            "data": pick.getrandbits(32),
        }
        dut.write_i.value = TABLE_WRITE.pack(**write)
        for dtp in (pick.randrange(16), write["dtp"]):
            dut.dtp_i.value = dtp
            await Timer(1, "ns")
            assert kept.get(dtp) in (None, int(dut.data_o.value)), "before the edge it is the old one"
        await FallingEdge(dut.clk_i)
        if write["valid"] and write["word"] == WORD:
            kept[write["dtp"]] = write["data"]
    assert len(kept) == 16
