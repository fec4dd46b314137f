# SPDX-License-Identifier: Apache-2.0
"""The block of registers, by an AXI-Lite master."""

import logging
import random
import re
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, ReadOnly, RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp

# build: -GMemoryMiB=8192 -GFaults=1'b1
PACKAGE = (Path(__file__).resolve().parents[1] / "package" / "card_registers_pkg.sv").read_text(encoding="utf-8")
NAMES = {m[1]: int(m[2], 16) for m in re.finditer(r"(\w+) = \d+'h([0-9a-f]+);", PACKAGE)}
NAMES |= {m[1]: int(m[2]) for m in re.finditer(r"(\w+) = (?:\d+'d)?(\d+)[;,\n]", PACKAGE)}
ROW = 0x200
MEMORY = 1 << 33

# A table that Arm accepts: words by name; the second word of a value has _HIGH.
GOOD = {
    "Mtu": 4096, "Dtp": 1 << 9, "Source": 0x1000, "RecordSource": 0x40, "FrameStep": 0x100000, "FrameRing": 0x400000,
    "OuterCount": 512, "InnerCount": 1, "OuterSourceStep": 2048, "PieceBytes": 2048, "RestBytes": 2048, "LastBytes": 2048,
    "Slots": 7, "Images": 100, "FramesBetween": 1, "Lines": 512, "PayloadBytes": 1 << 20, "LinesPerRun": 1,
}  # fmt: skip


class Bench:
    def __init__(self, dut):
        self.dut = dut
        self.axil = AxiLiteMaster(
            AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk_i, dut.rst_ni, reset_active_level=False
        )
        logging.getLogger("cocotb.registers.s_axil").setLevel(logging.WARNING)

    async def begin(self):
        cocotb.start_soon(Clock(self.dut.clk_i, 4, unit="ns").start())
        self.dut.rst_ni.value = 0
        for name in (
            "idle_i",
            "dtps_done_i",
            "dtps_waiting_i",
            "dtp_i",
            "credit_granted_i",
            "descriptors_taken_i",
            "descriptors_done_i",
        ):
            getattr(self.dut, name).value = 0
        self.dut.error_i.value = 0
        self.dut.counts_i.value = 0
        self.dut.idle_i.value = 1
        await ClockCycles(self.dut.clk_i, 4)
        self.dut.rst_ni.value = 1
        await ClockCycles(self.dut.clk_i, 2)

    def stall(self, seed):
        pick = random.Random(seed)

        def pauses():
            while True:
                yield pick.random() < 0.5

        write, read = self.axil.write_if, self.axil.read_if
        for channel in (write.aw_channel, write.w_channel, write.b_channel, read.ar_channel, read.r_channel):
            channel.set_pause_generator(pauses())

    async def write(self, address, value, answer=AxiResp.OKAY):
        result = await self.axil.write(address, value.to_bytes(4, "little"))
        assert result.resp == answer, f"write of {address:#x} answered {result.resp}"

    async def read(self, address, answer=AxiResp.OKAY):
        result = await self.axil.read(address, 4)
        assert result.resp == answer, f"read of {address:#x} answered {result.resp}"
        return int.from_bytes(result.data, "little")

    async def get(self, name):
        return await self.read(NAMES[name + "Address"])

    async def get64(self, name):
        low = await self.get(name)
        return low | await self.read(NAMES[name + "Address"] + 4) << 32

    async def row(self, dtp, **words):
        for name, value in {**GOOD, **words}.items():
            word = NAMES["DtpTable" + name.removesuffix("_HIGH") + "Word"] + name.endswith("_HIGH")
            await self.write(0x4000 + dtp * ROW + 4 * word, value)

    async def clear_table(self):
        for dtp in range(16):
            for word in range(64):
                await self.write(0x4000 + dtp * ROW + 4 * word, 0)

    async def command(self, name, count):
        await self.write(NAMES[f"Doorbells{name}Address"], count)
        for _ in range(3000):
            if await self.get(f"Status{name}Done") == count:
                return
        raise AssertionError(f"{name} {count} is never done")

    async def error(self):
        word = await self.get("StatusError")
        return word & 0xFF, word >> 8 & 0xFF, word >> 16, await self.get("StatusErrorLine")

    async def state(self):
        return await self.get("StatusState")


