# SPDX-License-Identifier: Apache-2.0
"""Compares the load of a plan with the resources of its machines: links, interfaces, processing, memory. An unknown resource limits nothing."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from rashpa.control.capacity import throughput
from rashpa.control.capacity.device_memory import memory_on_device, planned_devices
from rashpa.control.capacity.loads import DtpLoad, dtp_loads, memory_of
from rashpa.control.plan.model import Plan, PlannedBuffer
from rashpa.control.plan.planned_node import PlannedNode
from rashpa.control.plan.turned_frames import reduced_bytes, reduced_regions, turned_bytes
from rashpa.control.runfile.key_types import KeyPath
from rashpa.control.telegrams.telegram import Capabilities, Interface, UnitDevice

Kind = Literal["link", "interface", "unit", "files", "device", "device memory", "device window", "processors", "memory"]
_NEARLY = 1 + 1e-9  # sums of rates are rounded


@dataclass(frozen=True)
class Limit:
    """Describes one limit; None means unknown. `buffers`: positions of the buffers that use it; `where`: the key with the most influence on it."""

    kind: Kind
    who: str
    needed: float | None
    has: float | None
    text: str
    where: KeyPath
    buffers: tuple[int, ...]
    nodes: tuple[str, ...] = ()

    @property
    def exceeded(self) -> bool:
        return self.needed is not None and self.has is not None and self.needed > self.has * _NEARLY

    @property
    def known(self) -> bool:
        return self.needed is not None and self.has is not None


@dataclass(frozen=True)
class _Side:
    """Holds a node of the plan with its capabilities."""

    node: PlannedNode
    can: Capabilities | None
    loads: tuple[DtpLoad, ...] = field(repr=False)

    @property
    def name(self) -> str:
        return self.node.label if self.can is None else name_of(self.node, self.can)


def name_of(node: PlannedNode, can: Capabilities) -> str:
    """Return the name of a node for messages: its name in the run file and, where it differs, the node's own name."""
    if not node.shown_name or can.node == node.label:
        return can.node
    return f"{node.label} ({can.node})"


def machine_of(node: PlannedNode) -> str:
    """Return the machine of a node as text."""
    return node.machine or "this machine"


def limits_of(plan: Plan, capabilities: Mapping[str, Capabilities]) -> tuple[Limit, ...]:
    """Return all limits. `capabilities`: by name, those of the nodes that were asked."""
    loads = dtp_loads(plan)
    emulators = _sides(plan.emulators, capabilities, loads, "emulator")
    receivers = _sides(plan.receivers, capabilities, loads, "receiver")
    found = [limit for side in emulators for limit in _link_limits(plan, side, "source_link")]
    found += [limit for side in receivers for limit in _link_limits(plan, side, "destination_link")]
    packets = [load for load in loads if load.source_link != "pcie"]
    if packets:
        found += _interface_limits(plan, _sides(plan.emulators, capabilities, packets, "emulator"), "out")
        found += _interface_limits(plan, _sides(plan.receivers, capabilities, packets, "receiver"), "in")
    found += [limit for side in receivers for limit in _unit_limits(plan, side)]
    found += [limit for side in receivers for limit in _file_limits(plan, side)]
    found += _processor_limits(plan, receivers)
    found += _device_limits(plan, receivers)
    found += _device_memory_limits(plan, receivers)
    found += _device_window_limits(plan, receivers)
    copying = [
        side
        for side in emulators
        if any(not load.dtp.orientation.upright or load.buffer.section.reduction for load in side.loads)
    ]
    found += _memory_limits(plan, (*receivers, *copying))
    return tuple(found)


def _sides(
    nodes: Sequence[PlannedNode], capabilities: Mapping[str, Capabilities], loads: Sequence[DtpLoad], role: str
) -> list[_Side]:
    own: dict[str, list[DtpLoad]] = {}
    for load in loads:
        own.setdefault(getattr(load, role), []).append(load)
    return [_Side(node, capabilities.get(node.name), tuple(own.get(node.name, ()))) for node in nodes]


def _positions(plan: Plan, loads: Iterable[DtpLoad]) -> tuple[int, ...]:
    return tuple(sorted({plan.positions[load.buffer.section.name] for load in loads}))


def _link_limits(plan: Plan, side: _Side, end: Literal["source_link", "destination_link"]) -> Iterator[Limit]:
    """Yield the limits of payload rates, which a node's `--link-gbps` sets."""
    said = side.can.links if side.can else ()
    for link in dict.fromkeys(getattr(load, end) for load in side.loads):
        loads = [load for load in side.loads if getattr(load, end) == link]
        needed = sum(load.bytes_per_s for load in loads)
        has = next((known.bytes_per_s for known in said if known.name == link), 0) or None
        text = f"the DTPs carry {needed / 1e9:.2f} GB/s, link {link} of {side.name} {(has or 0) / 1e9:.2f} GB/s"
        who = f"link {link} of {side.node.label}"
        yield Limit("link", who, needed, has, text, ("detector", "rate_hz"), _positions(plan, loads), (side.node.name,))


