# SPDX-License-Identifier: Apache-2.0
"""Memory of accelerators in plans; python/tests/node/test_device_memory.py compares the sums with the memory that units allocate."""

from dataclasses import replace
from pathlib import Path

import pytest

from rashpa.control.capacity.capacity import CapacityError, check_capacity
from rashpa.control.capacity.device_memory import device_memory, device_of, memory_on_devices
from rashpa.control.capacity.limits import Limit, limits_of
from rashpa.control.capacity.loads import memory_of
from rashpa.control.capacity.plan_summary import json_of, summary_of
from rashpa.control.capacity.proposals import proposals_for
from rashpa.control.capacity.throughput import fingerprint_of
from rashpa.control.orders.plan_telegrams import destination_telegram
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan, plan_run
from rashpa.control.plan.strips import rows_of_strips
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.control.telegrams.telegram import Capabilities, Unit, UnitDevice
from rashpa.testing.fake_engine import FakeFactory

GPU = UnitDevice(unit="cuda", number=0, name="NVIDIA H200", memory_bytes=150 << 30, free_bytes=140 << 30, unified=False)
PIXELS = 1024 * 512
JUNGFRAU = '[[buffer.kernel]]\nname = "jungfrau"\n'
CSR = '[[buffer.kernel]]\nname = "csr"\nthreshold = 2\ncapacity = 0.5\n'
RULE = '[[buffer.kernel]]\nname = "veto"\nkeep = "masked_pixels < 100"\nreason = "masked"\n'
PEAKS = '[[buffer.kernel]]\nname = "peakfinder8"\nbeam_x = 500\nbeam_y = 250\n'
ACCUMULATE = '[[buffer.kernel]]\nname = "accumulate"\n'


def plan_of(tmp_path: Path, kernels: str = JUNGFRAU, unit: str = "cuda", stack: int = 16, more: str = "") -> Plan:
    path = tmp_path / "run.toml"
    path.write_text(
        '[run]\nname = "r"\nframes = 1000\n[detector]\nwidth = 1024\nheight = 512\nenergy_kev = 12.4\nrate_hz = 100.0\n'
        '[dataset]\nkind = "jungfrau"\nmodules = 1\nframes = 4\n[receiver]\nport = 0\n'
        f'[[buffer]]\nname = "full"\nunit = "{unit}"\nstack = {stack}\nslots = {4 * stack}\n{kernels}[[buffer.sink]]\nkind = "null"\n{more}'
    )
    return load_plan(path)


def stored(tmp_path: Path, sink: str, kernels: str = JUNGFRAU, unit: str = "cuda") -> Plan:
    """Return a plan whose buffer has only this sink."""
    path = plan_of(tmp_path, kernels, unit).source.path
    path.write_text(path.read_text().replace('kind = "null"', sink))
    return load_plan(path)


def nodes_of(plan: Plan, *devices: UnitDevice) -> dict[str, Capabilities]:
    units = (
        Unit(name="cpu", usable=True, what=""),
        Unit(name="cuda", usable=True, what=""),
        Unit(name="opencl", usable=True, what=""),
    )
    nodes = {node.name: FakeFactory(node.role).capabilities(node.name) for node in plan.nodes}
    return {name: replace(can, units=units, devices=devices) for name, can in nodes.items()}


def on_device(plan: Plan, device: UnitDevice = GPU) -> Limit:
    (limit,) = [one for one in limits_of(plan, nodes_of(plan, device)) if one.kind == "device memory"]
    return limit


def test_three_stacks_are_on_the_device_at_a_time_raw_and_as_steps_make_them_beside_the_calibration(
    tmp_path: Path,
) -> None:
    plan = plan_of(tmp_path, JUNGFRAU + CSR)
    assert memory_on_devices(plan, plan.buffers[0], nodes_of(plan, GPU)["receiver"]) == {
        "raw images": 3 * 16 * PIXELS * 2,
        "made images": 3 * 16 * PIXELS * 2,
        "marks": 3 * 16 * PIXELS // 8,
        "calibration and tables": 24 * PIXELS,
    }
    opencl = plan_of(tmp_path, JUNGFRAU + CSR, unit="opencl")
    device = UnitDevice(unit="opencl", number=0, name="a card", memory_bytes=8 << 30, free_bytes=0, unified=False)
    found = device_memory(opencl.buffers[0].section, 1024, 512, "uint16", device)
    assert found["lists"] == 3 * 16 * PIXELS * 6 // 2
    assert "work on images" not in found, "marks are made on the way"
    section = opencl.buffers[0].section
    alone = section.model_copy(update={"kernel": section.kernel[1:]})
    assert device_memory(alone, 1024, 512, "uint16", device)["work on images"] == 3 * 16 * PIXELS // 8
    assert on_device(opencl, device).has == 8 << 30, "where nobody knows what is free, all that there is"


