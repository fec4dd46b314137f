# SPDX-License-Identifier: Apache-2.0
"""Writes messages of DECTRIS Stream V2 into NXmx files: one for each channel of each series, with the same sink as a run."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from rashpa.data.base.books import MOST_TROUBLES
from rashpa.data.stream.live_stream import ENDPOINT
from rashpa.data.stream.stream2 import MOST_MESSAGE_BYTES, End, Image, Message, Start, StreamError, read_message
from rashpa.data.stream.stream_recording import RecordingError, recorded_messages
from rashpa.node.engine.engine import EngineError
from rashpa.node.offline.channel_file import StreamOptions
from rashpa.node.offline.received import Received
from rashpa.node.offline.stream_series import StreamSeries

_MOST_KEYS = 64
_Key = TypeVar("_Key")


class StreamFiles:
    """Receives messages and stores their images; one thread calls it.

    A start message begins a series. Messages of other series are not stored, and do not end it. A sender may hold images of an aborted series, whose
    start message never comes. These images have files of their own, and do not count as a series that a user has asked for.
    """

    def __init__(self, prefix: Path, *, replace: bool = False, threads: int = 1, numbered: bool = False) -> None:
        """Set the prefix of the files. `numbered`: the files of series are <prefix>_0001…, in order of arrival; otherwise <prefix>…. Images without a
        start message go to <prefix>_without_start_0001…."""
        self.done: list[Received] = []
        self.refused: list[str] = []
        """Messages that are of no series: the first reasons."""
        self.unknown: dict[str, int] = {}
        """Messages of types that are not known, how many of each."""
        self.strays: dict[tuple[int, str], int] = {}
        """Messages of other series than the one that was received, how many of each."""
        self._prefix = prefix
        self._options = StreamOptions("replace" if replace else "refuse", threads)
        self._numbered = numbered
        self._open: StreamSeries | None = None
        self._waiting: Start | None = None

    @property
    def current(self) -> Received | None:
        return self._open.received if self._open else None

    @property
    def series(self) -> int:
        """Return the number of finished series that had a start message."""
        return sum(one.started for one in self.done)

    def take(self, data: bytes | memoryview) -> None:
        """Process one message; count it when it cannot be read. Raise EngineError when a file cannot be written."""
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
        """Write the images received so far to the files."""
        if self._open:
            self._open.flush()

    def close(self) -> None:
        """Complete the files; no message may follow."""
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
        """Begin a series. If another one goes on, keep this start message until the next message shows whether it is a stray or the other series has
        ended without an end message."""
        if self._open is None or not self._open.received.started:
            self._begin(start)
        elif not start.is_of(self._open.key):
            self._waiting = start

    def _decide_waiting(self, message: Image | End) -> None:
        """Begin the series of the waiting start message, or count that message as a stray when `message` continues the present series."""
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
        self._open = StreamSeries(message, self._prefix.with_name(name), self._options)

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
        """Count a message of a series that is not the present one, or that is over; it is not stored. Return True for such a message."""
        started = self._open is not None and self._open.received.started
        over = self._open is None and self.series > 0 and not self._numbered
        if not started and not over and not self._was_received(message):
            return False
        _count(self.strays, message.series)
        return True

    def _was_received(self, message: Message) -> bool:
        return bool(self.done) and message.is_of((self.done[-1].series_id, self.done[-1].unique_id))


def _count(counts: dict[_Key, int], key: _Key) -> None:
    """Count one more message of the kind. Only the first keys have counts of their own, since senders choose keys freely."""
    if key in counts or len(counts) < _MOST_KEYS:
        counts[key] = counts.get(key, 0) + 1


Progress = Callable[[Received | None], None]


def read_recording(path: Path, files: StreamFiles, series: int = 1) -> None:
    """Read recorded messages until `series` series have ended (0: all messages). Raise EngineError when there are none, or when a file cannot be
    written."""
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
    """Receive messages from `endpoint` until `series` series have ended (0: for ever). Return False when none came for `timeout_s`. Raise EngineError
    when the endpoint is invalid, or when a file cannot be written."""
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
