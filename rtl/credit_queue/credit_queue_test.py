# SPDX-License-Identifier: Apache-2.0
"""Frames of all lengths, at once and with pauses, to a receiver that is slow at times: each comes whole (of a long one three
beats) or is missed, and said; nothing is held up; with room nothing is missed."""

import random
from collections import deque

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly

DEPTH = 64  # beats
MOST = 3  # of a frame
Beat = tuple[int, int, int]  # data, keep, last


class Bench:
    def __init__(self, dut, seed: int) -> None:
        self.dut, self.pick = dut, random.Random(seed)
        self.takes = 1.0
        self.kept: deque[list[Beat]] = deque()  # frames that may come out
        self.coming: list[Beat] = []
        self.going: list[Beat] = []
        self.shown: Beat | None = None
        self.given = self.out = self.missed = 0

    async def begin(self) -> None:
        dut = self.dut
        Clock(dut.clk_i, 4, unit="ns").start()
        for name in ("s_axis_tvalid", "s_axis_tdata", "s_axis_tkeep", "s_axis_tlast", "m_axis_tready"):
            getattr(dut, name).value = 0
        dut.rst_ni.value = 0
        for _ in range(3):
            await FallingEdge(dut.clk_i)
        dut.rst_ni.value = 1

    async def cycle(self, beat: Beat | None) -> None:
        dut, pick = self.dut, self.pick
        dut.s_axis_tvalid.value = beat is not None
        data, keep, last = beat or (pick.getrandbits(512), pick.getrandbits(64), pick.randrange(2))
        dut.s_axis_tdata.value, dut.s_axis_tkeep.value, dut.s_axis_tlast.value = data, keep, last
        dut.m_axis_tready.value = ready = int(pick.random() < self.takes)
        await ReadOnly()
        self.missed += int(dut.missed_o.value)
        now = None
        if dut.m_axis_tvalid.value:
            now = tuple(int(getattr(dut, f"m_axis_{name}").value) for name in ("tdata", "tkeep", "tlast"))
            if ready:
                self.take(now)
        assert self.shown in (None, now), "a beat has changed before it was taken"
        self.shown = None if ready else now
        if beat:
            self.coming.append(beat)
            if last:
                kept = self.coming[:MOST]
                self.kept.append([*kept[:-1], (*kept[-1][:2], 1)])
                self.coming = []
                self.given += 1
        await FallingEdge(dut.clk_i)

    def take(self, beat: Beat) -> None:
        self.going.append(beat)
        if not beat[2]:
            return
        # those in front of it have been missed; the one that still comes is as far as it has come
        frames = (
            [*self.kept, [*self.coming[: MOST - 1], (*self.coming[MOST - 1][:2], 1)]]
            if len(self.coming) >= MOST
            else self.kept
        )
        at = next((n for n, frame in enumerate(frames) if frame == self.going), None)
        assert at is not None, "a frame that was not given"
        for _ in range(at + 1):
            if self.kept:
                self.kept.popleft()
        self.going = []
        self.out += 1

    async def frame(self, beats: int, pauses: float = 0.0) -> None:
        pick = self.pick
        for n in range(beats):
            while pick.random() < pauses:
                await self.cycle(None)
            last = n + 1 == beats
            keep = (1 << pick.randint(1, 64)) - 1 if last else (1 << 64) - 1
            await self.cycle((pick.getrandbits(512), keep, int(last)))

    async def rest(self) -> None:
        self.takes = 1.0
        for _ in range(DEPTH + 8):
            await self.cycle(None)
        assert not self.going and self.given == self.out + self.missed


@cocotb.test()
@cocotb.parametrize(seed=[1, 2, 3])
async def frames_come_whole_or_are_missed(dut, seed: int) -> None:
    bench = Bench(dut, seed)
    await bench.begin()
    for _ in range(40):
        bench.takes = bench.pick.choice((0.02, 0.3, 1.0))
        pauses = bench.pick.choice((0.0, 0.5))
        for _ in range(20):
            await bench.frame(bench.pick.choice((1, 2, 2, 2, 3, 4, 9)), pauses)
    await bench.rest()
    assert bench.missed > 20 and bench.out > 300


@cocotb.test()
async def credits_at_once_are_kept(dut) -> None:
    """Twenty-one of two beats, as README.md says; one more than fit is missed."""
    bench = Bench(dut, 4)
    await bench.begin()
    bench.takes = 0.0
    for _ in range(21):
        await bench.frame(2)
    for _ in range(3):
        await bench.cycle(None)
    assert bench.missed == 0
    for _ in range(20):
        await bench.frame(2)
    await bench.rest()
    assert 21 <= bench.out < 41 and bench.missed == 41 - bench.out


@cocotb.test()
async def a_slow_stream_is_not_missed(dut) -> None:
    bench = Bench(dut, 5)
    await bench.begin()
    for _ in range(300):
        await bench.frame(bench.pick.randint(1, 12), 0.2)
    await bench.rest()
    assert bench.missed == 0 and bench.out == 300
