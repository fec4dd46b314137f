# SPDX-License-Identifier: Apache-2.0
"""Stores one series of images received from a stream: its image numbers, and the files of its channels."""

from bisect import bisect_right
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from rashpa.data.stream.stream2 import End, Image, Start, StreamError
from rashpa.node.offline.channel_file import ChannelFile, StreamOptions
from rashpa.node.offline.received import Received

MOST_IMAGES = 1 << 40
"""The most images of a series: larger numbers are a mistake."""
_PIXELS = ("uint8", "uint16", "uint32", "int16", "int32", "float32")


class StreamSeries:
    """Stores one series while it is being received."""

    def __init__(self, first: Start | Image, prefix: Path, options: StreamOptions) -> None:
        self.key = first.series
        self.received = Received(first.series_id, first.unique_id, isinstance(first, Start))
        self._start = first if isinstance(first, Start) else None
        self._prefix = prefix
        self._options = options
        self._files: dict[str, ChannelFile] | None = None
        self._next = 0
        self._refused: set[int] = set()
        self._gaps: list[tuple[int, int]] = []
        if self._start is None:
            self.received.trouble("its start did not come: the files say nothing of the experiment")

    def image(self, image: Image) -> None:
        most = self._start.images if self._start and self._start.images else MOST_IMAGES
        if image.image_id >= min(most, MOST_IMAGES):
            self.received.refused += 1
            self.received.trouble(f"image {image.image_id}: the series has {most}")
            return
        if image.image_id < self._next:
            if self._is_gap(image.image_id):
                self.received.late += 1
            else:
                self.received.repeated += 1
                self.received.note("images came more than once; the first of each is stored")
            return
        try:
            arrays = {name: packed.unpack() for name, packed in image.data.items()}
            if self._files is None:
                self._files = self._make_files(arrays)
            if arrays.keys() != self._files.keys():
                raise StreamError(f"channels {', '.join(arrays)}; the series has {', '.join(self._files)}")
            for name, pixels in arrays.items():
                self._files[name].check(pixels)
        except StreamError as error:
            self._refuse(f"image {image.image_id}: {error}", image.image_id)
            return
        if image.further:
            self.received.note(f"images say {', '.join(image.further)}, which is not in the files")
        missed = image.image_id - self._next
        if missed:
            self._gaps.append((self._next, image.image_id))
        for name, pixels in arrays.items():
            self._files[name].skip(self._next, missed)
            self._files[name].add(image, pixels)
        self.received.missed += missed
        self.received.images += 1
        self._next = image.image_id + 1

    def flush(self) -> None:
        for file in (self._files or {}).values():
            file.flush()

    def close(self, end: End | None) -> Received:
        """Complete the files and return the result; `end` is None when no end message came. Raise EngineError when that fails."""
        received = self.received
        received.ended = end is not None
        due = self._due(end) if end is not None else None
        if end is None:
            received.trouble("its end did not come")
        if due is not None and due > self._next:
            received.missed += due - self._next
        if end is not None:
            received.never_sent, received.spoilt = _lost_before(end)
        received.errored_in_gaps = sum(one < max(self._next, due or 0) for one in self._refused)
        for file in (self._files or {}).values():
            received.files.append(file.close(received))
        if received.refused and self._files is None:
            received.trouble("no image could be read, and no file is written")
        return received

    def _due(self, end: End) -> int | None:
        """Return the number of images sent, None when unknown: rashpa's senders give it in the end message, others in the start message."""
        said = end.user_data.get("images")
        if isinstance(said, int) and 0 <= said <= MOST_IMAGES:
            return said
        return self._start.images if self._start else None

    def _is_gap(self, image_id: int) -> bool:
        at = bisect_right(self._gaps, (image_id, MOST_IMAGES))
        return at > 0 and image_id < self._gaps[at - 1][1]

    def _refuse(self, text: str, image_id: int) -> None:
        self.received.refused += 1
        self._refused.add(image_id)
        self.received.errored = len(self._refused)
        self.received.trouble(text)

    def _compare_channels(self, found: list[str]) -> None:
        """Note a trouble when images lack a channel that the start message names, and a note when they have another one."""
        said = self._start.channels if self._start else ()
        if lost := [name for name in said if name not in found]:
            self.received.trouble(f"the start names the channels {', '.join(said)}, and images lack {', '.join(lost)}")
        if said and (more := [name for name in found if name not in said]):
            self.received.note(f"images hold the channels {', '.join(more)}, which the start does not name")

    def _make_files(self, arrays: dict[str, NDArray[Any]]) -> dict[str, ChannelFile]:
        for name, pixels in arrays.items():
            if pixels.dtype.name not in _PIXELS:
                raise StreamError(f"channel {name}: pixels of {pixels.dtype.name}; files hold {', '.join(_PIXELS)}")
            if self._start:
                self._start.check_size(name, pixels)
        self._compare_channels(list(arrays))
        parts = {name: _file_part(name) for name in arrays}
        if len(set(parts.values())) < len(parts):
            parts = {name: f"{part}_{number}" for number, (name, part) in enumerate(parts.items(), 1)}
        most = self._start.images if self._start and self._start.images else MOST_IMAGES
        made = {
            name: ChannelFile(
                self._prefix.with_name(f"{self._prefix.name}_{parts[name]}") if len(parts) > 1 else self._prefix,
                name,
                pixels,
                min(most, MOST_IMAGES),
                self._start,
                self.key,
                self._options,
            )
            for name, pixels in arrays.items()
        }
        for file in made.values():
            for text in file.facts.troubles:
                self.received.trouble(text)
            for text in file.facts.notes:
                self.received.note(text)
        return made


def _lost_before(end: End) -> tuple[int, int]:
    """Return the number of images that never reached the sender, and of images that it could not use; 0 where it does not report them for the whole
    run."""
    said = end.user_data
    if said.get("whole_run") is not True:
        return 0, 0
    counts = (said.get(name) for name in ("missing", "errored"))
    missing, errored = (one if type(one) is int and 0 <= one <= MOST_IMAGES else 0 for one in counts)
    return missing, errored


def _file_part(name: str) -> str:
    return "".join(one if one.isascii() and (one.isalnum() or one in "_-") else "_" for one in name) or "channel"
