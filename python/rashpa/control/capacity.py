"""Whether the machines can take what the plan sends them; if not, why, and a time slice, region or ring that fits."""

from collections.abc import Iterator

from rashpa.control.run_plan import Plan, PlannedBuffer
from rashpa.control.telegram import Capabilities


class CapacityError(ValueError):
    """The run cannot work on these machines; the text says why and proposes what would."""


def check_capacity(plan: Plan, emulator: Capabilities, receiver: Capabilities) -> None:
    """Raises CapacityError when the run cannot work."""
    problems = [
        *_name_problems(plan, emulator, receiver),
        *_rate_problems(plan, emulator, receiver),
        *_memory_problems(plan, receiver),
    ]
    if problems:
        raise CapacityError("\n".join(problems))


def buffer_bytes_per_s(plan: Plan, buffer: PlannedBuffer) -> float:
    """Payload that all DTPs of a buffer carry at the planned rate."""
    pixels = sum(dtp.region.width * dtp.region.height for dtp in buffer.dtps)
    return pixels * plan.frame_pixel_bytes * plan.file.detector.rate_hz / buffer.section.every


def _name_problems(plan: Plan, emulator: Capabilities, receiver: Capabilities) -> Iterator[str]:
    link = plan.file.link
    for node, kind in ((emulator, link.source_kind), (receiver, link.destination_kind)):
        found = next((known for known in node.links if known.name == kind), None)
        if found is None:
            yield f"{node.node} has no link {kind}; it has {', '.join(known.name for known in node.links)}"
        elif link.pmtu not in found.pmtus:
            where = plan.source.where(("link", "pmtu"))
            yield f"{where}: {node.node} has no pmtu {link.pmtu}; it has {', '.join(map(str, found.pmtus))}"
        if plan.file.detector.pixel not in node.pixels:
            yield f"{plan.source.where(('detector', 'pixel'))}: {node.node} knows {', '.join(node.pixels)}"
        if len(plan.dtps) > node.max_dtps:
            yield f"{plan.source.where(('buffer',))}: {len(plan.dtps)} DTPs; {node.node} takes {node.max_dtps}"
    for number, buffer in enumerate(plan.buffers):
        unit = next((known for known in receiver.units if known.name == buffer.section.unit), None)
        if unit is None or not unit.usable:
            why = f"its {unit.name} cannot be used: {unit.what}" if unit else f"it has no unit {buffer.section.unit}"
            usable = ", ".join(known.name for known in receiver.units if known.usable)
            yield f"{plan.source.where(('buffer', number, 'unit'))}: {receiver.node}: {why}; what it can use: {usable}"
        for kernel in buffer.section.kernel:
            if kernel.name not in receiver.kernels:
                yield f"{plan.source.where(('buffer', number, 'kernel'))}: {receiver.node} has no kernel {kernel.name}"
        for sink in buffer.section.sink:
            if sink.kind not in receiver.sinks:
                yield f"{plan.source.where(('buffer', number, 'sink'))}: {receiver.node} has no sink {sink.kind}"


def _rate_problems(plan: Plan, emulator: Capabilities, receiver: Capabilities) -> Iterator[str]:
    needed = sum(buffer_bytes_per_s(plan, buffer) for buffer in plan.buffers)
    link = plan.file.link
    for node, kind in ((emulator, link.source_kind), (receiver, link.destination_kind)):
        limit = next((known.bytes_per_s for known in node.links if known.name == kind), 0)
        if limit == 0 or needed <= limit:
            continue
        index, largest = max(enumerate(plan.buffers), key=lambda entry: buffer_bytes_per_s(plan, entry[1]))
        own = buffer_bytes_per_s(plan, largest)
        rest = limit - (needed - own)
        text = (
            f"{plan.source.where(('detector', 'rate_hz'))}: the DTPs carry {needed / 1e9:.2f} GB/s, link {kind} of {node.node} "
            f"{limit / 1e9:.2f} GB/s"
        )
        if rest > 0:
            every = largest.section.every * -int(-own // rest)
            rows = int(largest.height * rest / own)
            where = f"buffer[{index}] ({largest.section.name})"
            yield f"{text}; what fits: every = {every} in {where}, or a region of {rows} rows there, or rate_hz = {_rate_that_fits(plan, limit):g}"
        else:
            yield f"{text}; what fits: rate_hz = {_rate_that_fits(plan, limit):g}"


def _rate_that_fits(plan: Plan, limit: int) -> int:
    needed = sum(buffer_bytes_per_s(plan, buffer) for buffer in plan.buffers)
    return int(plan.file.detector.rate_hz * limit / needed)


def _memory_problems(plan: Plan, receiver: Capabilities) -> Iterator[str]:
    needed = [buffer.section.slots * buffer.width * buffer.height * plan.frame_pixel_bytes for buffer in plan.buffers]
    if receiver.memory_bytes == 0 or sum(needed) <= receiver.memory_bytes:
        return
    index = max(range(len(needed)), key=needed.__getitem__)
    largest = plan.buffers[index].section
    rest = receiver.memory_bytes - (sum(needed) - needed[index])
    stacks = int(largest.slots * rest / needed[index]) // largest.stack
    text = (
        f"{plan.source.where(('buffer', index, 'slots'))}: the buffers take {sum(needed) / 2**30:.1f} GiB, {receiver.node} has "
        f"{receiver.memory_bytes / 2**30:.1f} GiB free"
    )
    yield (
        f"{text}; what fits: slots = {stacks * largest.stack}"
        if stacks >= 2
        else f"{text}; what fits: a smaller region or stack"
    )


def cautions(plan: Plan) -> list[str]:
    """What works, but not when something goes wrong."""
    texts: list[str] = []
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
