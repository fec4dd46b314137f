# SPDX-License-Identifier: Apache-2.0
"""Images in memory of a GPU: the keys that a run file needs for them, the order to the receiver, and the memory that the plan counts."""

from dataclasses import replace
from pathlib import Path

import pytest

from rashpa.control.capacity.device_memory import memory_on_device
from rashpa.control.capacity.limits import Limit, limits_of
from rashpa.control.capacity.loads import memory_of
from rashpa.control.orders.plan_telegrams import destination_telegram
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.control.telegrams.telegram import UnitDevice
from rashpa.control.telegrams.telegram_xml import decode, encode
from rashpa.testing.fake_engine import FakeFactory

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
EXAMPLE = EXAMPLES / "14_device_memory.toml"
GATHERED = EXAMPLES / "21_gathered.toml"
DEVICE = UnitDevice(unit="cuda", number=1, name="GPU", memory_bytes=80 << 30, free_bytes=79 << 30, unified=False)
CONVERSION = EXAMPLE.read_text(encoding="utf-8").partition('name = "checksum"\n')[2].partition("[[buffer.sink]]")[0]


RNIC = (
    ('kind = "pcie"\n', 'kind = "verbs"\n'),
    ("[link.pcie]\n", "[link.verbs]\n"),
    ('engine = "cuda"\n', ""),
    ("engine_device = 0           # the emulator's GPU\n", ""),
)


def plan_with(tmp_path: Path, *changes: tuple[str, str], example: Path = EXAMPLE) -> Plan:
    """Return the plan of an example with some texts replaced."""
    text = example.read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "device.toml"
    path.write_text(text, encoding="utf-8")
    return load_plan(path)


def test_the_receiver_is_told_where_its_images_lie(tmp_path: Path) -> None:
    plan = plan_with(tmp_path)
    told = destination_telegram(plan, plan.receivers[0])
    assert told.destination is not None
    assert told.destination.memory == "device"
    assert decode(encode(told)) == told


def test_images_are_counted_on_the_device_and_not_at_the_host(tmp_path: Path) -> None:
    plan = plan_with(tmp_path)
    (buffer,) = plan.buffers
    there = memory_on_device(plan, buffer, DEVICE)
    assert there["images"] == 40 * 1024 * (512 + 548) * 2
    assert "raw images" not in there, "they are read where they lie"
    assert "images" not in memory_of(plan, buffer)
    host = plan_with(tmp_path, ('memory = "device"', 'memory = "huge"'))
    assert memory_of(host, host.buffers[0])["images"] == there["images"]
    assert "raw images" in memory_on_device(host, host.buffers[0], DEVICE)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('kind = "pcie"', 'kind = "stream2"', "receiver.memory: device, but link stream2 of receiver writes to host memory only"),
        ('engine = "cuda"', 'engine = "cpu"', "link.pcie.engine: cpu writes to host memory only"),
        ('verify = "off"', 'verify = "sampled"', "link.pcie.verify: sampled; the host cannot read images in memory of a GPU"),
        ('unit = "cuda"', 'unit = "cpu"', r"buffer\[0\].unit: cpu sees no image in memory of a GPU"),
        ("device = 1", "devices = [0, 1]", r"buffer\[0\].devices: images that lie on one device"),
        ('unit = "cuda"', 'unit = "cuda"\ntrigger = "persistent"', r"buffer\[0\].trigger: persistent reads images in host"),
        (CONVERSION, "", r"buffer\[0\].kernel: none makes pixels or lists"),
        ("stack = 10", "stack = 10\nbands = 8", r"buffer\[0\].kernel: checksum compares at most 15 DTPs on the device, not 16"),
    ],
)  # fmt: skip
def test_what_cannot_be_there_is_refused(tmp_path: Path, old: str, new: str, says: str) -> None:
    with pytest.raises(RunFileError, match=says):
        plan_with(tmp_path, (old, new))


@pytest.mark.parametrize(
    ("flow", "track", "refused"), [("credits", "empty", False), ("paced", "off", False), ("paced", "empty", True)]
)
def test_a_paced_source_and_a_kernel_that_learns_do_not_meet_there(
    tmp_path: Path, flow: str, track: str, refused: bool
) -> None:
    changes = (
        ('kind = "pcie"', f'kind = "pcie"\nflow = "{flow}"'),
        ('name = "jungfrau"', f'name = "jungfrau"\ntrack = "{track}"'),
    )
    if not refused:
        plan_with(tmp_path, *changes)
        return
    with pytest.raises(RunFileError, match=r"buffer\[0\].kernel: jungfrau keeps parts of images .*credits"):
        plan_with(tmp_path, *changes)


