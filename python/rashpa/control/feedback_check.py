# SPDX-License-Identifier: Apache-2.0
"""What buffers that publish must not share."""

from collections.abc import Iterator

from rashpa.control import run_file as toml
from rashpa.control.run_file_reader import RunFileSource


def feedback_problems(file: toml.RunFile, source: RunFileSource) -> Iterator[str]:
    """Two buffers with one ring, or one port, a line each."""
    for key in ("ring", "zmq"):
        known: dict[str, str] = {}
        for number, buffer in enumerate(file.buffer):
            place = getattr(buffer.feedback, key, None)
            if place is None or place.endswith(":0"):
                continue
            if place in known:
                where = source.where(("buffer", number, "feedback", key))
                yield f"{where}: buffer {known[place]} publishes at {place}, too; give each its own"
            known.setdefault(place, buffer.name)
