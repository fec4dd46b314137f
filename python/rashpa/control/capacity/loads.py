# SPDX-License-Identifier: Apache-2.0
"""Computes the load of a plan on links and memory, for each DTP and buffer. It needs no node."""

from dataclasses import dataclass

from rashpa.control.capacity.calibration_sets import map_bytes, sets_of
from rashpa.control.capacity.declared_memory import declared
from rashpa.control.capacity.packets import Lines, traffic_of
from rashpa.control.plan import chunks
from rashpa.control.plan.model import Plan, PlannedBuffer, PlannedDtp
from rashpa.control.plan.receivers import link_to
from rashpa.control.plan.strips import strips_of
from rashpa.control.runfile.buffer_section import event_lines, events_of
from rashpa.control.runfile.pipeline import PIXEL_BYTES, Pipeline, keeps, plan_pipeline
from rashpa.control.runfile.sink_sections import Hdf5Sink, Stream2Sink

_PAGE = 4096
_RECORD_BYTES = 128  # schema/frame_record.md
_TABLE_BYTES = 2  # of an image, at least: its completeness and its decision


@dataclass(frozen=True)
class DtpLoad:
    """Describes the load of one DTP. `images_per_s`: 0 when the detector's rate is not given; `packets`, `events` and `wire_bytes`: those of one
    image, as on Ethernet."""

    dtp: PlannedDtp
    buffer: PlannedBuffer
    emulator: str
    source_link: str
    destination_link: str
    image_bytes: int
    images_per_s: float
    packets: int
    wire_bytes: int
    events: int = 1

    @property
    def receiver(self) -> str:
        return self.buffer.receiver

    @property
    def bytes_per_s(self) -> float:
        """Return the payload rate in bytes/s."""
        return self.image_bytes * self.images_per_s

    @property
    def wire_bytes_per_s(self) -> float:
        return self.wire_bytes * self.images_per_s

    @property
    def events_per_s(self) -> float:
        return self.events * self.images_per_s

    @property
    def packets_per_s(self) -> float:
        return self.packets * self.images_per_s


def dtp_loads(plan: Plan) -> tuple[DtpLoad, ...]:
    """Return the loads of all DTPs, in the order of the plan."""
    receivers = {receiver.name: receiver for receiver in plan.receivers}
    detector = plan.file.detector
    found = []
    for buffer in plan.buffers:
        receiver = receivers[buffer.receiver]
        link = link_to(plan.file.link, receiver)
        group = plan.group_of(buffer.receiver)
        images_per_s = plan.file.detector.rate_hz / buffer.section.every / (len(group.members) if group else 1)
        for dtp in buffer.dtps:
            width, _ = dtp.orientation.sides(detector.width, detector.height)
            sent = dtp.target
            if buffer.section.reduction is not None:
                width = sent.width  # the emulator keeps the reduced region by itself
            contiguous = sent.width == width == buffer.width or sent.height == 1
            part = event_lines(buffer.section.events)
            lines = Lines(sent.height, sent.width * plan.frame_pixel_bytes, contiguous, part)
            traffic = traffic_of(lines, link, receiver.address)
            found.append(
                DtpLoad(
                    dtp,
                    buffer,
                    plan.emulator_of(dtp),
                    receiver.source_kind,
                    receiver.destination_kind,
                    lines.count * lines.line_bytes,
                    images_per_s,
                    traffic.packets,
                    traffic.wire_bytes,
                    traffic.events,
                )
            )
    return tuple(found)