async def begun(dut, stalls=0):
    bench = Bench(dut)
    await bench.begin()
    if stalls:
        bench.stall(stalls)
    return bench


async def receive(dut, granted):
    """Says what receivers have granted."""
    while True:
        await FallingEdge(dut.clk_i)
        dut.credit_granted_i.value = granted[int(dut.credit_dtp_o.value)]


async def counts_of(dut, dtp):
    """Granted, and frames available."""
    await FallingEdge(dut.clk_i)
    dut.dtp_i.value = dtp
    await ReadOnly()
    return int(dut.granted_o.value), int(dut.frames_available_o.value)


@cocotb.test()
async def identity_is_told(dut):
    bench = await begun(dut)
    assert (await bench.get("IdentityMagic")).to_bytes(4, "little") == b"RSPC"
    assert await bench.get("IdentityVersion") == 1
    assert await bench.get("IdentityCapabilities") == 1 << 31 | 64 << 8 | 16
    assert await bench.get64("IdentityMemoryBytes") == MEMORY
    assert await bench.get("IdentityFifoBeats") == 512 << 16 | 512
    assert await bench.state() == 0


@cocotb.test()
async def words_go_to_the_blocks_and_are_kept(dut):
    bench = await begun(dut, stalls=1)
    pick = random.Random(2)
    seen = []

    async def watch():
        while True:
            await RisingEdge(dut.clk_i)
            value = int(dut.table_write_o.value)  # valid, dtp, word, data
            if value >> 43:
                seen.append((value >> 39 & 15, value >> 32 & 127, value & 0xFFFFFFFF))

    cocotb.start_soon(watch())
    sent = [(pick.randrange(16), pick.randrange(64), pick.getrandbits(32)) for _ in range(150)]
    model = {}
    for dtp, word, value in sent:
        await bench.write(0x4000 + dtp * ROW + 4 * word, value)
        model[dtp, word] = value
    await ClockCycles(dut.clk_i, 5)
    assert seen == sent
    for (dtp, word), value in model.items():
        assert await bench.read(0x4000 + dtp * ROW + 4 * word) == value


@cocotb.test()
async def ring_faults_and_doorbells_reach_their_blocks(dut):
    bench = await begun(dut, stalls=3)
    ring, faults = [], []

    async def watch():
        while True:
            await RisingEdge(dut.clk_i)
            value = int(dut.ring_write_o.value)
            if value >> 41:
                ring.append((value >> 32 & 511, value & 0xFFFFFFFF))
            value = int(dut.fault_write_o.value)
            if value >> 39:
                faults.append((value >> 32 & 127, value & 0xFFFFFFFF))

    cocotb.start_soon(watch())
    await bench.write(0x2000, 7)
    await bench.write(0x27FC, 8)
    await bench.write(0x1400, 9)
    await bench.write(0x15FC, 10)
    for dtp in range(16):
        await bench.write(NAMES["DoorbellsGrantedAddress"] + 4 * dtp, 100 + dtp)
        await bench.write(NAMES["DoorbellsFramesAvailableAddress"] + 4 * dtp, 200 + dtp)
    await bench.write(NAMES["DoorbellsDescriptorsPostedAddress"], 55)
    await ClockCycles(dut.clk_i, 4)
    assert ring == [(0, 7), (511, 8)]
    assert faults == [(0, 9), (127, 10)]
    await ClockCycles(dut.clk_i, 36)
    for dtp in range(16):
        assert await counts_of(dut, dtp) == (100 + dtp, 200 + dtp)
    assert int(dut.descriptors_posted_o.value) == 55
    assert await bench.get("DoorbellsDescriptorsPosted") == 55


