# SPDX-License-Identifier: Apache-2.0
"""Messages of DECTRIS Stream V2 into NXmx files: each series, and each of its channels, by the sink that writes those of a run."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rashpa import _native
from rashpa.data.base.books import MOST_TROUBLES, DataBooks
from rashpa.data.parts.made_hdf5 import made_hdf5
from rashpa.data.parts.older_files import older_files
from rashpa.data.stored.run_facts import COMPLETENESS
from rashpa.data.stream.live_stream import ENDPOINT
from rashpa.data.stream.stream2 import MOST_MESSAGE_BYTES, End, Image, Message, Start, StreamError, read_message
from rashpa.data.stream.stream_recording import RecordingError, recorded_messages
from rashpa.data.stream.stream_regions import lost_of, regions_of
from rashpa.node.engine.engine import EngineError
from rashpa.node.engine.native_engine import native_errors
from rashpa.node.offline.stream_start import channel_facts, dtp_of, metadata_of, write_facts

MOST_IMAGES = 1 << 40
"""Of a series: larger numbers are a mistake."""
_TOGETHER_BYTES = 64 << 20  # images that are stored at a time
_TOGETHER = 16
_MOST_KEYS = 64
_Key = TypeVar("_Key")
_PIXELS = ("uint8", "uint16", "uint32", "int16", "int32", "float32")
_COMPLETE, _MISSING = COMPLETENESS.index("complete"), COMPLETENESS.index("missing")


@dataclass
class Received:
    """Holds the result of a series. `missed`: images that did not come, by the numbers of the others and by the number of the last one. `late`: images that
    came behind a later one, and are not stored; `repeated`: images that were stored already. `refused`: messages that could not be read; `errored`: the
    images of the series among them; `errored_in_gaps`: those of the errored that are missed, too.

    From the sender's books at the end of the run: `never_sent`: images that did not come to the sender; `spoilt`: images that it could not use. `files`:
    masters. `troubles` are losses, `notes` are remarks.
    """

    series_id: int
    unique_id: str
    started: bool
    ended: bool = False
    images: int = 0
    missed: int = 0
    late: int = 0
    repeated: int = 0
    refused: int = 0
    errored: int = 0
    errored_in_gaps: int = 0
    never_sent: int = 0
    spoilt: int = 0
    troubles: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        lost = self.missed or self.late or self.refused or self.never_sent or self.spoilt
        return self.started and self.ended and not (lost or self.troubles)

    @property
    def books(self) -> DataBooks:
        """Account for every image of the series, as far as its messages say how many there were."""
        missing = self.missed - self.errored_in_gaps + self.never_sent
        errored = self.errored + self.spoilt
        troubles = tuple(f"series {self.series_id}: {text}" for text in self.troubles[:MOST_TROUBLES])
        return DataBooks(self.images + missing + errored, self.images, missing, errored, troubles)

    def trouble(self, text: str) -> None:
        """Keep a trouble, of many the first ones."""
        if len(self.troubles) < MOST_TROUBLES and text not in self.troubles:
            self.troubles.append(text)

    def note(self, text: str) -> None:
        """Keep a note, of many the first ones."""
        if len(self.notes) < 4 * MOST_TROUBLES and text not in self.notes:
            self.notes.append(text)


class StreamFiles:
    """Takes messages, and stores their images; one thread calls it.

    A start begins a series. Messages of other series neither end it nor get into it. A sender may hold images of an aborted series, whose start never comes.
    These images have files of their own, and are no series that a user has asked for.
    """

    def __init__(self, prefix: Path, *, replace: bool = False, threads: int = 1, numbered: bool = False) -> None:
        """Take the prefix of the files. `numbered`: the files of a series are <prefix>_0001…, in the order in which they come; otherwise <prefix>…; of images
        without a start, <prefix>_without_start_0001…"""
        self.done: list[Received] = []
        self.refused: list[str] = []
        """Messages that are of no series: the first reasons."""
        self.unknown: dict[str, int] = {}
        """Messages of types that are not known, how many of each."""
        self.strays: dict[tuple[int, str], int] = {}
        """Messages of other series than the one that was received, how many of each."""
        self._prefix = prefix
        self._options = _Options("replace" if replace else "refuse", threads)
        self._numbered = numbered
        self._open: _Series | None = None
        self._waiting: Start | None = None

    @property
    def current(self) -> Received | None:
        return self._open.received if self._open else None

    @property
    def series(self) -> int:
        """Return the number of finished series that had a start."""
        return sum(one.started for one in self.done)

    def take(self, data: bytes | memoryview) -> None:
        """Take one message, and count it when it cannot be read. Raise EngineError when a file cannot be written."""
        try:
            message = read_message(data)
        except StreamError as error:
            self._refuse(str(error))
            return
        if isinstance(message, Start):
            self._start(message)
        elif isinstance(message, Image):
            self._decide_waiting(message)
            self._image(message)
        elif isinstance(message, End):
            self._decide_waiting(message)
            self._end(message)
        else:
            _count(self.unknown, message.type)

    def flush(self) -> None:
        """Store the images so far."""
        if self._open:
            self._open.flush()

    def close(self) -> None:
        """Complete the files: nothing more comes."""
        self._close_open()
        if self._waiting is not None:
            waiting, self._waiting = self._waiting, None
            self._begin(waiting)
            self._close_open()

    def _close_open(self) -> None:
        if self._open:
            series, self._open = self._open, None
            self.done.append(series.close(None))

    def _start(self, start: Start) -> None:
        """Begin a series. Where one goes on, the next message tells whether this start is a stray, or that series has ended without an end."""
        if self._open is None or not self._open.received.started:
            self._begin(start)
        elif not start.is_of(self._open.key):
            self._waiting = start

    def _decide_waiting(self, message: Image | End) -> None:
        """Begin the series whose start waits, or count that start as a stray when the series that was received goes on."""
        waiting = self._waiting
        if waiting is not None and self._open is not None and message.is_of(self._open.key):
            self._waiting = None
            _count(self.strays, waiting.series)
        elif waiting is not None and message.is_of(waiting.series):
            self._waiting = None
            self._begin(waiting)

    def _refuse(self, text: str) -> None:
        if self._open:
            self._open.received.refused += 1
            self._open.received.trouble(text)
        elif len(self.refused) < MOST_TROUBLES:
            self.refused.append(text)

    def _begin(self, message: Start | Image) -> None:
        self._close_open()
        if not self._numbered and self.series and isinstance(message, Start):
            _count(self.strays, message.series)  # the one that was asked for has the files' names
            return
        started = isinstance(message, Start)
        number = 1 + sum(one.started == started for one in self.done)
        name = self._prefix.name
        if not started:
            name += f"_without_start_{number:04}"
        elif self._numbered:
            name += f"_{number:04}"
        self._open = _Series(message, self._prefix.with_name(name), self._options)

    def _image(self, message: Image) -> None:
        if self._open is None or not message.is_of(self._open.key):
            if self._stray(message):
                return
            self._begin(message)
        if self._open is not None:
            self._open.image(message)

    def _end(self, message: End) -> None:
        if self._open is not None and message.is_of(self._open.key):
            series, self._open = self._open, None
            self.done.append(series.close(message))
            return
        if self._was_received(message):
            return  # once more
        if self._stray(message):
            return
        self._close_open()
        received = Received(message.series_id, message.unique_id, started=False, ended=True)
        received.trouble("nothing but its end came")
        self.done.append(received)

    def _stray(self, message: Image | End) -> bool:
        """Count a message of another series than the one that goes on, or of one that is over; it is not stored."""
        started = self._open is not None and self._open.received.started
        over = self._open is None and self.series > 0 and not self._numbered
        if not started and not over and not self._was_received(message):
            return False
        _count(self.strays, message.series)
        return True

    def _was_received(self, message: Message) -> bool:
        return bool(self.done) and message.is_of((self.done[-1].series_id, self.done[-1].unique_id))


def _count(counts: dict[_Key, int], key: _Key) -> None:
    """Count one more of these. Only the first keys are told apart, since strangers choose them."""
    if key in counts or len(counts) < _MOST_KEYS:
        counts[key] = counts.get(key, 0) + 1


@dataclass(frozen=True)
class _Options:
    existing: str
    threads: int


class _Series:
    """Stores one series while it is being received."""

    def __init__(self, first: Start | Image, prefix: Path, options: _Options) -> None:
        self.key = first.series
        self.received = Received(first.series_id, first.unique_id, isinstance(first, Start))
        self._start = first if isinstance(first, Start) else None
        self._prefix = prefix
        self._options = options
        self._files: dict[str, _ChannelFile] | None = None
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
        """Complete the files. Raise EngineError when that fails."""
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
        """Return how many images were sent: our senders say it at the end, others at the start."""
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
        """Say where images hold other channels than the start names: one that does not come is lost."""
        said = self._start.channels if self._start else ()
        if lost := [name for name in said if name not in found]:
            self.received.trouble(f"the start names the channels {', '.join(said)}, and images lack {', '.join(lost)}")
        if said and (more := [name for name in found if name not in said]):
            self.received.note(f"images hold the channels {', '.join(more)}, which the start does not name")

    def _make_files(self, arrays: dict[str, NDArray[Any]]) -> dict[str, _ChannelFile]:
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
            name: _ChannelFile(
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
    """Return the number of images that never came to the sender, and of those that it could not use; 0 where it does not say it of the whole run."""
    said = end.user_data
    if said.get("whole_run") is not True:
        return 0, 0
    counts = (said.get(name) for name in ("missing", "errored"))
    missing, errored = (one if type(one) is int and 0 <= one <= MOST_IMAGES else 0 for one in counts)
    return missing, errored


def _file_part(name: str) -> str:
    return "".join(one if one.isascii() and (one.isalnum() or one in "_-") else "_" for one in name) or "channel"


class _ChannelFile:
    """Writes the files of one channel of a series."""

    def __init__(
        self,
        prefix: Path,
        channel: str,
        first: NDArray[Any],
        images: int,
        start: Start | None,
        series: tuple[int, str],
        options: _Options,
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
        config = _native.BufferConfig()
        config.name = channel
        config.width, config.height, config.pixel = width, height, first.dtype.name
        together = max(1, min(_TOGETHER, _TOGETHER_BYTES // first.nbytes))
        config.stack, config.slots = 1, 2 * together
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
        """Add rows of images that did not come."""
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


MOST_ROWS = 1 << 20
"""Of images that are missed at once: a gap that is longer has so many rows in the tables."""


def _small(value: object, instead: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 64 else instead


Progress = Callable[[Received | None], None]


def read_recording(path: Path, files: StreamFiles, series: int = 1) -> None:
    """Read recorded messages, until `series` series have ended (0: all). Raise EngineError when there are none, or a file cannot be written."""
    try:
        for message in recorded_messages(path):
            files.take(message)
            if series and files.series >= series:
                return
    except RecordingError as error:
        raise EngineError("file", str(error)) from None


def receive(
    endpoint: str,
    files: StreamFiles,
    *,
    pattern: str = "push",
    series: int = 1,
    timeout_s: float | None = None,
    progress: Progress | None = None,
) -> bool:
    """Receive messages of `endpoint` until `series` series have ended (0: for ever). Return False when none came for `timeout_s`. Raise EngineError when the
    endpoint is none, or a file cannot be written."""
    if not ENDPOINT.fullmatch(endpoint):
        raise EngineError("config", f"{endpoint} is no endpoint; give tcp://ADDRESS:PORT")
    try:
        import zmq
    except ImportError:
        raise EngineError("config", "streams are read with pyzmq: pip install 'rashpa[stream]'") from None
    with zmq.Context() as context, context.socket(zmq.PULL if pattern == "push" else zmq.SUB) as socket:
        socket.linger = 0
        socket.reconnect_ivl = 20
        socket.rcvhwm = 64
        socket.maxmsgsize = MOST_MESSAGE_BYTES
        socket.ipv6 = "[" in endpoint
        if pattern != "push":
            socket.subscribe(b"")
        try:
            socket.connect(endpoint)
        except zmq.ZMQError as error:
            raise EngineError("config", f"{endpoint}: {error}; give tcp://ADDRESS:PORT") from None
        return _receive(socket, files, series, timeout_s, progress)


def _receive(socket: Any, files: StreamFiles, series: int, timeout_s: float | None, progress: Progress | None) -> bool:
    idle_ms, since = 500, time.monotonic()
    while not series or files.series < series:
        if socket.poll(idle_ms):
            files.take(socket.recv(copy=False).buffer)
            since = time.monotonic()
        else:
            files.flush()
            if timeout_s is not None and time.monotonic() - since > timeout_s:
                return False
        if progress is not None:
            progress(files.current)
    return True
