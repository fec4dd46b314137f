# SPDX-License-Identifier: Apache-2.0
"""Messages of DECTRIS Stream V2 into NXmx files: each series, and each of its channels, by the sink that writes those of a run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashpa import _native
from rashpa.control.version import software_version
from rashpa.data.live_stream import ENDPOINT
from rashpa.data.older_files import older_files
from rashpa.data.run_facts import COMPLETENESS
from rashpa.data.stream2 import MOST_MESSAGE_BYTES, End, Image, Start, StreamError, date_of, read_message, text_of
from rashpa.data.stream_recording import RecordingError, recorded_messages
from rashpa.data.stream_regions import Region, lost_of, regions_of
from rashpa.node.engine import EngineError
from rashpa.node.native_engine import native_errors

MOST_IMAGES = 1 << 40
"""Of a series: larger numbers are a mistake."""
_TOGETHER_BYTES = 64 << 20  # images that are stored at a time
_TOGETHER = 16
_PIXELS = ("uint8", "uint16", "uint32", "int16", "int32", "float32")
_COMPLETE, _MISSING = COMPLETENESS.index("complete"), COMPLETENESS.index("missing")


@dataclass
class Received:
    """What became of a series. `missed`: images that were not got, by the numbers of those that were, and by what sender or start say of the last; `late`: that
    came behind a later one, and are not stored; `refused`: that could not be read. `files`: masters."""

    series_id: int
    unique_id: str
    started: bool
    ended: bool = False
    images: int = 0
    missed: int = 0
    late: int = 0
    refused: int = 0
    troubles: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        return self.started and self.ended and not (self.missed or self.late or self.refused or self.troubles)

    def trouble(self, text: str) -> None:
        """The first ones are kept."""
        if len(self.troubles) < 8 and text not in self.troubles:
            self.troubles.append(text)


class StreamFiles:
    """Takes messages, and stores what they hold; one thread."""

    def __init__(self, prefix: Path, *, replace: bool = False, threads: int = 1, numbered: bool = False) -> None:
        """`numbered`: the files of a series are <prefix>_0001…, in the order in which they come; otherwise <prefix>…"""
        self.done: list[Received] = []
        self.refused: list[str] = []
        """Messages that are of no series: the first reasons."""
        self.unknown: dict[str, int] = {}
        """Messages of types that are not known, how many of each."""
        self._prefix = prefix
        self._options = _Options("replace" if replace else "refuse", threads)
        self._numbered = numbered
        self._open: _Series | None = None

    @property
    def current(self) -> Received | None:
        return self._open.received if self._open else None

    def take(self, data: bytes | memoryview) -> None:
        """One message. EngineError when a file cannot be written; what cannot be read is counted."""
        try:
            message = read_message(data)
        except StreamError as error:
            self._refuse(str(error))
            return
        if isinstance(message, Start):
            if self._open is None or self._open.key != message.series or not self._open.received.started:
                self._begin(message)
        elif isinstance(message, Image):
            if self._open is None or self._open.key != message.series:
                self._begin(message)
            if self._open is not None:
                self._open.image(message)
        elif isinstance(message, End):
            self._end(message)
        else:
            self.unknown[message.type] = self.unknown.get(message.type, 0) + 1

    def flush(self) -> None:
        """Stores what has come."""
        if self._open:
            self._open.flush()

    def close(self) -> None:
        """Nothing more comes."""
        if self._open:
            series, self._open = self._open, None
            self.done.append(series.close(None))

    def _refuse(self, text: str) -> None:
        if self._open:
            self._open.received.refused += 1
            self._open.received.trouble(text)
        elif len(self.refused) < 8:
            self.refused.append(text)

    def _begin(self, message: Start | Image) -> None:
        self.close()
        number = len(self.done) + 1
        prefix = self._prefix.with_name(f"{self._prefix.name}_{number:04}") if self._numbered else self._prefix
        self._open = _Series(message, prefix, self._options)

    def _end(self, message: End) -> None:
        if self._open is None or self._open.key != message.series:
            if (
                self._open is None
                and self.done
                and message.series == (self.done[-1].series_id, self.done[-1].unique_id)
            ):
                return  # once more
            self.close()
            received = Received(message.series_id, message.unique_id, started=False, ended=True)
            received.trouble("nothing but its end came")
            self.done.append(received)
            return
        series, self._open = self._open, None
        self.done.append(series.close(message))


@dataclass(frozen=True)
class _Options:
    existing: str
    threads: int


class _Series:
    """One series that is being received."""

    def __init__(self, first: Start | Image, prefix: Path, options: _Options) -> None:
        self.key = first.series
        self.received = Received(first.series_id, first.unique_id, isinstance(first, Start))
        self._start = first if isinstance(first, Start) else None
        self._prefix = prefix
        self._options = options
        self._files: dict[str, _ChannelFile] | None = None
        self._next = 0
        if self._start is None:
            self.received.trouble("its start did not come: the files say nothing of the experiment")

    def image(self, image: Image) -> None:
        most = self._start.images if self._start and self._start.images else MOST_IMAGES
        if image.image_id >= min(most, MOST_IMAGES):
            self._refuse(f"image {image.image_id}: the series has {most}")
            return
        if image.image_id < self._next:
            self.received.late += 1
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
            self._refuse(f"image {image.image_id}: {error}")
            return
        missed = image.image_id - self._next
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
        """Completes the files. EngineError."""
        received = self.received
        received.ended = end is not None
        if end is None:
            received.trouble("its end did not come")
        else:
            due = self._due(end)
            if due is not None and due > self._next:
                received.missed += due - self._next
        for file in (self._files or {}).values():
            received.files.append(file.close(received))
        if received.refused and self._files is None:
            received.trouble("no image could be read, and no file is written")
        return received

    def _due(self, end: End) -> int | None:
        """How many images were sent: our senders say it at the end, and others at the start."""
        said = end.user_data.get("images")
        if isinstance(said, int) and 0 <= said <= MOST_IMAGES:
            return said
        return self._start.images if self._start else None

    def _refuse(self, text: str) -> None:
        self.received.refused += 1
        self.received.trouble(text)

    def _make_files(self, arrays: dict[str, NDArray[Any]]) -> dict[str, _ChannelFile]:
        for name, pixels in arrays.items():
            if pixels.dtype.name not in _PIXELS:
                raise StreamError(f"channel {name}: pixels of {pixels.dtype.name}; files hold {', '.join(_PIXELS)}")
        parts = {name: _file_part(name) for name in arrays}
        if len(set(parts.values())) < len(parts):
            parts = {name: f"{part}_{number}" for number, (name, part) in enumerate(parts.items(), 1)}
        most = self._start.images if self._start and self._start.images else MOST_IMAGES
        return {
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


def _file_part(name: str) -> str:
    return "".join(one if one.isascii() and (one.isalnum() or one in "_-") else "_" for one in name) or "channel"


class _ChannelFile:
    """The files of one channel of a series."""

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
        metadata = _metadata(start, channel, first, series)
        metadata.dtps = [_dtp(region) for region in self._regions.values()]
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
        """Rows of images that did not come."""
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
        return self._master


MOST_ROWS = 1 << 20
"""Of images that are missed at once: a gap that is longer has so many rows in the tables."""


def _small(value: object, instead: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 64 else instead


def _dtp(region: Region) -> _native.NxmxDtp:
    dtp = _native.NxmxDtp()
    for name in ("id", "module", "x", "y", "width", "height"):
        setattr(dtp, name, getattr(region, name))
    dtp.orientation = _native.Orientation(region.turn, region.flip)
    dtp.line_rows = list(region.line_rows)
    return dtp


def _metadata(start: Start | None, channel: str, first: NDArray[Any], series: tuple[int, str]) -> _native.NxmxMetadata:
    """What the start says of the experiment, under the names that files have for it. StreamError for a mask that cannot be read."""
    values: dict[str, bool | int | float | str] = {
        "software_version": software_version(),
        "proof": "as the sender of the stream says",
        "bit_depth_readout": 8 * first.dtype.itemsize,
        "run_number": series[0] & 0xFFFFFFFF,
        "run_name": series[1],
    }
    if start is None:
        return _native.NxmxMetadata(values)
    named = start.text("detector_description")
    translation = start.fields.get("detector_translation")
    distance = translation[-1] if isinstance(translation, list) and len(translation) == 3 else 0.0
    user = start.user_data
    values |= {
        "detector_name": named,
        "description": named,
        "start_time": _date(start.fields.get("arm_date")),
        "energy_kev": start.number("incident_energy") / 1e3,
        "wavelength_angstrom": start.number("incident_wavelength"),
        "distance_m": float(distance) if isinstance(distance, int | float) and np.isfinite(distance) else 0.0,
        "sensor_material": start.text("sensor_material"),
        "sensor_thickness_m": start.number("sensor_thickness"),
        "pixel_size_m": start.number("pixel_size_x"),
        "saturation_value": start.number("saturation_value"),
        "count_time_s": start.number("count_time"),
        "frame_time_s": start.number("frame_time"),
        **{name: start.number(name) for name in ("beam_center_x", "beam_center_y")},
        **{name: text_of(user.get(name)) for name in ("instrument_name", "source_name", "sample_name", "pixel_units")},
    }
    if run := text_of(user.get("run_name")):
        values["run_name"] = run
    metadata = _native.NxmxMetadata(values)
    labels = user.get("labels")
    metadata.labels = [text_of(one) for one in labels[:64]] if isinstance(labels, list) else []
    mask = start.mask(channel)
    if mask is not None and mask.shape == first.shape:
        metadata.pixel_mask = mask
    return metadata


def _date(value: object) -> str:
    """In UTC; empty when it is none."""
    date = date_of(value)
    return "" if date is None else date.isoformat().replace("+00:00", "Z")


Progress = Callable[[Received | None], None]


def read_recording(path: Path, files: StreamFiles, series: int = 1) -> None:
    """Messages that were recorded, until so many series have ended (0: all). EngineError when there are none, or a file cannot be written."""
    try:
        for message in recorded_messages(path):
            files.take(message)
            if series and len(files.done) >= series:
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
    """Messages of `endpoint` until so many series have ended (0: for ever). False when none came for `timeout_s`. EngineError when the endpoint is none,
    or a file cannot be written."""
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
    while not series or len(files.done) < series:
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
