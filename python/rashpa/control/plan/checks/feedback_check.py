# SPDX-License-Identifier: Apache-2.0
"""Finds rings and ports that two buffers share, and streams that cannot be sent."""

from collections.abc import Iterator

from rashpa.control.runfile import run_file as toml
from rashpa.control.runfile.kernels import declaration
from rashpa.control.runfile.key_types import KeyPath
from rashpa.control.runfile.run_file_reader import RunFileSource
from rashpa.control.runfile.sink_sections import Stream2Sink

_LAST_PORT = 65535


def feedback_problems(file: toml.RunFile, source: RunFileSource) -> Iterator[str]:
    """Yield a line for each pair of buffers with the same ring or port."""
    rings: dict[str, str] = {}
    ports: dict[str, str] = {}
    for number, buffer in enumerate(file.buffer):
        path: KeyPath = ("buffer", number)
        places = [(rings, (*path, "feedback", "ring"), getattr(buffer.feedback, "ring", None))]
        places += [(ports, (*path, "feedback", "zmq"), getattr(buffer.feedback, "zmq", None))]
        for position, sink in enumerate(buffer.sink):
            if isinstance(sink, Stream2Sink):
                places += [(ports, (*path, "sink", position), endpoint) for endpoint in endpoints_of(sink)]
        for known, where, place in places:
            if place is None or place.endswith(":0"):
                continue
            if place in known:
                yield f"{source.where(where)}: buffer {known[place]} publishes at {place}, too; give each its own"
            known.setdefault(place, buffer.name)


def endpoints_of(sink: Stream2Sink) -> list[str]:
    """Return the endpoints of all consumers; their port is 0 when any free ports are used."""
    address, _, port = sink.endpoint.rpartition(":")
    return [f"{address}:{int(port) + n if int(port) else 0}" for n in range(sink.consumers)]


def stream_problems(section: toml.Buffer, path: KeyPath, source: RunFileSource) -> Iterator[str]:
    """Yield a line for each fault of a sink stream2: images that it cannot send, or endpoints at which it cannot."""
    for position, sink in enumerate(section.sink):
        if not isinstance(sink, Stream2Sink):
            continue
        where = source.where((*path, "sink", position))
        if any(declaration(kernel.name).made("list") for kernel in section.kernel):
            yield f"{where}: stream2 sends whole images, and the pipeline makes lists of pixels; leave kernel csr out, or the sink"
        last = int(endpoints_of(sink)[-1].rpartition(":")[2])
        if last > _LAST_PORT:
            yield f"{where}: {sink.consumers} consumers need ports up to {last}, and {_LAST_PORT} is the last; begin with a lower one"
