# SPDX-License-Identifier: Apache-2.0
"""Places a node's buffers and threads on machines with several NUMA nodes: near the device that reads the buffers, or near the network card that
fills them.

The thread that sets a node up makes all other threads, which inherit its allowed processors. It also writes to memory first, which decides on which
NUMA node the memory is. So binding this thread during set-up suffices. No memory policy is needed, which some containers do not allow.
"""

import contextlib
import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rashpa.node.engine.engine import EngineError
from rashpa.node.host.interfaces import interfaces

SYSTEM = Path("/sys")
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Device:
    """Describes a device that reads or brings images. `folder`: the device's folder in /sys."""

    name: str
    folder: Path


@dataclass(frozen=True)
class Place:
    """Describes a NUMA node, its processors, and the reason for the choice. `node`: None when any place is allowed."""

    node: int | None = None
    processors: frozenset[int] = frozenset()
    reason: str = ""

    @property
    def words(self) -> str:
        """Return the place as text for log and report; empty when any place is allowed."""
        return "" if self.node is None else f"NUMA node {self.node} ({self.reason})"

    @contextlib.contextmanager
    def bind(self) -> Iterator[None]:
        """Run the calling thread, during the context, on the processors of this place. Threads that it makes meanwhile stay there."""
        if self.node is None:
            yield
            return
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, self.processors)
        try:
            yield
        finally:
            os.sched_setaffinity(0, before)


ANYWHERE = Place()


def numa_nodes(system: Path = SYSTEM) -> Mapping[int, frozenset[int]]:
    """Return the processors of each NUMA node that has any; empty where the kernel does not report them."""
    found: dict[int, frozenset[int]] = {}
    for folder in (system / "devices" / "system" / "node").glob("node[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            processors = _numbers((folder / "cpulist").read_text(encoding="ascii"))
            if processors:
                found[int(folder.name.removeprefix("node"))] = processors
    return dict(sorted(found.items()))


def _numbers(text: str) -> frozenset[int]:
    """Parse a list of numbers in the kernel's form: 0-3,8."""
    numbers: set[int] = set()
    for part in text.strip().split(","):
        if part:
            first, _, last = part.partition("-")
            numbers |= set(range(int(first), int(last or first) + 1))
    return frozenset(numbers)


def node_of(device: Device) -> int | None:
    """Return the NUMA node of the device, None where the kernel does not report it, as for devices in software."""
    try:
        node = int((device.folder / "numa_node").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
    return node if node >= 0 else None


def gpu(bus: str, system: Path = SYSTEM) -> Device:
    """Return the GPU at the PCI address `bus`."""
    return Device(f"of GPU {bus.lower()}", system / "bus" / "pci" / "devices" / bus.lower())


def network_card(address: str, rdma: str = "", system: Path = SYSTEM) -> Iterator[Device]:
    """Yield the network card of an RDMA device, otherwise of the interface with the address; nothing when no interface has it."""
    if rdma:
        yield Device(f"of {rdma}", system / "class" / "infiniband" / rdma / "device")
        return
    for one in interfaces():
        if address.partition("%")[0] in one.addresses:
            yield Device(f"of {one.name}", system / "class" / "net" / one.name / "device")


def place_for(label: str, choice: str, devices: Iterable[Device], system: Path = SYSTEM) -> Place:
    """Return the place for `choice`: "off"; a NUMA node's number; or "auto", the node of the first of `devices` with a known node. On a machine with
    one node, "auto" allows any place.

    Raises:
        EngineError: the machine has no such node, or this process may use no processor of it.
    """
    if choice == "off":
        return ANYWHERE
    nodes = numa_nodes(system)
    allowed = frozenset(os.sched_getaffinity(0))
    if choice != "auto":
        return _told(label, int(choice), nodes, allowed)
    if len(nodes) < 2:
        return ANYWHERE
    for device in devices:
        node = node_of(device)
        if node is not None and nodes.get(node, frozenset()) & allowed:
            return _said(label, Place(node, nodes[node] & allowed, device.name))
    return ANYWHERE


def _said(label: str, place: Place) -> Place:
    _log.info("%s: buffers and threads on %s, processors %s", label, place.words, _words(place.processors))
    return place


def _told(label: str, node: int, nodes: Mapping[int, frozenset[int]], allowed: frozenset[int]) -> Place:
    if node not in nodes:
        there = ", ".join(map(str, nodes)) or "none that the kernel names"
        raise EngineError(
            "config",
            f'{label}: numa is {node}, and of NUMA nodes with processors this machine has {there}; choose one of them, "auto" or "off"',
        )
    if not nodes[node] & allowed:
        raise EngineError(
            "resource",
            f"{label}: numa is {node}, and this process may use none of its processors ({_words(nodes[node])}), only {_words(allowed)}; start the node "
            "with processors of that NUMA node, or choose another",
        )
    return _said(label, Place(node, nodes[node] & allowed, "as told"))


def _words(processors: Iterable[int]) -> str:
    """Format processors as the kernel does: 0-3,8."""
    parts: list[list[int]] = []
    for number in sorted(processors):
        if parts and number == parts[-1][-1] + 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ",".join("-".join(map(str, part)) for part in parts)