def _interface_limits(plan: Plan, sides: Sequence[_Side], way: Literal["in", "out"]) -> Iterator[Limit]:
    """Yield the limits of packets on the wire; nodes of a machine share the interface that has their addresses."""
    groups: dict[tuple[str, str], list[_Side]] = {}
    speeds: dict[tuple[str, str], int] = {}
    for side in sides:
        found = _interface_of(side)
        if found is not None and side.loads:
            place = (machine_of(side.node), found.name)
            groups.setdefault(place, []).append(side)
            speeds[place] = min(filter(None, (speeds.get(place, 0), found.bits_per_s)), default=0)
    for (machine, name), group in groups.items():
        loads = [load for side in group for load in side.loads]
        needed = sum(load.wire_bytes_per_s for load in loads)
        has = speeds[machine, name] / 8 or None
        who = f"{name} of {machine}, {way}"
        verb = "come in over" if way == "in" else "go out over"
        text = f"packets of {needed * 8e-9:.2f} Gb/s {verb} {name} of {machine}, which carries {(has or 0) * 8e-9:.2f} Gb/s"
        nodes = tuple(side.node.name for side in group)
        yield Limit("interface", who, needed, has, text, ("detector", "rate_hz"), _positions(plan, loads), nodes)


def _interface_of(side: _Side) -> Interface | None:
    address = side.node.address.partition("%")[0].lower()
    known = side.can.interfaces if side.can else ()
    by_device = next((one for one in known if side.node.device and one.device == side.node.device), None)
    return by_device or next((one for one in known if address in one.addresses), None)


def _measured(plan: Plan, side: _Side, buffer: PlannedBuffer) -> float | None:
    """Return the rate, images/s, at which the node's unit processes the buffer's images; None when not measured."""
    if side.can is None or not buffer.section.kernel:
        return None
    fingerprint = throughput.fingerprint_of(buffer.section, plan.file.detector.pixel)
    return throughput.images_per_s(side.can.throughputs, fingerprint, buffer.width * buffer.height)


def _wanted(plan: Plan, buffer: PlannedBuffer) -> float:
    """Return the required rate, images/s, in a group the member's share; 0 when the frame rate is not given."""
    group = plan.group_of(buffer.receiver)
    return plan.file.detector.rate_hz / buffer.section.every / (len(group.members) if group else 1)


def _unit_limits(plan: Plan, side: _Side) -> Iterator[Limit]:
    """Yield the limits of units, in seconds for each stack."""
    for buffer in plan.buffers_of(side.node.name):
        if not buffer.section.kernel:
            continue
        position, section = plan.positions[buffer.section.name], buffer.section
        made, wanted = _measured(plan, side, buffer), _wanted(plan, buffer)
        needed = section.stack / made if made else None
        has = section.stack / wanted if wanted else None
        text = (
            f"a stack of {section.stack} images of buffer {section.name} takes unit {section.unit} of {side.name} {(needed or 0) * 1e3:.2f} ms, and "
            f"{(has or 0) * 1e3:.2f} ms are there for it"
        )
        who = f"unit {section.unit} of {side.node.label}, buffer {section.name}"
        yield Limit("unit", who, needed, has, text, ("buffer", position, "unit"), (position,), (side.node.name,))


def _file_limits(plan: Plan, side: _Side) -> Iterator[Limit]:
    """Yield the limits of files, in seconds to process a stack and write it. They hold for pixels, compression and vetoes like those of the
    measurement."""
    for buffer in plan.buffers_of(side.node.name):
        position, section = plan.positions[buffer.section.name], buffer.section
        if not throughput.writes_files(section):
            continue
        fingerprint = throughput.file_fingerprint_of(section, plan.file.detector.pixel, plan.file.run.output)
        known = side.can.throughputs if side.can else ()
        made = throughput.images_per_s(known, fingerprint, buffer.width * buffer.height)
        wanted = _wanted(plan, buffer)
        needed = section.stack / made if made else None
        has = section.stack / wanted if wanted else None
        text = (
            f"a stack of {section.stack} images of buffer {section.name} takes {side.name} {(needed or 0) * 1e3:.2f} ms until it is in files beside "
            f"{plan.file.run.output}, and {(has or 0) * 1e3:.2f} ms are there for it"
        )
        who = f"files of {side.node.label}, buffer {section.name}"
        yield Limit("files", who, needed, has, text, ("buffer", position, "sink"), (position,), (side.node.name,))