@cocotb.test()
async def the_later_of_both_grants_counts(dut):
    bench = await begun(dut)
    pick = random.Random(8)
    granted = [0] * 16
    cocotb.start_soon(receive(dut, granted))
    for _ in range(6):
        rung = [pick.choice([0, 5, 1 << 31, 0xFFFFFFF0, pick.getrandbits(32)]) for _ in range(16)]
        for dtp in range(16):
            granted[dtp] = (
                rung[dtp] + pick.choice([0, 1, -1, 1 << 30, -(1 << 30), (1 << 31) - 1, 1 - (1 << 31)])
            ) % 2**32
            await bench.write(NAMES["DoorbellsGrantedAddress"] + 4 * dtp, rung[dtp])
        await ClockCycles(dut.clk_i, 36)
        for dtp in range(16):
            later = granted[dtp] if (granted[dtp] - rung[dtp]) % 2**32 < 1 << 31 else rung[dtp]
            assert (await counts_of(dut, dtp))[0] == later
            assert await bench.read(0x400 + 64 * dtp + 0x20) == later
    # Behind a reset nothing is rung.
    granted[:] = [0] * 16
    dut.rst_ni.value = 0
    await ClockCycles(dut.clk_i, 2)
    dut.rst_ni.value = 1
    await ClockCycles(dut.clk_i, 36)
    for dtp in range(16):
        assert await counts_of(dut, dtp) == (0, 0)


@cocotb.test()
async def what_is_not_there_is_refused(dut):
    bench = await begun(dut, stalls=4)
    for address in (0x0, 0x40, 0x80, 0x400, 0x2800, 0x4100, 0x6000, 0x7E00, 0x7F80, 0x7FEC, 0x1004, 0x1600):
        await bench.write(address, 1, AxiResp.SLVERR)
    for address in (0x20, 0x68, 0xF0, 0x424, 0x1400, 0x2000, 0x4100, 0x6000, 0x7F00, 0x7F40, 0x1004):
        await bench.read(address, AxiResp.SLVERR)
    part = await bench.axil.write(0x4000, b"\x01")  # one byte of a word
    assert part.resp == AxiResp.SLVERR
    assert await bench.state() == 0


@cocotb.test()
async def arm_names_the_word_that_it_refuses(dut):
    bench = await begun(dut)
    await bench.clear_table()
    arms = 1
    await bench.command("Arm", arms)
    assert (await bench.error())[0] == NAMES["ErrorCodeNoDtp"]
    assert await bench.state() == 6
    for dtp in (0, 3, 15):
        await bench.row(dtp)
    zero = ["OuterCount", "InnerCount", "PieceBytes", "RestBytes", "LastBytes", "Slots", "Images", "FramesBetween", "Lines",
            "PayloadBytes", "LinesPerRun", "FrameRing"]  # fmt: skip
    by_64 = ["RecordSource", "FrameStep", "FrameRing", "FrameOffset"]
    cases = [(name, 0, "WordZero") for name in zero]
    cases += [(name, 32, "WordUnaligned") for name in by_64]
    cases += [("Mtu", value, "Mtu") for value in (0, 255, 1500, 8191, 4096 + 256)]
    two = {"Images", "PayloadBytes", "FrameRing"}
    for name, value, code in cases:
        dtp = random.choice((0, 3, 15))
        await bench.row(dtp, **{name: value})
        arms += 1
        await bench.command("Arm", arms)
        word = NAMES[f"DtpTable{name}Word"] + (name in two and code == "WordZero")
        assert (await bench.error())[:3] == (NAMES[f"ErrorCode{code}"], dtp, word), f"{name} = {value}"
        assert await bench.state() == 6
        await bench.row(dtp, **({"FrameOffset": 0} if name == "FrameOffset" else {}))
    # The high word is enough; a DTP that is not enabled may have anything; high bits of the MTU's word are flags; lines lie anywhere.
    await bench.row(
        3,
        Images=0,
        Images_HIGH=1,
        Mtu=256 | 3 << 16,
        Source=3,
        OuterSourceStep=7,
        PieceBytes=5,
        RestBytes=1,
        LastBytes=9,
    )
    await bench.row(15, Dtp=0, Slots=0)
    await bench.command("Arm", arms + 1)
    assert (await bench.error())[0] == 0
    assert await bench.state() == 2
    assert int(dut.enabled_o.value) == 0b1001