def memory_of(plan: Plan, buffer: PlannedBuffer) -> dict[str, int]:
    """Return the bytes that a buffer takes at its receiver, by purpose."""
    section = buffer.section
    pixel = plan.file.detector.pixel
    pixels = buffer.width * buffer.height
    image_bytes = pixels * PIXEL_BYTES[pixel]
    # on a device they are counted there
    memory = {} if plan.receiver(buffer.receiver).memory == "device" else {"images": section.slots * pages(image_bytes)}
    if _copied_first(plan, buffer):
        memory["copies for kernels"] = section.slots * pages(image_bytes)
    memory["records"] = sum(
        pages((section.slots * events_of(dtp.target.height, section.events) + 1) * _RECORD_BYTES) for dtp in buffer.dtps
    )  # and those of skipped images
    if copies := sum(sink.queue for sink in section.sink if sink.on_full == "drop" and sink.kind != "null"):
        memory["copies for sinks"] = copies * section.stack * image_bytes
    pipeline = plan_pipeline(section.kernel, pixel)
    memory |= _of_pipeline(pipeline, buffer, sets_of(plan))
    if any(step.kernel.calibration for step in pipeline.steps):
        memory["calibration"] = map_bytes(plan) * pixels
    # not compressed, each consumer behind with images of its own: it is never more
    if waiting := sum(
        min(sink.waiting, buffer.images) * sink.consumers for sink in section.sink if isinstance(sink, Stream2Sink)
    ):
        memory["queues of consumers"] = waiting * pixels * PIXEL_BYTES[pipeline.pixel]
    # of a run until stopped they grow with its images
    memory["tables"] = 0 if plan.file.run.open_ended else buffer.images * _TABLE_BYTES
    return memory


def _copied_first(plan: Plan, buffer: PlannedBuffer) -> bool:
    """Return True when images are verified before kernels accumulate them, because sources write into the slots and may overwrite an image."""
    receiver = next(receiver for receiver in plan.receivers if receiver.name == buffer.receiver)
    written = receiver.destination_kind in ("pcie", "verbs") and receiver.memory != "device"
    return written and any(map(keeps, buffer.section.kernel))


def _of_pipeline(steps: Pipeline, buffer: PlannedBuffer, sets: int) -> dict[str, int]:
    section = buffer.section
    pixels = buffer.width * buffer.height
    memory: dict[str, int] = {}
    makers = [step for step in steps.steps if step.kernel.made("pixels")]
    # each of several devices has output for all slots; strips of one image lie in one
    members = 1 if section.unit == "cpu" else len(section.device_names)
    outputs = section.slots * (1 if section.splits_images else members)
    if chunks.on_device(section, steps):
        memory["output"] = outputs * chunks.chunk_room(pixels * PIXEL_BYTES[steps.pixel])
    elif makers:
        memory["output"] = outputs * pixels * PIXEL_BYTES[makers[-1].leaves]
    if lists := sum(
        _list_entries(step.list_part, buffer, members) * (4 + PIXEL_BYTES[step.leaves]) for step in steps.steps
    ):
        memory["lists"] = int(section.slots * lists)
    if section.unit != "cpu":  # the rest lies on the device
        return memory
    if between := sum(section.stack * pixels * PIXEL_BYTES[step.leaves] for step in makers[:-1]):
        memory["between steps"] = between
    if any(step.marks_for for step in steps.steps):
        memory["marks"] = section.stack * pixels // 8
    scratch = sum(step.kernel.scratch_bytes for step in steps.steps)
    if own := (scratch + sum(declared(section, steps, "run", sets))) * pixels:
        memory["kernels"] = int(own)
    return memory


def _list_entries(part: float, buffer: PlannedBuffer, members: int) -> float:
    """Return the list entries of an image, summed over all members. Each member may have as many as the whole image may, and at most one for each
    pixel; the lists of strips are joined."""
    section, entries = buffer.section, part * buffer.width * buffer.height
    if not section.splits_images:
        return members * entries
    strips = strips_of(section, buffer.width, buffer.height)
    return entries + sum(min(entries, rows * buffer.width) for rows in strips)


def file_bytes(plan: Plan, buffer: PlannedBuffer) -> int:
    """Return the largest number of pixel bytes that the buffer's files can hold: every image accepted, nothing compressed. Return 0 without files,
    and for an unknown number of frames."""
    if not any(isinstance(sink, Hdf5Sink) for sink in buffer.section.sink):
        return 0
    if plan.file.run.open_ended:
        return 0
    steps = plan_pipeline(buffer.section.kernel, plan.file.detector.pixel)
    pixel_bytes = PIXEL_BYTES[steps.pixel]
    parts = [step.list_part for step in steps.steps if step.list_part]
    each = parts[-1] * (4 + pixel_bytes) if parts else pixel_bytes
    return int(buffer.images * buffer.width * buffer.height * each)


def pages(size: int) -> int:
    """Return the size rounded up to whole pages."""
    return -(-size // _PAGE) * _PAGE