def _busy(plan: Plan, side: _Side, buffer: PlannedBuffer) -> float | None:
    """Return the share of time in which the buffer's unit works, 1 when it cannot keep up, None when unknown."""
    made, wanted = _measured(plan, side, buffer), _wanted(plan, buffer)
    return min(1.0, wanted / made) if made and wanted else None


def _processor_limits(plan: Plan, sides: Sequence[_Side]) -> Iterator[Limit]:
    """Yield the limits of processors: the number of unit cpu's threads that work at the same time. Nodes that a run starts share the manager's
    processors; for other nodes, sharing is unknown."""
    groups: dict[str, list[_Side]] = {}
    for side in sides:
        groups.setdefault("" if side.node.node == "local" else side.node.name, []).append(side)
    for group in groups.values():
        tasks = [
            (side, buffer)
            for side in group
            for buffer in plan.buffers_of(side.node.name)
            if buffer.section.kernel and buffer.section.unit == "cpu"
        ]
        busy = [(buffer, part) for side, buffer in tasks if (part := _busy(plan, side, buffer)) is not None]
        if not tasks:
            continue
        needed = sum(part * buffer.section.threads for buffer, part in busy) if busy else None
        has = min((side.can.processors for side in group if side.can), default=None)
        names = " and ".join(side.name for side in group)
        text = f"the pipelines keep {needed or 0:.1f} processors busy, {names} {_have(group)} {has or 0}"
        positions = tuple(plan.positions[buffer.section.name] for _, buffer in tasks)
        who = f"processors of {' and '.join(side.node.label for side in group)}"
        nodes = tuple(side.node.name for side in group)
        yield Limit("processors", who, needed, has, text, ("buffer", positions[0], "threads"), positions, nodes)


def _device_limits(plan: Plan, sides: Sequence[_Side]) -> Iterator[Limit]:
    """Yield the limits of accelerators that several buffers share. An accelerator with one buffer has only the limit of its unit."""
    groups: dict[tuple[str, str, str], list[tuple[_Side, PlannedBuffer]]] = {}
    for side in sides:
        for buffer in plan.buffers_of(side.node.name):
            if buffer.section.unit not in ("cpu", "fpga") and buffer.section.kernel:  # cards are not shared
                for device in buffer.section.device_names:
                    place = (machine_of(side.node), buffer.section.unit, device)
                    groups.setdefault(place, []).append((side, buffer))
    for (machine, unit, device), tasks in groups.items():
        if len(tasks) < 2:
            continue
        # a unit with several devices gives each its part
        busy = [
            part / len(buffer.section.device_names)
            for side, buffer in tasks
            if (part := _busy(plan, side, buffer)) is not None
        ]
        needed = sum(busy) if busy else None
        names = ", ".join(buffer.section.name for _, buffer in tasks)
        text = f"buffers {names} keep device {device} ({unit}) of {machine} busy for {100 * (needed or 0):.0f} % of the time"
        positions = tuple(plan.positions[buffer.section.name] for _, buffer in tasks)
        nodes = tuple(dict.fromkeys(side.node.name for side, _ in tasks))
        who = f"device {device} ({unit}) of {machine}"
        yield Limit("device", who, needed, 1.0, text, ("buffer", positions[0], "device"), positions, nodes)


def _device_memory_limits(plan: Plan, sides: Sequence[_Side]) -> Iterator[Limit]:
    """Yield the limits of accelerator memory, which nodes of a machine share. An accelerator that uses the machine's memory counts with that memory."""
    groups: dict[tuple[str, str, int], list[tuple[_Side, PlannedBuffer, UnitDevice]]] = {}
    for side in sides:
        for buffer in plan.buffers_of(side.node.name):
            for device in planned_devices(buffer, side.can):
                if not device.unified:
                    place = (machine_of(side.node), device.unit, device.number)
                    groups.setdefault(place, []).append((side, buffer, device))
    for (machine, unit, number), tasks in groups.items():
        taken = [memory_on_device(plan, buffer, device) for _, buffer, device in tasks]
        largest = max(range(len(tasks)), key=lambda one: sum(taken[one].values()))
        needed = sum(sum(memory.values()) for memory in taken)
        has = min((room for _, _, device in tasks if (room := device.free_bytes or device.memory_bytes)), default=None)
        parts = ", ".join(f"{what} {size / 2**30:,.2f}" for what, size in taken[largest].items())
        names = " and ".join(buffer.section.name for _, buffer, _ in tasks)
        model = f"{unit}, {tasks[0][2].name}" if tasks[0][2].name else unit
        buffers = "buffer" if len(tasks) == 1 else "buffers"
        text = (
            f"{buffers} {names} take{'s' * (len(tasks) == 1)} {needed / 2**30:,.2f} GiB of device {number} ({model}) of {machine}, which has "
            f"{(has or 0) / 2**30:,.2f} GiB free; {tasks[largest][1].section.name}: {parts}"
        )
        positions = tuple(plan.positions[buffer.section.name] for _, buffer, _ in tasks)
        nodes = tuple(dict.fromkeys(side.node.name for side, _, _ in tasks))
        who = f"memory of device {number} ({unit}) of {machine}"
        where = ("buffer", positions[largest], "stack")
        yield Limit("device memory", who, needed, has, text, where, positions, nodes)