@cocotb.test()
async def a_run_goes_through_its_states(dut):
    bench = await begun(dut)
    await bench.row(0, Dtp=0)
    await bench.row(2)
    await bench.row(5)
    await bench.command("Start", 1)
    assert (await bench.error())[0] == NAMES["ErrorCodeNotArmed"]
    await bench.command("Arm", 1)
    assert await bench.state() == 2
    assert (await bench.error())[0] == 0
    await bench.command("Start", 2)
    assert await bench.state() == 3 and int(dut.running_o.value) == 1
    await bench.write(0x4000, 1, AxiResp.SLVERR)
    await bench.write(0x1000, 1, AxiResp.SLVERR)
    await bench.command("Arm", 2)
    assert (await bench.error())[0] == NAMES["ErrorCodeBusy"]
    assert await bench.state() == 3
    dut.dtps_done_i.value = 1 << 2
    await ClockCycles(dut.clk_i, 20)
    assert await bench.state() == 3
    dut.idle_i.value = 0
    dut.dtps_done_i.value = 1 << 2 | 1 << 5
    await ClockCycles(dut.clk_i, 20)
    assert await bench.state() == 3
    dut.idle_i.value = 1
    await ClockCycles(dut.clk_i, 20)
    assert await bench.state() == 4
    await bench.command("Arm", 3)
    await bench.command("Start", 3)
    dut.dtps_done_i.value = 0
    dut.idle_i.value = 0
    await bench.write(NAMES["DoorbellsAbortAddress"], 1)
    await ClockCycles(dut.clk_i, 20)
    assert await bench.state() == 5 and int(dut.aborting_o.value) == 1 and int(dut.running_o.value) == 0
    assert await bench.get("StatusAbortDone") == 0
    dut.idle_i.value = 1
    await bench.command("Abort", 1)
    assert await bench.state() == 0


@cocotb.test()
async def an_error_of_a_block_ends_the_run(dut):
    bench = await begun(dut)
    await bench.clear_table()
    await bench.row(7)
    await bench.command("Arm", 1)
    await bench.command("Start", 1)
    dut.idle_i.value = 0
    # valid, code, dtp, line
    dut.error_i.value = 1 << 40 | NAMES["ErrorCodeMemory"] << 36 | 7 << 32 | 1234
    await RisingEdge(dut.clk_i)
    dut.error_i.value = 1 << 40 | NAMES["ErrorCodeDescriptorLong"] << 36 | 3 << 32 | 4
    await ClockCycles(dut.clk_i, 3)
    dut.error_i.value = 0
    assert await bench.state() == 5
    dut.idle_i.value = 1
    await ClockCycles(dut.clk_i, 20)
    assert await bench.state() == 6
    assert await bench.error() == (NAMES["ErrorCodeMemory"], 7, 0, 1234)
    await bench.command("Arm", 2)
    assert await bench.state() == 2 and (await bench.error())[0] == 0


@cocotb.test()
async def pushed_descriptors_need_little_of_the_table(dut):
    bench = await begun(dut)
    await bench.clear_table()
    await bench.write(0x1000, 1)
    assert await bench.read(0x1000) == 1
    await bench.row(4, Slots=0, Source=1, Lines=0)
    await bench.command("Arm", 1)
    assert await bench.state() == 2
    await bench.row(4, Mtu=100)
    await bench.command("Arm", 2)
    assert (await bench.error())[:3] == (NAMES["ErrorCodeMtu"], 4, NAMES["DtpTableMtuWord"])
    await bench.write(0x1000, 0)


