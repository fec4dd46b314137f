# SPDX-License-Identifier: Apache-2.0
"""The placement of buffers and threads, with a /sys of two NUMA nodes, since few test machines have them; tests/vm has a real one."""

import os
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from rashpa.node.engine.engine import EngineError
from rashpa.node.engine.places.numa import ANYWHERE, Device, gpu, network_card, node_of, numa_nodes, place_for

ALLOWED = sorted(os.sched_getaffinity(0))


def system(folder: Path, nodes: Iterable[str], buses: Mapping[str, int | str] | None = None) -> Path:
    """Make a /sys: processors by NUMA node, NUMA nodes by PCI address."""
    for number, processors in enumerate(nodes):
        node = folder / "devices" / "system" / "node" / f"node{number}"
        node.mkdir(parents=True)
        (node / "cpulist").write_text(processors + "\n")
    for bus, there in (buses or {}).items():
        device = folder / "bus" / "pci" / "devices" / bus
        device.mkdir(parents=True)
        (device / "numa_node").write_text(f"{there}\n")
    return folder


def test_nodes_with_processors_are_those_of_the_kernel(tmp_path: Path) -> None:
    found = numa_nodes(system(tmp_path, ["0-2,8", "4", ""]))
    assert found == {0: {0, 1, 2, 8}, 1: {4}}
    assert numa_nodes(tmp_path / "nothing") == {}


def test_a_gpus_node_is_taken_before_that_of_a_card_behind_it(tmp_path: Path) -> None:
    there = system(
        tmp_path,
        ["9999", ",".join(map(str, ALLOWED))],
        {"0000:41:00.0": 1, "0000:01:00.0": 0, "0000:02:00.0": -1, "0000:03:00.0": "?"},
    )
    devices = [
        gpu(bus, there) for bus in ("0000:03:00.0", "0000:02:00.0", "0000:01:00.0", "0000:41:00.0", "0000:01:00.0")
    ]
    assert [node_of(device) for device in devices] == [None, None, 0, 1, 0]
    place = place_for("receiver a", "auto", devices, there)
    # node 0 has no processor that this process may use
    assert place.node == 1
    assert place.words == "NUMA node 1 (of GPU 0000:41:00.0)"
    assert place.processors == set(ALLOWED)
    assert place_for("receiver a", "off", devices, there) is ANYWHERE
    assert place_for("receiver a", "auto", [gpu("0000:55:00.0", there)], there) is ANYWHERE


def test_a_machine_of_one_node_asks_for_no_device(tmp_path: Path) -> None:
    def devices() -> Iterable[Device]:
        yield from ()
        raise AssertionError("nobody need know")

    assert place_for("receiver a", "auto", devices(), system(tmp_path, ["0-1"])) is ANYWHERE


def test_a_node_that_is_not_there_is_refused_in_words(tmp_path: Path) -> None:
    there = system(tmp_path, [str(ALLOWED[0]), "9998-9999"])
    with pytest.raises(EngineError, match=r"^receiver a: numa is 3, and of NUMA nodes with processors .* has 0, 1;"):
        place_for("receiver a", "3", [], there)
    with pytest.raises(EngineError, match=r"numa is 1, and this process may use none of its processors \(9998-9999\)"):
        place_for("receiver a", "1", [], there)
    with pytest.raises(EngineError, match="has none that the kernel names"):
        place_for("receiver a", "0", [], tmp_path / "nothing")


def test_a_thread_is_bound_with_those_that_it_makes_and_free_again_afterwards(tmp_path: Path) -> None:
    one = ALLOWED[-1]
    place = place_for("emulator a", "1", [], system(tmp_path, ["9999", str(one)]))
    seen: list[set[int]] = []
    go_on = threading.Event()

    def look() -> None:
        go_on.wait()
        seen.append(os.sched_getaffinity(0))

    with place.bind():
        assert os.sched_getaffinity(0) == {one}
        thread = threading.Thread(target=look)
        thread.start()
    assert sorted(os.sched_getaffinity(0)) == ALLOWED
    go_on.set()
    thread.join()
    assert seen == [{one}]
    with ANYWHERE.bind():
        assert sorted(os.sched_getaffinity(0)) == ALLOWED


def test_a_network_card_is_known_by_its_rdma_device_or_its_address(tmp_path: Path) -> None:
    folder = tmp_path / "class" / "infiniband" / "mlx5_0" / "device"
    folder.mkdir(parents=True)
    (folder / "numa_node").write_text("1\n")
    assert [node_of(card) for card in network_card("10.0.0.1", "mlx5_0", tmp_path)] == [1]
    (loopback,) = network_card("127.0.0.1")
    assert loopback.name == "of lo"
    assert node_of(loopback) is None
    assert list(network_card("203.0.113.77")) == []
