# SPDX-License-Identifier: Apache-2.0
"""Finds settings that contradict an event for each part of an image (buffer.events = "lines:N")."""

from collections.abc import Iterator, Mapping, Sequence

from rashpa.control.plan.emulators import PlannedEmulator
from rashpa.control.plan.model import PlannedBuffer
from rashpa.control.plan.receivers import PlannedReceiver
from rashpa.control.runfile import run_file as toml
from rashpa.control.runfile.buffer_section import event_lines, events_of
from rashpa.control.runfile.run_file_reader import RunFileSource

_LINKS = ("roce", "verbs")
_MOST_RECEIVES = 32768  # of common RNICs (max_qp_wr)
_MOST_EVENTS = 1 << 23  # of a ring: immediates have 24 bits, and both directions of time


def part_events_problems(
    file: toml.RunFile,
    emulators: Sequence[PlannedEmulator],
    receivers: Sequence[PlannedReceiver],
    buffers: Mapping[str, Sequence[PlannedBuffer]],
    source: RunFileSource,
) -> Iterator[str]:
    """Yield a line for each fault. `buffers`: the buffers of each receiver."""
    for receiver in receivers:
        for buffer in buffers.get(receiver.name, ()):
            where = source.where(("buffer", file.buffer.index(buffer.section), "events"))
            try:
                lines = event_lines(buffer.section.events)
            except ValueError as error:
                yield f"{where}: {error}; give one of the two"
                continue
            if lines:
                yield from _buffer_problems(file, emulators, receiver, buffer, where)


def _buffer_problems(
    file: toml.RunFile,
    emulators: Sequence[PlannedEmulator],
    receiver: PlannedReceiver,
    buffer: PlannedBuffer,
    where: str,
) -> Iterator[str]:
    section = buffer.section
    for kind in dict.fromkeys((receiver.source_kind, receiver.destination_kind)):
        if kind not in _LINKS:
            yield f'{where}: {section.events}, but link {kind} has one event for an image; "image", or link roce or verbs'
    if "verbs" in (receiver.source_kind, receiver.destination_kind) and file.link.of("verbs").operation == "read":
        yield f'{where}: {section.events}, and an image that the receiver reads has one event; "image", or link.verbs.operation = "write"'
    if any(emulator.engine == "fpga" for emulator in emulators):
        yield f'{where}: {section.events}, but a card sends one event for an image; "image", or engine = "software"'
    if receiver.destination_kind == "roce" and not file.link.of("roce").records:
        yield f'{where}: {section.events}, and parts are told by their records; link.roce.records = true, or "image"'
    if section.trigger == "word" and section.unit == "cuda":
        yield f'{where}: {section.events}, and a GPU that waits for words takes whole images; "image", or trigger = "auto"'
    if section.group is not None:
        yield f'{where}: {section.events}, and images of a group come in any order; "image", or no group'
    most = max((section.slots * events_of(dtp.target.height, section.events) for dtp in buffer.dtps), default=0)
    if receiver.destination_kind == "verbs" and 2 * most > _MOST_RECEIVES:
        yield f"{where}: {2 * most:,} receives are posted for the events of a ring, and a queue of an RNIC takes {_MOST_RECEIVES:,}; longer parts, or fewer slots"
    elif most > _MOST_EVENTS:
        yield f"{where}: a ring has {most:,} events, and {_MOST_EVENTS:,} can be told apart; longer parts, or fewer slots"