def test_a_small_stack_for_a_resident_kernel_stays_where_it_is(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, stack=1)
    assert memory_on_devices(plan, plan.buffers[0], None) == {
        "made images": PIXELS * 2,
        "calibration and tables": 24 * PIXELS,
    }


@pytest.mark.parametrize(("behind", "resident"), [(CSR, True), (RULE, True), (PEAKS + CSR, True), (ACCUMULATE, False)])
def test_pipelines_that_a_resident_kernel_runs(tmp_path: Path, behind: str, *, resident: bool) -> None:
    plan = plan_of(tmp_path, JUNGFRAU + behind, stack=1)
    assert ("raw images" not in memory_on_devices(plan, plan.buffers[0], None)) is resident


def test_chunks_that_the_device_makes_take_twice_the_pixels_there_and_their_longest_in_the_output(
    tmp_path: Path,
) -> None:
    blocks = PIXELS * 2 // 8192
    plan = stored(tmp_path, 'kind = "hdf5"')
    assert memory_on_devices(plan, plan.buffers[0], None)["chunks"] == 3 * 16 * blocks * (8256 + 8244)
    assert memory_of(plan, plan.buffers[0])["output"] == 64 * blocks * 8244


@pytest.mark.parametrize(
    "sink",
    [
        'kind = "null"',
        'kind = "hdf5"\ncompress = "host"',
        'kind = "hdf5"\n[[buffer.sink]]\nkind = "memory"',
        'kind = "stream2"\n[[buffer.sink]]\nkind = "raw"',
    ],
)
def test_a_sink_that_reads_pixels_or_none_that_stores_leaves_chunks_to_the_host(tmp_path: Path, sink: str) -> None:
    plan = stored(tmp_path, sink)
    assert "chunks" not in memory_on_devices(plan, plan.buffers[0], None)
    assert memory_of(plan, plan.buffers[0])["output"] == 64 * PIXELS * 2


def test_lists_and_other_units_have_no_chunks_of_a_device(tmp_path: Path) -> None:
    for plan in (stored(tmp_path, 'kind = "hdf5"', JUNGFRAU + CSR), stored(tmp_path, 'kind = "hdf5"', unit="opencl")):
        assert "chunks" not in memory_on_devices(plan, plan.buffers[0], None)


@pytest.mark.parametrize("case", ["unified", "cpu", "elsewhere"])
def test_memory_of_the_machine_and_devices_that_are_not_there_have_no_limit(tmp_path: Path, case: str) -> None:
    plan = plan_of(tmp_path, unit="cpu" if case == "cpu" else "cuda")
    device = replace(GPU, unified=case == "unified", number=int(case == "elsewhere"))
    assert not [one for one in limits_of(plan, nodes_of(plan, device)) if one.kind == "device memory"]


