# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace
from pathlib import Path

import pytest

from rashpa.control.capacity.capacity import CapacityError, cautions, check_capacity
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.telegrams.telegram import Capabilities
from rashpa.testing.fake_engine import FakeFactory


def _plan(tmp_path: Path, rate_hz: float, link: str = "", buffer: str = "") -> Plan:
    path = tmp_path / "r.toml"
    path.write_text(
        f'[run]\nname = "r"\nframes = 100\n[detector]\nwidth = 1000\nheight = 500\nrate_hz = {rate_hz}\n'
        f'[dataset]\nkind = "pattern"\nwidth = 1000\nheight = 500\n[link]\n{link}\n[[buffer]]\nname = "full"\nsink = [{{ kind = "null" }}]\nslots = 40\n{buffer}\n'
        '[[buffer]]\nname = "small"\nsink = [{ kind = "null" }]\nregion = [0, 0, 100, 50]\n'
    )
    return load_plan(path)


def _node(role: str, bytes_per_s: int = 0, memory_bytes: int = 0) -> Capabilities:
    return FakeFactory(role, bytes_per_s, memory_bytes).capabilities(role)


def test_what_fits_is_taken(tmp_path: Path) -> None:
    check_capacity(
        _plan(tmp_path, 1000.0),
        {"emulator": _node("emulator", 1_100_000_000), "receiver": _node("receiver", 1_100_000_000)},
    )


def test_a_rate_that_the_link_does_not_carry_is_refused_with_a_slice_a_region_and_a_rate_that_fit(
    tmp_path: Path,
) -> None:
    plan = _plan(tmp_path, 1000.0)  # 1 MB + 10 kB a frame: 1.01 GB/s
    with pytest.raises(CapacityError) as caught:
        check_capacity(plan, {"emulator": _node("emulator"), "receiver": _node("receiver", 400_000_000)})
    text = str(caught.value)
    assert "detector.rate_hz: the DTPs carry 1.01 GB/s, link roce of receiver 0.40 GB/s" in text
    assert (
        "what fits: buffer[0].every = 3 (full); or buffer[0].region = [0, 152, 1000, 195] (full); or detector.rate_hz = 396"
        in text
    )


@pytest.mark.parametrize("proposal", ["every = 3", "region = [0, 0, 1000, 195]"])
def test_what_is_proposed_does_fit(tmp_path: Path, proposal: str) -> None:
    check_capacity(
        _plan(tmp_path, 1000.0, buffer=proposal),
        {"emulator": _node("emulator"), "receiver": _node("receiver", 400_000_000)},
    )


def test_memory_that_is_not_there_is_refused_with_slots_that_fit(tmp_path: Path) -> None:
    with pytest.raises(
        CapacityError,
        match=r"buffer\[0\].slots: .*receiver has 0.02 GiB free\nwhat fits: buffer\[0\].slots = 20 \(full\)",
    ):
        check_capacity(
            _plan(tmp_path, 0.0),
            {"emulator": _node("emulator"), "receiver": _node("receiver", memory_bytes=25_000_000)},
        )


def test_what_a_node_does_not_have_is_named(tmp_path: Path) -> None:
    plan = _plan(tmp_path, 0.0, link="roce.pmtu = 512")
    receiver = _node("receiver")
    poor = replace(receiver, links=(replace(receiver.links[0], pmtus=(1024,)),), sinks=("hdf5",), pixels=("uint8",))
    with pytest.raises(CapacityError) as caught:
        check_capacity(plan, {"emulator": _node("emulator"), "receiver": poor})
    assert "receiver has no pmtu 512; it has 1024" in str(caught.value)
    assert "receiver has no sink null" in str(caught.value)
    assert "detector.pixel: receiver knows uint8" in str(caught.value)


def test_a_ring_that_a_missing_image_would_overrun_is_cautioned_about(tmp_path: Path) -> None:
    assert cautions(_plan(tmp_path, 1000.0)) == []
    (caution,) = [text for text in cautions(_plan(tmp_path, 1000.0, link='flow = "paced"')) if "buffer[0]" in text]
    assert "40 slots pass in less than deadline_ms (1000)" in caution


def test_images_that_wait_for_consumers_need_memory_too(tmp_path: Path) -> None:
    sink = 'kind = "stream2", consumers = 4, waiting = 50'
    path = tmp_path / "stream.toml"
    _plan(tmp_path, 0.0)
    path.write_text((tmp_path / "r.toml").read_text().replace('kind = "null"', sink, 1))
    nodes = {
        "emulator": _node("emulator"),
        "receiver": replace(_node("receiver", memory_bytes=200_000_000), sinks=("stream2", "null")),
    }
    with pytest.raises(
        CapacityError, match=r"buffer\[0\].sink: images that wait for consumers \(sink stream2: waiting\)"
    ):
        check_capacity(load_plan(path), nodes)
    path.write_text(path.read_text().replace("waiting = 50", "waiting = 10"))
    check_capacity(load_plan(path), nodes)


def test_more_images_than_there_is_memory_for_their_tables_are_the_fault_of_frames(tmp_path: Path) -> None:
    plan = _plan(tmp_path, 0.0)
    many = Plan(
        plan.file.model_copy(update={"run": plan.file.run.model_copy(update={"frames": 10**12})}),
        plan.source,
        plan.emulators,
        plan.receivers,
        tuple(replace(buffer, images=10**12) for buffer in plan.buffers),
    )
    nodes = {"emulator": _node("emulator"), "receiver": _node("receiver", memory_bytes=8 * 2**30)}
    with pytest.raises(
        CapacityError, match=r"r\.toml:3: run\.frames: the tables of all images take .*\nwhat fits: run\.frames = \d+$"
    ):
        check_capacity(many, nodes)