def test_an_rnic_writes_there_without_a_comparison_by_the_host(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, *RNIC)
    assert plan.receivers[0].memory == "device"
    assert plan.receivers[0].destination_kind == "verbs"
    with pytest.raises(RunFileError, match=r"link.verbs.verify: all; the host cannot read images in memory of a GPU"):
        plan_with(tmp_path, *RNIC, ('verify = "off"', 'verify = "all"'))


def test_packets_of_a_detector_are_gathered_there(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, example=GATHERED)
    told = destination_telegram(plan, plan.receivers[0])
    assert told.destination is not None
    assert told.destination.memory == "device"
    (buffer,) = plan.buffers
    assert memory_on_device(plan, buffer, DEVICE)["images"] == 120 * 1024 * 2156 * 2
    assert "images" not in memory_of(plan, buffer)
    learns = ('output = "photons"', 'output = "photons"\ntrack = "empty"')
    plan_with(tmp_path, learns, example=GATHERED)  # no source writes over an image there


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ('icrc = "off"', r"link.roce.icrc: off leaves lines to a CRC32C"),
        ('icrc = "full"', r"link.roce.icrc: full takes frames from buffers"),
    ],
)
def test_packets_of_roce_are_gathered_there_when_each_is_checked(tmp_path: Path, key: str, says: str) -> None:
    pcie = EXAMPLE.read_text(encoding="utf-8").partition("[link.pcie]")[2].partition("[receiver]")[0]
    roce = ('kind = "pcie"\n', 'kind = "roce"\n')
    plan = plan_with(tmp_path, roce, ("[link.pcie]" + pcie, ""))
    assert plan.receivers[0].memory == "device"
    with pytest.raises(RunFileError, match=says):
        plan_with(tmp_path, roce, ("[link.pcie]" + pcie, f"[link.roce]\n{key}\n\n"))


def window_of(tmp_path: Path, device: UnitDevice, *changes: tuple[str, str]) -> list[Limit]:
    """Return the limits of the window of a device."""
    plan = plan_with(tmp_path, *changes)
    nodes = {
        node.name: replace(FakeFactory(node.role).capabilities(node.name), devices=(device,)) for node in plan.nodes
    }
    return [limit for limit in limits_of(plan, nodes) if limit.kind == "device window"]


def test_the_images_are_counted_in_the_window_through_which_an_rnic_writes(tmp_path: Path) -> None:
    images = 40 * 1024 * (512 + 548) * 2
    small = replace(DEVICE, bar1_bytes=256 << 20, bar1_free_bytes=images - 1, remote_writes="GPUDirect RDMA yes")
    (limit,) = window_of(tmp_path, small, *RNIC)
    assert (limit.needed, limit.has, limit.exceeded) == (images, images - 1, True)
    assert limit.text.startswith("images take 0.08 GiB of the window (BAR1) of device 1 (GPU) of ")
    assert limit.text.endswith("0.08 GiB free; GPUDirect RDMA yes")
    (limit,) = window_of(tmp_path, replace(small, bar1_free_bytes=images), *RNIC)
    assert not limit.exceeded
    (limit,) = window_of(tmp_path, DEVICE, *RNIC)
    assert not limit.known, "nobody says how large it is"
    assert not window_of(tmp_path, small), "GPUs write without it"


def test_a_device_that_no_rnic_can_write_to_has_no_window(tmp_path: Path) -> None:
    (limit,) = window_of(tmp_path, replace(DEVICE, bar1_bytes=1 << 40, remote_refusal="receiver.memory: no"), *RNIC)
    assert limit.exceeded
    assert limit.text == "receiver.memory: no"


def test_the_buffers_of_a_receiver_lie_on_one_device(tmp_path: Path) -> None:
    second = EXAMPLE.read_text(encoding="utf-8").partition("[[buffer]]")[2].replace("device = 1", "device = 0")
    path = tmp_path / "two.toml"
    text = EXAMPLE.read_text(encoding="utf-8") + "\n[[buffer]]" + second.replace('"full"', '"second"')
    path.write_text(text, encoding="utf-8")
    with pytest.raises(
        RunFileError, match=r"buffer\[1\].device: 0; the buffers of a receiver lie on one device, and full on 1"
    ):
        load_plan(path)
