# SPDX-License-Identifier: Apache-2.0
"""Frames of all lengths, at once and with pauses, to a receiver that is slow at times: each comes as far as README.md says or is
missed, and said; its words in consecutive cycles; with room nothing is missed."""

import random
from collections import deque

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly

FRAMES = 16
CREDITS = (82, 90, 102, 110)  # bytes


class Bench:
    def __init__(self, dut, seed: int) -> None:
        self.dut, self.pick = dut, random.Random(seed)
        self.slow = 0  # cycles between a last word and the next frame, at most
        self.kept: deque[bytes] = deque()  # what may come out
        self.coming = b""
        self.going = b""
        self.wait: int | None = None
        self.given = self.out = self.missed = 0

    async def begin(self) -> None:
        dut = self.dut
        Clock(dut.clk_i, 4, unit="ns").start()
        for name in ("s_axis_tvalid", "s_axis_tdata", "s_axis_tkeep", "s_axis_tlast", "next_i", "clear_i"):
            getattr(dut, name).value = 0
        dut.rst_ni.value = 0
        for _ in range(3):
            await FallingEdge(dut.clk_i)
        dut.rst_ni.value = 1

    async def cycle(self, beat: bytes | None = None, last: bool = False) -> None:
        dut, pick = self.dut, self.pick
        dut.s_axis_tvalid.value = beat is not None
        data = beat or b""
        dut.s_axis_tdata.value = int.from_bytes(data + pick.randbytes(64 - len(data)), "little")
        dut.s_axis_tkeep.value = (1 << len(data)) - 1 if beat else pick.getrandbits(64)
        dut.s_axis_tlast.value = last if beat else pick.randrange(2)
        dut.next_i.value = self.wait == 0
        self.wait = None if self.wait in (None, 0) else self.wait - 1
        await ReadOnly()
        self.missed += int(dut.missed_o.value)
        if dut.valid_o.value:
            self.going += int(dut.word_o.value).to_bytes(2, "little")
            if dut.last_o.value:
                self.take()
        else:
            assert not self.going, "a gap inside a frame"
        if beat:
            self.coming += beat
            if last:
                self.kept.append(self.goes_on(self.coming))
                self.coming = b""
                self.given += 1
        await FallingEdge(dut.clk_i)

    @staticmethod
    def goes_on(frame: bytes) -> bytes:
        """A credit whole, of other frames of two beats or more the first, of shorter ones a word."""
        return frame if len(frame) in CREDITS else frame[:64] if len(frame) > 64 else frame[:2]

    def take(self) -> None:
        # those in front of it have been missed
        at = next((n for n, frame in enumerate(self.kept) if self.going.startswith(frame)), None)
        assert at is not None and len(self.going) == max(2, len(self.kept[at])), "a frame that was not given"
        for _ in range(at + 1):
            self.kept.popleft()
        self.going = b""
        self.wait = self.pick.randint(0, self.slow)
        self.out += 1

    async def frame(self, length: int, pauses: float = 0.0) -> None:
        data = self.pick.randbytes(length)
        for at in range(0, length, 64):
            while self.pick.random() < pauses:
                await self.cycle()
            await self.cycle(data[at : at + 64], at + 64 >= length)

    async def rest(self) -> None:
        for _ in range(FRAMES * (64 + self.slow)):
            await self.cycle()
        assert not self.going and self.given == self.out + self.missed


@cocotb.test()
@cocotb.parametrize(seed=[1, 2, 3])
async def frames_come_or_are_missed(dut, seed: int) -> None:
    bench = Bench(dut, seed)
    await bench.begin()
    lengths = (*CREDITS, 60, 64, 65, 74, 81, 83, 89, 91, 94, 101, 103, 109, 111, 128, 129, 192, 193, 1500)
    for _ in range(40):
        bench.slow = bench.pick.choice((0, 30))
        pauses = bench.pick.choice((0.0, 0.5, 0.95))
        for _ in range(20):
            await bench.frame(bench.pick.choice(lengths), pauses)
    await bench.rest()
    assert bench.missed > 20 and bench.out > 100


@cocotb.test()
async def a_credit_of_each_dtp_is_kept(dut) -> None:
    """Sixteen at once, as README.md says, and those that come while the first one goes."""
    bench = Bench(dut, 4)
    await bench.begin()
    bench.slow = 30
    for _ in range(FRAMES):
        await bench.frame(bench.pick.choice(CREDITS))
    await bench.rest()
    assert bench.missed == 0 and bench.out == FRAMES
    for _ in range(2 * FRAMES):
        await bench.frame(bench.pick.choice(CREDITS))
    await bench.rest()
    assert FRAMES <= bench.out - FRAMES <= FRAMES + 2


@cocotb.test()
async def a_slow_stream_is_not_missed(dut) -> None:
    bench = Bench(dut, 5)
    await bench.begin()
    for _ in range(150):
        await bench.frame(bench.pick.randint(60, 400), 0.2)
        for _ in range(70):
            await bench.cycle()
    await bench.rest()
    assert bench.missed == 0 and bench.out == 150


@cocotb.test()
async def what_is_forgotten_does_not_come(dut) -> None:
    bench = Bench(dut, 6)
    await bench.begin()
    for late in range(75):
        await bench.frame(110)
        await bench.frame(90)
        for _ in range(late):
            await bench.cycle()
        dut.clear_i.value = 1
        await bench.cycle()
        dut.clear_i.value = 0
        bench.kept.clear()
        bench.going, bench.wait, bench.given, bench.out, bench.missed = b"", None, 0, 0, 0
        await bench.frame(102)
        await bench.rest()
        assert bench.out == 1 and bench.missed == 0
