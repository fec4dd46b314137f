# SPDX-License-Identifier: Apache-2.0
"""Checks whether the machines can carry a plan. If not, it gives the reason and proposes a time slice, region, rate or ring that fits."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rashpa.control.capacity.limits import limits_of, name_of
from rashpa.control.capacity.proposals import proposals_for
from rashpa.control.plan.kernel_geometry import kernel_geometry_cautions
from rashpa.control.plan.model import Plan, PlannedBuffer, PlannedDtp
from rashpa.control.plan.planned_node import processor_cautions
from rashpa.control.runfile.kernels import code_of
from rashpa.control.runfile.plausible import plausibility_cautions
from rashpa.control.telegrams.telegram import Capabilities
from rashpa.data.base.rashpa_error import RashpaError

_OPEN_FILES = 1000  # `ulimit -n` of a reader is 1024 on most machines


class CapacityError(RashpaError, ValueError):
    """Refuses a run that cannot work on these machines; the text gives the reason and proposes a remedy."""


@dataclass(frozen=True)
class _Node:
    """Describes an emulator or a receiver: its capabilities, its buffers and its DTPs."""

    can: Capabilities
    name: str
    links: tuple[str, ...]
    buffers: tuple[PlannedBuffer, ...]
    dtps: tuple[PlannedDtp, ...]


def check_capacity(plan: Plan, capabilities: Mapping[str, Capabilities]) -> None:
    """Raise CapacityError when the run cannot work. `capabilities`: of every node, by name."""
    check_abilities(plan, capabilities)
    if problems := overloads(plan, capabilities):
        raise CapacityError("\n".join(problems))


def check_abilities(plan: Plan, capabilities: Mapping[str, Capabilities]) -> None:
    """Raise CapacityError when a node lacks a feature that the run needs, regardless of load."""
    emulators, receivers = [], []
    for emulator in plan.emulators:
        can, dtps = capabilities[emulator.name], plan.dtps_from(emulator.name)
        kinds = dict.fromkeys(receiver.source_kind for receiver in plan.receivers_from(emulator.name))
        emulators.append(_Node(can, name_of(emulator, can), tuple(kinds), (), dtps))
    for receiver in plan.receivers:
        can, dtps = capabilities[receiver.name], plan.dtps_of(receiver.name)
        buffers = plan.buffers_of(receiver.name)
        receivers.append(_Node(can, name_of(receiver, can), (receiver.destination_kind,), buffers, dtps))
    problems = [problem for node in (*emulators, *receivers) for problem in _name_problems(plan, node)]
    problems += [problem for node in receivers for problem in _pipeline_problems(plan, node)]
    if problems:
        raise CapacityError("\n".join(problems))


def overloads(plan: Plan, capabilities: Mapping[str, Capabilities]) -> list[str]:
    """Return a line for each exceeded limit. The last line proposes changes that fit, or states that no simple change does. Return an empty list when
    no known limit is exceeded."""
    lines = [
        f"{plan.source.where(limit.where)}: {limit.text}" for limit in limits_of(plan, capabilities) if limit.exceeded
    ]
    if not lines:
        return []
    fitting = proposals_for(plan, capabilities)
    if fitting:
        return [*lines, f"what fits: {'; or '.join(proposal.text for proposal in fitting)}"]
    return [*lines, "no single slice, region or rate makes it fit: give the buffers more receivers, or less to do"]


def _name_problems(plan: Plan, node: _Node) -> Iterator[str]:
    for link in node.links:
        found = next((known for known in node.can.links if known.name == link), None)
        pmtu = getattr(plan.file.link.of(link), "pmtu", None)
        if found is None:
            yield f"{node.name} has no link {link}; it has {', '.join(known.name for known in node.can.links)}"
        elif pmtu is not None and pmtu not in found.pmtus:
            where = plan.source.where(("link", link, "pmtu"))
            yield f"{where}: {node.name} has no pmtu {pmtu}; it has {', '.join(map(str, found.pmtus))}"
    if plan.file.detector.pixel not in node.can.pixels:
        yield f"{plan.source.where(('detector', 'pixel'))}: {node.name} knows {', '.join(node.can.pixels)}"
    if len(node.dtps) > node.can.max_dtps:
        yield f"{plan.source.where(('buffer',))}: {len(node.dtps)} DTPs; {node.name} takes {node.can.max_dtps}"


def _pipeline_problems(plan: Plan, node: _Node) -> Iterator[str]:
    for buffer in node.buffers:
        number = plan.positions[buffer.section.name]
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


def cautions(plan: Plan) -> list[str]:
    """Return cautions of a plan that works only as long as no fault occurs."""
    texts = [
        *plan.source.cautions,
        *processor_cautions(plan.nodes, plan.source),
        *plausibility_cautions(plan.file, plan.source),
    ]
    texts += [*plan.placed.cautions, *kernel_geometry_cautions(plan), *_file_cautions(plan)]
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


def _file_cautions(plan: Plan) -> Iterator[str]:
    """Yield a caution for each master that links to more data files than a reader may have open at once."""
    if plan.file.run.open_ended:
        return
    for number, buffer in enumerate(plan.buffers):
        section = buffer.section
        images = min(-(-plan.file.run.most_frames // section.every), plan.file.run.series_frames or 2**40)
        for place, sink in enumerate(section.sink):
            each = getattr(sink, "images_per_file", None)
            if each is not None and (files := -(-images // each)) > _OPEN_FILES:
                yield (
                    f"{plan.source.where(('buffer', number, 'sink', place, 'images_per_file'))}: {images} images, {each} a file, make up to {files} data "
                    f"files, and a reader may have about {_OPEN_FILES} open: use at least {-(-images // _OPEN_FILES)} a file, or run.series_frames"
                )
