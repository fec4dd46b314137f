# SPDX-License-Identifier: Apache-2.0
"""Writes the files of one channel of a series received from a stream, with the same sink as a run."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashpa import _native
from rashpa.data.parts.made_hdf5 import made_hdf5
from rashpa.data.parts.older_files import older_files
from rashpa.data.stored.run_facts import COMPLETENESS
from rashpa.data.stream.stream2 import Image, Start, StreamError
from rashpa.data.stream.stream_regions import lost_of, regions_of
from rashpa.node.engine.engine import EngineError
from rashpa.node.engine.native_errors import native_errors
from rashpa.node.offline.received import Received
from rashpa.node.offline.stream_start import channel_facts, dtp_of, metadata_of, write_facts

MOST_ROWS = 1 << 20
"""The most rows of images that are missed at once: a gap that is longer has so many rows in the tables."""
_TOGETHER_BYTES = 64 << 20  # images that are stored at a time
_TOGETHER = 16
_COMPLETE, _MISSING = COMPLETENESS.index("complete"), COMPLETENESS.index("missing")


@dataclass(frozen=True)
class StreamOptions:
    """Chooses whether older files are replaced, and the number of compressing threads."""

    existing: str
    threads: int


class ChannelFile:
    """Writes the files of one channel of a series."""

    def __init__(
        self,
        prefix: Path,
        channel: str,
        first: NDArray[Any],
        images: int,
        start: Start | None,
        series: tuple[int, str],
        options: StreamOptions,
    ) -> None:
        self._master = f"{prefix}_master.h5"
        self._shape, self._dtype = first.shape, first.dtype
        try:
            prefix.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise EngineError("file", f"{prefix.parent}: {error.strerror}; choose another folder") from None
        if options.existing == "refuse" and (old := older_files(prefix)):
            raise EngineError("file", f"{old[0]} exists; move it, choose another name, or give --replace")
        height, width = first.shape
        together = max(1, min(_TOGETHER, _TOGETHER_BYTES // first.nbytes))
        config = _native.BufferConfig({"stack": 1, "slots": 2 * together})
        config.name = channel
        config.width, config.height, config.pixel = width, height, first.dtype.name
        config.images, config.end = images, "told"
        values: dict[str, bool | int | float | str] = {
            "prefix": str(prefix),
            "existing": options.existing,
            "threads": options.threads,
        }
        self._regions = regions_of(start.user_data, height, width) if start else {}
        self._start = start
        self.facts = channel_facts(start, channel, first)
        metadata = metadata_of(start, self.facts, series)
        metadata.dtps = [dtp_of(region) for region in self._regions.values()]
        config.sinks = [_native.SinkConfig("hdf5", values, metadata)]
        with native_errors():
            self._recorder = _native.Recorder(config, series[0] & 0xFFFFFFFF)
            self._recorder.begin()
        self._room = np.zeros((together, height, width), first.dtype)
        self._frame = np.zeros(together, np.uint64)
        self._time = np.zeros(together, np.uint64)
        self._flags = np.zeros(together, np.uint32)
        self._completeness = np.zeros(together, np.uint8)
        self._lost: list[list[tuple[int, int, int]]] = []
        self._held = 0

    def check(self, pixels: NDArray[Any]) -> None:
        if pixels.shape != self._shape or pixels.dtype != self._dtype:
            raise StreamError(
                f"{pixels.shape[1]} × {pixels.shape[0]} pixels of {pixels.dtype.name}; the first was "
                f"{self._shape[1]} × {self._shape[0]} of {self._dtype.name}"
            )

    def add(self, image: Image, pixels: NDArray[Any]) -> None:
        user = image.user_data
        self._room[self._held] = pixels
        self._frame[self._held] = _small(user.get("frame_number"), image.image_id)
        self._time[self._held] = _small(user.get("timestamp_ns"), image.began_ns)
        self._flags[self._held] = _small(user.get("flags"), 0) & 0xFFFFFFFF
        said = user.get("completeness")
        self._completeness[self._held] = COMPLETENESS.index(said) if said in ("complete", "partial") else _COMPLETE
        self._keep(lost_of(user, self._regions))

    def skip(self, first: int, count: int) -> None:
        """Add `count` rows, from `first` on, for images that did not come."""
        for image_id in range(first, first + min(count, MOST_ROWS)):
            self._frame[self._held] = image_id
            self._time[self._held] = self._flags[self._held] = 0
            self._completeness[self._held] = _MISSING
            self._keep([])

    def _keep(self, lost: list[tuple[int, int, int]]) -> None:
        self._lost.append(lost)
        self._held += 1
        if self._held == len(self._room):
            self.flush()

    def flush(self) -> None:
        if self._held == 0:
            return
        held, self._held = self._held, 0
        lost, self._lost = self._lost, []
        first = np.cumsum([0, *(len(runs) for runs in lost)], dtype=np.uint64)
        runs = np.array([run for one in lost for run in one], np.uint32).reshape(-1, 3)
        with native_errors():
            self._recorder.process(
                self._room[:held],
                self._frame[:held],
                self._time[:held],
                self._flags[:held],
                self._completeness[:held],
                first,
                runs,
            )

    def close(self, received: Received) -> str:
        self.flush()
        with native_errors():
            self._recorder.finish()
        status = self._recorder.status()
        if status.sink_error:
            received.trouble(status.sink_error)
        try:
            with made_hdf5(Path(self._master), Path(self._master)) as file:
                write_facts(file, self._start, self.facts)
        except (OSError, LookupError, RuntimeError, ValueError, TypeError) as error:
            received.trouble(f"{self._master}: what the start says could not be added ({error})")
        return self._master


def _small(value: object, instead: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 64 else instead
