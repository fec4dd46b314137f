# SPDX-License-Identifier: Apache-2.0
"""Finds settings that contradict images in the memory of a GPU (receiver.memory = "device"), as far as this can be known without asking a machine."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rashpa.control.plan.receivers import PlannedReceiver
from rashpa.control.runfile import run_file as toml
from rashpa.control.runfile.pipeline import keeps, plan_pipeline
from rashpa.control.runfile.run_file_reader import RunFileSource

_WRITING = ("pcie", "verbs")  # links of writers that reach memory of a GPU
_GATHERED = ("roce", "sls")  # links of packets that the GPU gathers from host memory
_MOST_CHECKED = 15  # DTPs of a buffer that the kernel checksum compares without asking the host


@dataclass(frozen=True)
class PlacedBuffer:
    """Describes a buffer of a receiver: its section, the section's place in the run file, and its number of DTPs."""

    section: toml.Buffer
    position: int
    dtps: int


def device_images_problems(
    file: toml.RunFile,
    receivers: Sequence[PlannedReceiver],
    buffers: Mapping[str, Sequence[PlacedBuffer]],
    source: RunFileSource,
) -> Iterator[str]:
    """Yield a line for each fault. `buffers`: the buffers of each receiver."""
    there = [receiver for receiver in receivers if receiver.memory == "device"]
    if there:
        yield from _link_problems(file.link, there, source)
    for receiver in there:
        own = buffers.get(receiver.name, ())
        for buffer in own:
            yield from _buffer_problems(file, buffer, own[0].section, receiver.destination_kind, source)


def _link_problems(link: toml.Link, receivers: Sequence[PlannedReceiver], source: RunFileSource) -> Iterator[str]:
    where = source.where
    kinds = dict.fromkeys(receiver.destination_kind for receiver in receivers)
    for receiver in receivers:
        if receiver.destination_kind not in (*_WRITING, *_GATHERED):
            yield (
                f"{where(receiver.own_key('memory'))}: device, but link {receiver.destination_kind} of {receiver.label} writes to host memory only; "
                '"huge", or kind = "pcie", "roce", "sls" or "verbs"'
            )
    roce = link.of("roce")
    if "roce" in kinds and roce.icrc != "modulo_id":
        why = "leaves lines to a CRC32C of bytes" if roce.icrc == "off" else "takes frames from buffers"
        yield (
            f'{where(("link", "roce", "icrc"))}: {roce.icrc} {why} that the host and a GPU do not share, and memory = "device"; '
            '"modulo_id", or memory = "huge"'
        )
    if "pcie" in kinds and link.of("pcie").engine != "cuda":
        yield (
            f'{where(("link", "pcie", "engine"))}: {link.of("pcie").engine} writes to host memory only, and memory = "device"; '
            'engine = "cuda", or memory = "huge"'
        )
    for kind in _WRITING:
        if kind in kinds and (verify := link.of(kind).verify) != "off":
            yield (
                f'{where(("link", kind, "verify"))}: {verify}; the host cannot read images in memory of a GPU; "off", and the kernel checksum compares '
                "them there"
            )


def _buffer_problems(
    file: toml.RunFile, buffer: PlacedBuffer, first: toml.Buffer, kind: str, source: RunFileSource
) -> Iterator[str]:
    section, path, where = buffer.section, ("buffer", buffer.position), source.where
    if section.unit != "cuda":
        yield f'{where((*path, "unit"))}: {section.unit} sees no image in memory of a GPU; "cuda", or receiver.memory = "huge"'
        return
    if len(section.device_names) > 1:
        yield f'{where((*path, "devices"))}: images that lie on one device are processed there; device = one of them, or receiver.memory = "huge"'
    elif section.device_names != first.device_names:
        yield (
            f"{where((*path, 'device'))}: {section.device}; the buffers of a receiver lie on one device, and {first.name} on "
            f"{first.device}; the same, or a receiver of its own"
        )
    if section.trigger == "persistent":
        yield f'{where((*path, "trigger"))}: persistent reads images in host memory, and these lie on the device; "auto" or "graph"'
    may_change = kind in _WRITING and file.link.flow == "paced"
    if may_change and (kept := next((one for one in section.kernel if keeps(one)), None)):
        yield (
            f"{where((*path, 'kernel'))}: {kept.name} keeps parts of images for later ones, and a source that is paced may write over an image in memory "
            'of a GPU before it is proved; link.flow = "credits", or receiver.memory = "huge"'
        )
    makers = ("pixels", "list")
    steps = plan_pipeline(section.kernel, file.detector.pixel).steps
    if section.kernel and not any(step.kernel.made(port) for step in steps for port in makers):
        yield (
            f"{where((*path, 'kernel'))}: none makes pixels or lists, and those that arrive lie on the device, where no sink reads them; one that does, "
            'or receiver.memory = "huge"'
        )
    if buffer.dtps > _MOST_CHECKED and any(kernel.name == "checksum" for kernel in section.kernel):
        yield (
            f"{where((*path, 'kernel'))}: checksum compares at most {_MOST_CHECKED} DTPs on the device, not {buffer.dtps}; fewer bands, "
            'or receiver.memory = "huge"'
        )