def test_what_does_not_fit_is_refused_with_a_smaller_stack_that_does(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    nodes = nodes_of(plan, replace(GPU, free_bytes=64 << 20))
    with pytest.raises(CapacityError) as caught:
        check_capacity(plan, nodes)
    text = str(caught.value)
    assert (
        "buffer[0].stack: buffer full takes 0.11 GiB of device 0 (cuda, NVIDIA H200) of this machine, which has 0.06 GiB free; full: raw images 0.05"
        in text
    )
    assert "what fits: buffer[0].stack = 8 (full)" in text
    (fitting,) = proposals_for(plan, nodes)
    check_capacity(plan_run(fitting.applied(plan.file), plan.source), nodes)


def test_a_smaller_stack_takes_a_ring_of_whole_stacks_with_it(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    nodes = nodes_of(plan, replace(GPU, free_bytes=53 << 20))
    (fitting,) = proposals_for(plan, nodes)
    assert fitting.text == "buffer[0].stack = 6 (full) and buffer[0].slots = 60 (full)"
    check_capacity(plan_run(fitting.applied(plan.file), plan.source), nodes)


def test_where_the_calibration_alone_is_too_large_only_fewer_rows_fit(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    nodes = nodes_of(plan, replace(GPU, free_bytes=10 << 20))
    found = proposals_for(plan, nodes)
    assert all("region" in proposal.text for proposal in found)
    for proposal in found:
        check_capacity(plan_run(proposal.applied(plan.file), plan.source), nodes)


def test_buffers_on_one_device_share_its_memory(tmp_path: Path) -> None:
    more = (
        f'[[buffer]]\nname = "again"\nunit = "cuda"\nstack = 8\nslots = 32\n{JUNGFRAU}[[buffer.sink]]\nkind = "null"\n'
    )
    alone, both = on_device(plan_of(tmp_path)), on_device(plan_of(tmp_path, more=more))
    assert (alone.needed or 0) < (both.needed or 0) < 2 * (alone.needed or 0)
    assert both.buffers == (0, 1)
    assert both.where == ("buffer", 0, "stack")
    assert "buffers full and again take 0.16 GiB" in both.text


def test_without_nodes_a_plan_says_what_is_needed_and_not_what_is_there(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    (limit,) = [one for one in limits_of(plan, {}) if one.kind == "device memory"]
    assert limit.needed == 3 * 16 * PIXELS * 4 + 24 * PIXELS
    assert limit.has is None
    (buffer,) = json_of(summary_of(plan))["buffers"]
    assert sum(buffer["device_memory"].values()) == limit.needed


def test_a_device_goes_by_its_number_or_a_part_of_its_name() -> None:
    cards = tuple(
        UnitDevice(unit="opencl", number=number, name=name, memory_bytes=1 << 30, free_bytes=0, unified=False)
        for number, name in enumerate(("Card A (Vendor)", "Card B (Vendor)"))
    )
    by = {wanted: device_of("opencl", str(wanted), cards) for wanted in (1, "card a", "vendor")}
    assert by == {1: cards[1], "card a": cards[0], "vendor": None}


SECOND = replace(GPU, number=1)
SEVERAL = "devices = [0, 1]\n"
SUMS = '[[buffer.kernel]]\nname = "accumulate"\nsum = true\n'


def test_each_of_several_devices_takes_what_one_would_and_the_machine_output_for_each(tmp_path: Path) -> None:
    one, two = plan_of(tmp_path, JUNGFRAU), plan_of(tmp_path, SEVERAL + JUNGFRAU)
    alone = {
        limit.who: limit.needed for limit in limits_of(one, nodes_of(one, GPU, SECOND)) if limit.kind == "device memory"
    }
    each = {
        limit.who: limit.needed for limit in limits_of(two, nodes_of(two, GPU, SECOND)) if limit.kind == "device memory"
    }
    assert list(alone.values()) == [sum(memory_on_devices(one, one.buffers[0], None).values())]
    assert list(each.values()) == 2 * list(alone.values())
    assert sum(memory_on_devices(two, two.buffers[0], None).values()) == 2 * (next(iter(alone.values())) or 0)
    assert len(each) == 2, "each has a name of its own"
    output = 64 * PIXELS * 2
    assert memory_of(two, two.buffers[0])["output"] == 2 * memory_of(one, one.buffers[0])["output"] == 2 * output


def test_several_devices_never_keep_a_resident_kernel(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, SEVERAL + JUNGFRAU, stack=1)
    assert "raw images" in memory_on_devices(plan, plan.buffers[0], None)


def test_a_telegram_names_all_devices(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, SEVERAL + JUNGFRAU)
    told = destination_telegram(plan, plan.receivers[0]).destination
    assert told is not None
    assert [buffer.device for buffer in told.buffers] == ["0,1"]


@pytest.mark.parametrize(
    ("keys", "kernels", "said"),
    [
        (SEVERAL + "device = 1\n", JUNGFRAU, "devices: and device; leave one out"),
        ("devices = [1, 1]\n", JUNGFRAU, "a device is named twice"),
        (SEVERAL + 'trigger = "persistent"\n', JUNGFRAU, "trigger persistent takes stacks in turn"),
        (
            SEVERAL,
            JUNGFRAU + 'track = "darks"\n',
            "jungfrau with track learns from images, which several devices cannot do together",
        ),
    ],
)
def test_what_several_devices_cannot_do_is_refused(tmp_path: Path, keys: str, kernels: str, said: str) -> None:
    with pytest.raises(RunFileError, match=said):
        plan_of(tmp_path, keys + kernels)


def test_several_devices_keep_the_parts_of_windows_that_can_be_on_their_way(tmp_path: Path) -> None:
    alone = plan_of(tmp_path, JUNGFRAU + SUMS)
    assert "parts of windows" not in memory_on_devices(alone, alone.buffers[0], None)
    run = plan_of(tmp_path, SEVERAL + JUNGFRAU + SUMS)
    assert memory_on_devices(run, run.buffers[0], None)["parts of windows"] == 2 * 16 * PIXELS
    # 64 slots: two windows of 48 can end before the first comes back, and one is open
    short = plan_of(tmp_path, SEVERAL + JUNGFRAU + SUMS + "window = 48\nvariance = true\n")
    assert memory_on_devices(short, short.buffers[0], None)["parts of windows"] == 2 * 3 * 24 * PIXELS
    kev = JUNGFRAU + 'output = "kev"\n' + SUMS + "variance = true\n"
    reals = plan_of(tmp_path, SEVERAL + kev)
    assert "parts of windows" not in memory_on_devices(reals, reals.buffers[0], None)


ROWS = SEVERAL + 'share = "rows"\n'


def test_devices_that_split_images_take_their_part_and_the_machine_output_once(tmp_path: Path) -> None:
    one, split = plan_of(tmp_path, JUNGFRAU + CSR), plan_of(tmp_path, ROWS + JUNGFRAU + CSR)
    alone, together = (
        memory_on_devices(plan, plan.buffers[0], nodes_of(plan, GPU, SECOND)["receiver"]) for plan in (one, split)
    )
    assert together == alone, "two halves"
    assert memory_of(split, split.buffers[0])["output"] == memory_of(one, one.buffers[0])["output"]
    entries = PIXELS // 2  # of a list; each of two strips has as many pixels
    assert memory_of(split, split.buffers[0])["lists"] == 64 * 6 * 3 * entries
    assert fingerprint_of(split.buffers[0].section, "uint16") != fingerprint_of(
        plan_of(tmp_path, SEVERAL + JUNGFRAU + CSR).buffers[0].section, "uint16"
    )


def test_a_telegram_says_that_images_are_split(tmp_path: Path) -> None:
    for keys, share in ((SEVERAL, "stacks"), (ROWS, "rows")):
        plan = plan_of(tmp_path, keys + JUNGFRAU)
        told = destination_telegram(plan, plan.receivers[0]).destination
        assert told is not None
        assert [buffer.keys.share for buffer in told.buffers] == [share]


def test_strips_are_those_of_the_unit() -> None:
    """Compare with the numbers of src/rashpa/unit/split/strips_test.cpp."""
    assert rows_of_strips(4096, 4096, 2) == (2048, 2048)
    assert rows_of_strips(1030, 514, 2) == (256, 258)
    assert rows_of_strips(129, 101, 2) == (64, 37)


BORDERS = JUNGFRAU + 'borders = "masked"\n'


@pytest.mark.parametrize(
    ("keys", "kernels", "said"),
    [
        ('share = "rows"\n', JUNGFRAU, "share: images are split into rows among several devices of unit cuda"),
        ('device = 1\nshare = "rows"\n', JUNGFRAU, "name them, devices"),
        (ROWS, BORDERS, "share: jungfrau as it is set needs images in one piece"),
        (ROWS, JUNGFRAU + SUMS, "share: accumulate as it is set needs images in one piece"),
        (ROWS + 'trigger = "stream"\n', JUNGFRAU, "trigger stream takes stacks in turn"),
    ],
)
def test_what_needs_images_in_one_piece_is_refused(tmp_path: Path, keys: str, kernels: str, said: str) -> None:
    with pytest.raises(RunFileError, match=said):
        plan_of(tmp_path, keys + kernels)


def test_the_unit_cpu_has_no_devices(tmp_path: Path) -> None:
    with pytest.raises(RunFileError, match="unit cpu has none"):
        plan_of(tmp_path, SEVERAL + JUNGFRAU, unit="cpu")