def _device_window_limits(plan: Plan, sides: Sequence[_Side]) -> Iterator[Limit]:
    """Yield the limits of the windows (BAR1) through which RNICs write images into the memory of a device, with the device's attributes. A device that
    an RNIC cannot write to has no window."""
    for side in sides:
        if plan.receiver(side.node.name).memory != "device" or not any(
            load.destination_link == "verbs" for load in side.loads
        ):
            continue
        groups: dict[int, list[tuple[PlannedBuffer, UnitDevice]]] = {}
        for buffer in plan.buffers_of(side.node.name):
            for device in planned_devices(buffer, side.can):
                groups.setdefault(device.number, []).append((buffer, device))
        for number, tasks in groups.items():
            device = tasks[0][1]
            needed = sum(memory_on_device(plan, buffer, one).get("images", 0) for buffer, one in tasks)
            has = 0 if device.remote_refusal else device.bar1_free_bytes or device.bar1_bytes or None
            text = device.remote_refusal or (
                f"images take {needed / 2**30:,.2f} GiB of the window (BAR1) of device {number} ({device.name or device.unit}) of {side.name}, which has "
                f"{(has or 0) / 2**30:,.2f} GiB free; {device.remote_writes or 'its attributes are unknown'}"
            )
            positions = tuple(plan.positions[buffer.section.name] for buffer, _ in tasks)
            who = f"window of device {number} of {machine_of(side.node)}"
            where = ("buffer", positions[0], "slots")
            yield Limit("device window", who, needed, has, text, where, positions, (side.node.name,))


def _memory_limits(plan: Plan, sides: Sequence[_Side]) -> Iterator[Limit]:
    """Yield the limits of memory. Nodes on one machine each report the same free memory, and all use it: receivers for buffers, emulators for rotated
    modules and reduced frames."""
    groups: dict[str, list[_Side]] = {}
    for side in sides:
        groups.setdefault(machine_of(side.node), []).append(side)
    copies = {one.name: (turned_bytes(plan, one) or 0) + (reduced_bytes(plan, one) or 0) for one in plan.emulators}
    for machine, group in groups.items():
        taken = {
            plan.positions[buffer.section.name]: memory_of(plan, buffer)
            for side in group
            for buffer in plan.buffers_of(side.node.name)
        }
        buffers = {position: sum(memory.values()) for position, memory in taken.items()}
        copied = sum(copies.get(side.node.name, 0) for side in group)
        needed = sum(buffers.values()) + copied
        has = min((side.can.memory_bytes for side in group if side.can and side.can.memory_bytes > 0), default=None)
        parts = ["the buffers"] if buffers else []
        where: KeyPath = ("buffer", max(buffers, key=lambda one: buffers[one]), "slots") if buffers else ("dataset",)
        if 2 * sum(memory["tables"] for memory in taken.values()) > needed:  # frames, not slots, are too many
            parts, where = ["the tables of all images"], ("run", "frames")
        queues = {position: memory.get("queues of consumers", 0) for position, memory in taken.items()}
        if 2 * sum(queues.values()) > needed:
            parts = ["images that wait for consumers (sink stream2: waiting)"]
            where = ("buffer", max(queues, key=lambda one: queues[one]), "sink")
        if copied:
            reduces = any(reduced_regions(plan, one) for one in plan.emulators if one.name in copies)
            what = "turned modules and reduced frames" if reduces else "turned modules"
            parts.append(f"the frames of {what} ({copied / 2**30:,.2f} GiB)")
            where = ("dataset", "frames") if 2 * copied > needed else where
        names = " and ".join(side.name for side in group)
        text = f"{' and '.join(parts)} take {needed / 2**30:,.2f} GiB, {names} {_have(group)} {(has or 0) / 2**30:.2f} GiB free"
        nodes = tuple(side.node.name for side in group)
        yield Limit("memory", f"memory of {machine}", needed, has, text, where, tuple(buffers), nodes)


def _have(group: Sequence[_Side]) -> str:
    return "has" if len(group) == 1 else "have together"
