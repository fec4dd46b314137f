# SPDX-License-Identifier: Apache-2.0
"""Finds settings that contradict stacks that begin by the last words of their source (buffer.trigger = "word")."""

from collections.abc import Iterator, Mapping, Sequence

from rashpa.control.plan.checks.device_images_check import PlacedBuffer
from rashpa.control.plan.receivers import PlannedReceiver
from rashpa.control.runfile import run_file as toml
from rashpa.control.runfile.pipeline import keeps
from rashpa.control.runfile.run_file_reader import RunFileSource

_MOST_STACKS = 256  # src/rashpa/unit/cuda/word/word.hpp


def word_trigger_problems(
    file: toml.RunFile,
    receivers: Sequence[PlannedReceiver],
    buffers: Mapping[str, Sequence[PlacedBuffer]],
    source: RunFileSource,
) -> Iterator[str]:
    """Yield a line for each fault. `buffers`: the buffers of each receiver."""
    for receiver in receivers:
        for buffer in buffers.get(receiver.name, ()):
            if buffer.section.trigger == "word" and buffer.section.unit == "cuda":
                yield from _buffer_problems(file, receiver, buffer, source)


def _buffer_problems(
    file: toml.RunFile, receiver: PlannedReceiver, buffer: PlacedBuffer, source: RunFileSource
) -> Iterator[str]:
    section, where = buffer.section, source.where(("buffer", buffer.position, "trigger"))
    kind = receiver.destination_kind
    if kind not in ("pcie", "verbs"):
        yield f'{where}: word, but link {kind} writes no word that a GPU can watch; "auto", or link.kind = "pcie" or "verbs"'
    elif file.link.of(kind).verify != "off":
        yield f'{where}: word, and the host compares lines (link.{kind}.verify); verify = "off", or trigger = "auto"'
    if kind == "verbs" and file.link.of(kind).transport != "rc":
        yield f'{where}: word, and transport uc loses lines that nobody misses; link.verbs.transport = "rc", or trigger = "auto"'
    if kind == "verbs" and file.link.of("verbs").operation == "read":
        yield f'{where}: word, and a source whose images are read writes no words behind them; link.verbs.operation = "write", or trigger = "auto"'
    if kind == "verbs" and receiver.source_kind != kind:
        yield f'{where}: word, and a source of link {receiver.source_kind} writes no words behind its images; link.kind = "verbs" on both sides, or trigger = "auto"'
    if file.link.flow != "credits":
        yield f'{where}: word, and a source that is paced may write over images whose results are still read; link.flow = "credits"'
    if section.group is not None:
        yield f'{where}: word, and images of a group come in any order, which only the host knows; trigger = "auto"'
    if section.slots // section.stack > _MOST_STACKS:
        yield f"{where}: word, and a ring of {section.slots // section.stack} stacks; {_MOST_STACKS} or fewer: larger stacks, or fewer slots"
    for kernel in section.kernel:
        if keeps(kernel) or kernel.name == "checksum":
            does = (
                "compares sums that the host names" if kernel.name == "checksum" else "keeps something for later images"
            )
            yield f'{where}: word, and {kernel.name} {does}; leave it out, or trigger = "auto"'
