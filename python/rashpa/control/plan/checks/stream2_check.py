# SPDX-License-Identifier: Apache-2.0
"""Checks streams of DECTRIS Stream V2 as a source: their images, and the DTPs that must receive them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rashpa.control.runfile import run_file as toml
from rashpa.control.runfile.run_file_reader import RunFileSource

if TYPE_CHECKING:
    from rashpa.control.plan.model import PlannedBuffer
    from rashpa.control.plan.receivers import PlannedReceiver

_MOST_CHANNELS = 16  # as src/rashpa/link/stream2/messages/message.hpp
_MOST_PARTS = 32
_PORT = re.compile(r"tcp://(\[[^\]]+\]|[^:\[\]]+):([1-9][0-9]{0,4})")


def stream2_problems(
    file: toml.RunFile,
    receivers: Sequence["PlannedReceiver"],
    buffers: Mapping[str, Sequence["PlannedBuffer"]],
    source: RunFileSource,
) -> Iterator[str]:
    """Yield the faults of receivers with this link. `buffers`: the buffers of each receiver."""
    streams = [one for one in receivers if "stream2" in (one.source_kind, one.destination_kind)]
    if not streams:
        return
    yield from _key_problems(file, streams, source)
    for receiver in streams:
        for buffer in buffers[receiver.name]:
            yield from _buffer_problems(file, buffer, source)
        if file.detector.control is not None:
            yield from _channel_problems(file, receiver, buffers[receiver.name], source)


def _key_problems(file: toml.RunFile, streams: Sequence["PlannedReceiver"], source: RunFileSource) -> Iterator[str]:
    for receiver in streams:
        if receiver.source_kind != receiver.destination_kind:
            yield f'{source.where(("link", "kind"))}: stream2 is a format of its own; both ends are "stream2", or neither'
    if file.link.flow != "paced":
        yield f'{source.where(("link", "flow"))}: nothing goes back to a detector that sends a stream; "paced", or leave it out'
    table = file.link.of("stream2")
    address = source.where(("link", "stream2", "address"))
    found = _PORT.fullmatch(table.address)
    if table.address and (found is None or int(found.group(2)) > 65535):
        yield f"{address}: {table.address!r} is no address of a stream; tcp://ADDRESS:PORT of the detector"
    if found is not None and table.dialect == "sls" and int(found.group(2)) + table.connections - 1 > 65535:
        yield f"{address}: {table.connections} connections from port {found.group(2)} on end beyond port 65535; use fewer"
    foreign = file.detector.control is not None
    if not foreign and table.dialect != "dectris":
        where = source.where(("link", "stream2", "dialect"))
        yield f'{where}: {table.dialect!r}, and an emulator sends Stream V2; "dectris", or add [detector.control]'
    if foreign and not table.address:
        yield f"{address}: it is empty, and the detector of [detector.control] is somewhere; tcp://ADDRESS:PORT of its stream"
    if not foreign and table.address:
        yield f"{address}: {table.address!r}, and an emulator sends; take it out, or add [detector.control]"
    if table.dialect == "dectris" and table.first_frame:
        where = source.where(("link", "stream2", "first_frame"))
        yield f"{where}: {table.first_frame}, and images of DECTRIS detectors count from 0; take it out"
    if table.dialect == "dectris" and table.pattern == "pub" and table.connections != 1:
        where = source.where(("link", "stream2", "connections"))
        yield f"{where}: {table.connections}; each would get all images of a sender with pattern pub: 1"
    if foreign and len(streams) > 1 and table.pattern == "push" and table.dialect == "dectris":
        names = ", ".join(one.name for one in streams)
        yield f"{source.where(('receiver',))}: {names}; a detector that pushes deals its images among them: one receiver"


def _buffer_problems(file: toml.RunFile, buffer: "PlannedBuffer", source: RunFileSource) -> Iterator[str]:
    """Yield a line for each DTP that is not a whole image, because a message has all lines of a channel."""
    whole = (file.detector.width, file.detector.height)
    if any((dtp.region.width, dtp.region.height) != whole for dtp in buffer.dtps):
        yield (
            f"{source.where(('buffer',))}: {buffer.section.name} takes parts of images, and a stream brings whole ones of {whole[0]} x {whole[1]} pixels; "
            "leave bands and regions out, and list each further channel as a [[detector.module]]"
        )


def _channel_problems(
    file: toml.RunFile, receiver: "PlannedReceiver", buffers: Sequence["PlannedBuffer"], source: RunFileSource
) -> Iterator[str]:
    dtps = [dtp for buffer in buffers for dtp in buffer.dtps]
    where = source.where(("detector", "module"))
    if file.link.of("stream2").dialect == "sls":
        for module in sorted({dtp.module for dtp in dtps}):
            if (parts := sum(dtp.module == module for dtp in dtps)) > _MOST_PARTS:
                yield f"{where}: {parts} DTPs at {receiver.label} are of module {module}; {_MOST_PARTS} at most: use fewer buffers"
        return
    if any(dtp.module >= _MOST_CHANNELS for dtp in dtps):
        yield f"{where}: a module is a channel of the stream, which has {_MOST_CHANNELS} at most; list fewer"
    if len(dtps) > _MOST_PARTS:
        yield f"{where}: {len(dtps)} DTPs at {receiver.label}; {_MOST_PARTS} are fed by one stream at most: use fewer buffers or modules"
