# SPDX-License-Identifier: Apache-2.0
"""Whether the machines can take what the plan sends them; if not, why, and a time slice, region or ring that fits."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rashpa.control.kernels import code_of
from rashpa.control.planned_node import PlannedNode, processor_cautions
from rashpa.control.run_plan import Plan, PlannedBuffer, PlannedDtp
from rashpa.control.telegram import Capabilities

_TABLE_BYTES = 2  # of an image, at least: what has come of it, and what was decided


class CapacityError(ValueError):
    """The run cannot work on these machines; the text says why and proposes what would."""


@dataclass(frozen=True)
class _Node:
    """An emulator or a receiver: what it can do, and the buffers whose pixels it sends or takes, with the DTPs that it has of them."""

    can: Capabilities
    name: str
    machine: str
    link: str
    buffers: tuple[PlannedBuffer, ...]
    dtps: tuple[PlannedDtp, ...]

    def bytes_per_s(self, plan: Plan, buffer: PlannedBuffer) -> float:
        """Payload of its DTPs of a buffer at the planned rate."""
        pixels = sum(dtp.region.width * dtp.region.height for dtp in buffer.dtps if dtp in self.dtps)
        return pixels * plan.frame_pixel_bytes * plan.file.detector.rate_hz / buffer.section.every


def check_capacity(plan: Plan, capabilities: Mapping[str, Capabilities]) -> None:
    """Raises CapacityError when the run cannot work. `capabilities`: of every node, by name."""
    link = plan.file.link
    emulators, receivers = [], []
    for emulator in plan.emulators:
        can, dtps = capabilities[emulator.name], plan.dtps_from(emulator.name)
        buffers = tuple(buffer for buffer in plan.buffers if not set(buffer.dtps).isdisjoint(dtps))
        emulators.append(_Node(can, _name_of(emulator, can), emulator.machine, link.source_kind, buffers, dtps))
    for receiver in plan.receivers:
        can, dtps = capabilities[receiver.name], plan.dtps_of(receiver.name)
        buffers = plan.buffers_of(receiver.name)
        receivers.append(_Node(can, _name_of(receiver, can), receiver.machine, link.destination_kind, buffers, dtps))
    nodes = [*emulators, *receivers]
    problems = [problem for node in nodes for problem in _name_problems(plan, node)]
    problems += [problem for node in receivers for problem in _pipeline_problems(plan, node)]
    problems += [problem for node in nodes for problem in _rate_problems(plan, node)]
    machines: dict[str, list[_Node]] = {}
    for node in receivers:
        machines.setdefault(node.machine, []).append(node)
    problems += [problem for group in machines.values() for problem in _memory_problems(plan, group)]
    if problems:
        raise CapacityError("\n".join(problems))


def _name_of(node: PlannedNode, can: Capabilities) -> str:
    """What messages call a node: by the run file's name and, where it differs, the node's own."""
    if not node.shown_name or can.node == node.label:
        return can.node
    return f"{node.label} ({can.node})"


def _name_problems(plan: Plan, node: _Node) -> Iterator[str]:
    pmtu = plan.file.link.pmtu
    found = next((known for known in node.can.links if known.name == node.link), None)
    if found is None:
        yield f"{node.name} has no link {node.link}; it has {', '.join(known.name for known in node.can.links)}"
    elif pmtu not in found.pmtus:
        where = plan.source.where(("link", "pmtu"))
        yield f"{where}: {node.name} has no pmtu {pmtu}; it has {', '.join(map(str, found.pmtus))}"
    if plan.file.detector.pixel not in node.can.pixels:
        yield f"{plan.source.where(('detector', 'pixel'))}: {node.name} knows {', '.join(node.can.pixels)}"
    if len(node.dtps) > node.can.max_dtps:
        yield f"{plan.source.where(('buffer',))}: {len(node.dtps)} DTPs; {node.name} takes {node.can.max_dtps}"


def _pipeline_problems(plan: Plan, node: _Node) -> Iterator[str]:
    for buffer in node.buffers:
        number = plan.buffers.index(buffer)
        unit = next((known for known in node.can.units if known.name == buffer.section.unit), None)
        if unit is None or not unit.usable:
            why = f"its {unit.name} cannot be used: {unit.what}" if unit else f"it has no unit {buffer.section.unit}"
            usable = ", ".join(known.name for known in node.can.units if known.usable)
            yield f"{plan.source.where(('buffer', number, 'unit'))}: {node.name}: {why}; what it can use: {usable}"
        for kernel in buffer.section.kernel:
            if kernel.name not in node.can.kernels and code_of(kernel):
                yield (
                    f"{plan.source.where(('buffer', number, 'kernel'))}: {node.name} runs no code from outside; start it with "
                    f"`rashpa receiver --kernels FOLDER`, where {code_of(kernel)} lies"
                )
            elif kernel.name not in node.can.kernels:
                yield f"{plan.source.where(('buffer', number, 'kernel'))}: {node.name} has no kernel {kernel.name}"
        for sink in buffer.section.sink:
            if sink.kind not in node.can.sinks:
                yield f"{plan.source.where(('buffer', number, 'sink'))}: {node.name} has no sink {sink.kind}"


def _rate_problems(plan: Plan, node: _Node) -> Iterator[str]:
    needed = sum(node.bytes_per_s(plan, buffer) for buffer in node.buffers)
    limit = next((known.bytes_per_s for known in node.can.links if known.name == node.link), 0)
    if limit == 0 or needed <= limit:
        return
    largest = max(node.buffers, key=lambda buffer: node.bytes_per_s(plan, buffer))
    own = node.bytes_per_s(plan, largest)
    rest = limit - (needed - own)
    rate_that_fits = int(plan.file.detector.rate_hz * limit / needed)
    text = (
        f"{plan.source.where(('detector', 'rate_hz'))}: the DTPs carry {needed / 1e9:.2f} GB/s, link {node.link} of {node.name} "
        f"{limit / 1e9:.2f} GB/s"
    )
    if rest > 0:
        every = largest.section.every * -int(-own // rest)
        rows = int(largest.height * rest / own)
        where = f"buffer[{plan.buffers.index(largest)}] ({largest.section.name})"
        yield f"{text}; what fits: every = {every} in {where}, or a region of {rows} rows there, or rate_hz = {rate_that_fits:g}"
    else:
        yield f"{text}; what fits: rate_hz = {rate_that_fits:g}"


def _memory_of(plan: Plan, buffer: PlannedBuffer) -> int:
    """Its slots, and the copies for sinks that may drop."""
    section = buffer.section
    copies = sum(sink.queue for sink in section.sink if sink.on_full == "drop" and sink.kind != "null") * section.stack
    return (section.slots + copies) * buffer.width * buffer.height * plan.frame_pixel_bytes


def _memory_problems(plan: Plan, group: Sequence[_Node]) -> Iterator[str]:
    """Of the receivers on one machine: each says what is free there, and all of them take of it."""
    buffers = [buffer for node in group for buffer in node.buffers]
    needed = [_memory_of(plan, buffer) for buffer in buffers]
    free = min((node.can.memory_bytes for node in group if node.can.memory_bytes > 0), default=0)
    if free == 0:
        return
    tables = sum(buffer.images for buffer in buffers) * _TABLE_BYTES
    if tables > free:
        fits = plan.file.run.frames * free // (2 * tables)
        yield (
            f"{plan.source.where(('run', 'frames'))}: the tables of all images take {tables / 2**30:,.1f} GiB, "
            f"{' and '.join(node.name for node in group)} {'has' if len(group) == 1 else 'have together'} {free / 2**30:.1f} GiB free; what fits: "
            f"frames = {fits}"
        )
        return
    if sum(needed) <= free:
        return
    index = max(range(len(needed)), key=needed.__getitem__)
    largest = buffers[index].section
    rest = free - (sum(needed) - needed[index])
    stacks = int(largest.slots * rest / needed[index]) // largest.stack
    have = "has" if len(group) == 1 else "have together"
    text = (
        f"{plan.source.where(('buffer', plan.buffers.index(buffers[index]), 'slots'))}: the buffers take {sum(needed) / 2**30:.1f} GiB, "
        f"{' and '.join(node.name for node in group)} {have} {free / 2**30:.1f} GiB free"
    )
    yield (
        f"{text}; what fits: slots = {stacks * largest.stack}"
        if stacks >= 2
        else f"{text}; what fits: a smaller region or stack"
    )


def cautions(plan: Plan) -> list[str]:
    """What works, but not when something goes wrong."""
    texts = list(processor_cautions(plan.nodes, plan.source))
    rate = plan.file.detector.rate_hz
    for number, buffer in enumerate(plan.buffers):
        section = buffer.section
        held = section.deadline_ms / 1000 * rate / section.every
        if plan.file.link.flow == "paced" and rate > 0 and section.slots - section.stack < held:
            texts.append(
                f"{plan.source.where(('buffer', number, 'slots'))}: {section.slots} slots pass in less than deadline_ms ({section.deadline_ms}); "
                f"one missing image then overruns the ring: use {section.stack * (2 + int(held // section.stack))} slots or a shorter deadline"
            )
    return texts