FIELDS = [("packet", 1), ("event", 1), ("dtp", 4), ("bytes", 13), ("lines", 16), ("skipped", 1), ("skipped_dtp", 4),
          ("wait_credit", 1), ("wait_memory", 1), ("wait_wire", 1), ("credit", 1), ("cnp", 1), ("frame_ignored", 1),
          ("icrc_bad", 1), ("frame_missed", 1), ("fault", 1)]  # fmt: skip
COUNTERS = ["images", "lines", "packets", "bytes", "cycles", "wait_credit", "wait_memory", "wait_wire", "credit", "cnp",
            "frame_ignored", "icrc_bad", "frame_missed", "fault"]  # fmt: skip


@cocotb.test()
async def everything_is_counted(dut):
    bench = await begun(dut)
    pick = random.Random(5)
    await bench.clear_table()
    await bench.row(1)
    for arm in (1, 2):
        await bench.command("Arm", arm)
        sender = dict.fromkeys(COUNTERS, 0)
        dtps = [[0, 0, 0, 0] for _ in range(16)]
        for _ in range(3000):
            now = {name: pick.getrandbits(width) for name, width in FIELDS}
            now["bytes"] = min(now["bytes"], 4096)
            value = 0
            for name, width in FIELDS:
                value = value << width | now[name]
            dut.counts_i.value = value
            await RisingEdge(dut.clk_i)
            for name in COUNTERS[4:]:
                sender[name] += now.get(name, 0)
            sender["lines"] += now["lines"]
            if now["packet"]:
                sender["packets"] += 1
                sender["bytes"] += now["bytes"]
                sender["images"] += now["event"]
                dtps[now["dtp"]][0] += now["event"]
                dtps[now["dtp"]][2] += 1
                dtps[now["dtp"]][3] += now["bytes"]
            if now["skipped"]:
                dtps[now["skipped_dtp"]][1] += 1
        dut.counts_i.value = 0
        await ClockCycles(dut.clk_i, 40)
        for i, name in enumerate(COUNTERS):
            address = NAMES["CountersBase"] + 8 * i
            count = await bench.read(address) | await bench.read(address + 4) << 32
            assert count == sender[name], name
        for dtp in range(16):
            for i in range(4):
                address = 0x400 + 64 * dtp + 8 * i
                assert await bench.read(address) | await bench.read(address + 4) << 32 == dtps[dtp][i]
    # Beyond the parts of a counter: 20, 42 bits.
    table = dut.u_read.u_counters.u_sender
    for middle in (5, (1 << 22) - 1):
        table.low[3].value, table.middle[3].value, table.high[3].value = (1 << 20) - 16, middle, 7
        value = 1
        for name, width in FIELDS[1:]:
            value = value << width | (4096 if name == "bytes" else 0)
        dut.counts_i.value = value
        await RisingEdge(dut.clk_i)
        dut.counts_i.value = 0
        await ClockCycles(dut.clk_i, 40)
        assert await bench.get64("CountersBytes") == (7 << 42 | middle << 20 | (1 << 20) - 16) + 4096


@cocotb.test()
async def status_words_are_those_of_the_blocks(dut):
    bench = await begun(dut)
    dut.dtps_done_i.value = 0xA5A5
    dut.dtps_waiting_i.value = 0x1234
    dut.descriptors_taken_i.value = 77
    dut.descriptors_done_i.value = 78
    granted = [1000 + d for d in range(16)]
    cocotb.start_soon(receive(dut, granted))
    await ClockCycles(dut.clk_i, 40)
    assert await bench.get("StatusDtpsDone") == 0xA5A5
    assert await bench.get("StatusDtpsWaiting") == 0x1234
    assert await bench.get("StatusDescriptorsTaken") == 77
    assert await bench.get("StatusDescriptorsDone") == 78
    for dtp in range(16):
        assert await bench.read(0x400 + 64 * dtp + 0x20) == 1000 + dtp
