# SPDX-License-Identifier: Apache-2.0
"""Summarises a plan in figures, for tables, pictures and programs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rashpa.control.capacity.device_memory import memory_on_devices
from rashpa.control.capacity.limits import Limit, limits_of, machine_of
from rashpa.control.capacity.loads import DtpLoad, dtp_loads, file_bytes, memory_of
from rashpa.control.capacity.proposals import Proposal, proposals_for
from rashpa.control.plan.emulators import PlannedEmulator
from rashpa.control.plan.model import Plan, PlannedBuffer
from rashpa.control.plan.planned_node import PlannedNode
from rashpa.control.plan.receivers import PlannedReceiver
from rashpa.control.plan.turned_frames import reduced_bytes, turned_bytes
from rashpa.control.runfile.pipeline import plan_pipeline
from rashpa.control.runfile.run_file_reader import key_text
from rashpa.control.telegrams.telegram import Capabilities


@dataclass(frozen=True)
class Summary:
    """Holds a plan with its loads and limits. `capabilities`: by name, those of nodes that were asked."""

    plan: Plan
    capabilities: Mapping[str, Capabilities]
    loads: tuple[DtpLoad, ...]
    limits: tuple[Limit, ...]
    proposals: tuple[Proposal, ...] = field(default=())

    @property
    def exceeded(self) -> tuple[Limit, ...]:
        return tuple(limit for limit in self.limits if limit.exceeded)


def summary_of(plan: Plan, capabilities: Mapping[str, Capabilities] | None = None) -> Summary:
    """Return the summary of a plan; without `capabilities`, of the plan only."""
    known = capabilities or {}
    limits = limits_of(plan, known)
    proposals = proposals_for(plan, known) if any(limit.exceeded for limit in limits) else ()
    return Summary(plan, known, dtp_loads(plan), limits, proposals)


def unknown_of(summary: Summary) -> Iterator[str]:
    """Yield a line for each unknown fact that the figures depend on."""
    plan = summary.plan
    silent = [node.label for node in plan.nodes if node.name not in summary.capabilities]
    if silent:
        yield f"{', '.join(silent)}: links, free memory, processors and measured throughput are known when they are asked: --nodes"
    if plan.file.detector.rate_hz == 0:
        yield "detector.rate_hz is 0, as fast as flow allows: what a second takes is known when it runs"
    for limit in summary.limits:
        asked = all(name in summary.capabilities for name in limit.nodes)
        if asked and limit.kind == "unit" and limit.needed is None:
            yield f"{limit.who}: not measured there; `rashpa receiver --measure {plan.source.path}` on its machine does"
        elif asked and limit.kind in ("link", "interface") and limit.has is None and limit.needed:
            yield f"{limit.who}: nobody said how fast it is{'; --link-gbps of the node does' if limit.kind == 'link' else ''}"
    for emulator in plan.emulators:
        if turned_bytes(plan, emulator) is None or reduced_bytes(plan, emulator) is None:
            yield (
                f"{emulator.label}: how many frames the dataset has is known when it is read, and with it the memory that turned modules and reduced frames "
                "take"
            )
    if any(buffer.section.kernel for buffer in plan.buffers):
        yield "how fast files are written, and how far they compress, is not planned"


def json_of(summary: Summary) -> dict[str, Any]:
    """Return the summary for programs, in bytes, seconds and hertz; None means unknown."""
    plan = summary.plan
    return {
        "run": plan.file.run.name,
        "file": str(plan.source.path),
        "frames": plan.file.run.frames,
        "rate_hz": plan.file.detector.rate_hz,
        "nodes": [_node(plan, node) for node in plan.nodes],
        "dtps": [_dtp(load) for load in summary.loads],
        "buffers": [_buffer(summary, buffer) for buffer in plan.buffers],
        "limits": [_limit(plan, limit) for limit in summary.limits],
        "proposals": [
            [{"key": key_text(change.path), "value": change.toml} for change in proposal.changes]
            for proposal in summary.proposals
        ],
        "unknown": list(unknown_of(summary)),
    }


def _node(plan: Plan, node: PlannedNode) -> dict[str, Any]:
    if isinstance(node, PlannedReceiver):
        link = node.destination_kind
    else:
        link = ", ".join(dict.fromkeys(one.source_kind for one in plan.receivers_from(node.name)))
    return {
        "name": node.name,
        "role": node.role,
        "machine": machine_of(node),
        "node": node.node,
        "link": link,
        "address": node.address,
        "modules": list(getattr(node, "modules", ())),
        "buffers": [buffer.section.name for buffer in plan.buffers_of(node.name)],
        "turned_bytes": turned_bytes(plan, node) if isinstance(node, PlannedEmulator) else 0,
        "reduced_bytes": reduced_bytes(plan, node) if isinstance(node, PlannedEmulator) else 0,
    }


def _dtp(load: DtpLoad) -> dict[str, Any]:
    dtp, section = load.dtp, load.buffer.section
    region = dtp.region
    return {
        "id": dtp.id,
        "module": dtp.module,
        "region": [region.x, region.y, region.width, region.height],
        "bins": list(dtp.bins),
        "turn": dtp.orientation.turn,
        "flip": dtp.orientation.flip,
        "every": section.every,
        "phase": section.phase,
        "buffer": section.name,
        "place": [dtp.x, dtp.y],
        "emulator": load.emulator,
        "receiver": load.receiver,
        "image_bytes": load.image_bytes,
        "image_packets": load.packets,
        "image_wire_bytes": load.wire_bytes,
        "images_per_s": load.images_per_s,
        "bytes_per_s": load.bytes_per_s,
        "wire_bytes_per_s": load.wire_bytes_per_s,
        "packets_per_s": load.packets_per_s,
        "image_events": load.events,
        "events_per_s": load.events_per_s,
    }


def _buffer(summary: Summary, buffer: PlannedBuffer) -> dict[str, Any]:
    plan, section = summary.plan, buffer.section
    return {
        "name": section.name,
        "receiver": buffer.receiver,
        "width": buffer.width,
        "height": buffer.height,
        "images": None if plan.file.run.open_ended else buffer.images,
        "slots": section.slots,
        "stack": section.stack,
        "unit": section.unit,
        "steps": [step.words for step in plan_pipeline(section.kernel, plan.file.detector.pixel).steps],
        "sinks": [sink.kind for sink in section.sink],
        "memory": memory_of(plan, buffer),
        "device_memory": memory_on_devices(plan, buffer, summary.capabilities.get(buffer.receiver)),
        "file_bytes": file_bytes(plan, buffer),
    }


def _limit(plan: Plan, limit: Limit) -> dict[str, Any]:
    names: Sequence[str] = [plan.buffers[position].section.name for position in limit.buffers]
    return {
        "kind": limit.kind,
        "who": limit.who,
        "needed": limit.needed,
        "has": limit.has,
        "exceeded": limit.exceeded,
        "buffers": names,
        "nodes": list(limit.nodes),
    }
