"""Whether the machines can take what the plan sends them; if not, why, and a time slice, region or ring that fits."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rashpa.control.receivers import PlannedReceiver, processor_cautions
from rashpa.control.run_plan import Plan, PlannedBuffer
from rashpa.control.telegram import Capabilities


class CapacityError(ValueError):
    """The run cannot work on these machines; the text says why and proposes what would."""


@dataclass(frozen=True)
class _Node:
    """One side of the run, or one of the receivers: what it can do, and the buffers whose pixels it sends or takes."""

    can: Capabilities
    name: str
    link: str
    buffers: tuple[PlannedBuffer, ...]


def check_capacity(plan: Plan, emulator: Capabilities, receivers: Mapping[str, Capabilities]) -> None:
    """Raises CapacityError when the run cannot work. `receivers`: by name."""
    link = plan.file.link
    nodes = [_Node(emulator, emulator.node, link.source_kind, plan.buffers)]
    for receiver in plan.receivers:
        can = receivers[receiver.name]
        name = _name_of(receiver, can)
        nodes.append(_Node(can, name, link.destination_kind, plan.buffers_of(receiver.name)))
    problems = [problem for node in nodes for problem in _name_problems(plan, node)]
    problems += [problem for node in nodes[1:] for problem in _pipeline_problems(plan, node)]
    problems += [problem for node in nodes for problem in _rate_problems(plan, node)]
    machines: dict[str, list[_Node]] = {}
    for receiver, node in zip(plan.receivers, nodes[1:], strict=True):
        machines.setdefault(receiver.machine, []).append(node)
    problems += [problem for group in machines.values() for problem in _memory_problems(plan, group)]
    if problems:
        raise CapacityError("\n".join(problems))


def buffer_bytes_per_s(plan: Plan, buffer: PlannedBuffer) -> float:
    """Payload that all DTPs of a buffer carry at the planned rate."""
    pixels = sum(dtp.region.width * dtp.region.height for dtp in buffer.dtps)
    return pixels * plan.frame_pixel_bytes * plan.file.detector.rate_hz / buffer.section.every


def _name_of(receiver: PlannedReceiver, can: Capabilities) -> str:
    """What messages call a receiver: by the run file's name and, where it differs, the node's."""
    if not receiver.shown_name or can.node == receiver.label:
        return can.node
    return f"{receiver.label} ({can.node})"


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
    dtps = sum(len(buffer.dtps) for buffer in node.buffers)
    if dtps > node.can.max_dtps:
        yield f"{plan.source.where(('buffer',))}: {dtps} DTPs; {node.name} takes {node.can.max_dtps}"


def _pipeline_problems(plan: Plan, node: _Node) -> Iterator[str]:
    for buffer in node.buffers:
        number = plan.buffers.index(buffer)
        unit = next((known for known in node.can.units if known.name == buffer.section.unit), None)
        if unit is None or not unit.usable:
            why = f"its {unit.name} cannot be used: {unit.what}" if unit else f"it has no unit {buffer.section.unit}"
            usable = ", ".join(known.name for known in node.can.units if known.usable)
            yield f"{plan.source.where(('buffer', number, 'unit'))}: {node.name}: {why}; what it can use: {usable}"
        for kernel in buffer.section.kernel:
            if kernel.name not in node.can.kernels:
                yield f"{plan.source.where(('buffer', number, 'kernel'))}: {node.name} has no kernel {kernel.name}"
        for sink in buffer.section.sink:
            if sink.kind not in node.can.sinks:
                yield f"{plan.source.where(('buffer', number, 'sink'))}: {node.name} has no sink {sink.kind}"


def _rate_problems(plan: Plan, node: _Node) -> Iterator[str]:
    needed = sum(buffer_bytes_per_s(plan, buffer) for buffer in node.buffers)
    limit = next((known.bytes_per_s for known in node.can.links if known.name == node.link), 0)
    if limit == 0 or needed <= limit:
        return
    largest = max(node.buffers, key=lambda buffer: buffer_bytes_per_s(plan, buffer))
    own = buffer_bytes_per_s(plan, largest)
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
    if free == 0 or sum(needed) <= free:
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
    texts = list(processor_cautions(plan.receivers, plan.source))
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
