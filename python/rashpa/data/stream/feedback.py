# SPDX-License-Identifier: Apache-2.0
"""Receives the decisions of a receiver as it takes them: from a ring on its machine, or by ZeroMQ from any machine."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Protocol

from rashpa.data.base.closed import Coming
from rashpa.data.files.file_names import expanded
from rashpa.data.stream.feedback_record import Description, FeedbackError, Image, image_of

FEEDBACK_FOLDER = Path("/dev/shm")  # noqa: S108 (POSIX shared memory lies there)
"""The folder of rings, unless the receiver has another."""

_ROOM = 4096  # messages that wait for us
_LOOK_S = 0.1  # a wait in pieces, so that Ctrl-C is heard
_APPEAR_S = 0.005
_HEAD_WORDS_BYTES = 8


def ring_name(name: str) -> str:
    """Return the file name of the ring that has the name `name` in a run file."""
    return f"rashpa.{name}"


def address_of(endpoint: str) -> str:
    """Return the address in tcp://ADDRESS:PORT, without brackets."""
    return endpoint.removeprefix("tcp://").rpartition(":")[0].strip("[]")


class _Source(Protocol):
    """Declares a source of records. `next` returns a record, empty bytes when the run is over, None when none came in time."""

    @property
    def description(self) -> Description: ...

    @property
    def lost(self) -> int: ...

    def next(self, timeout_s: float) -> bytes | None: ...

    def close(self) -> None: ...


class Feedback(Coming[Image]):
    """Yields images in the order of their decisions, until the run is over. It never slows the receiver down: a slow reader loses images, and `lost`
    counts them.

    A wait of `timeout_s` without an image raises TimeoutError; without `timeout_s` a wait has no limit. Raise FeedbackError when the receiver has
    died, or its records cannot be read.
    """

    def __init__(self, source: _Source, timeout_s: float | None) -> None:
        super().__init__(timeout_s)
        self._source: _Source | None = source

    @property
    def lost(self) -> int:
        """Return the number of published images for which this reader was too slow."""
        return self._open().lost

    @property
    def description(self) -> Description:
        """Return run, buffer, and the meaning of the numbers. With ZeroMQ, raise FeedbackError before the first image."""
        return self._open().description

    def take(self, timeout_s: float | None = None) -> Image | None:
        """Return the next image, None when the run is over. Raise TimeoutError when none comes within `timeout_s`."""
        source = self._open()
        until = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            left = _LOOK_S if until is None else min(_LOOK_S, until - time.monotonic())
            record = source.next(max(0.0, left))
            if record is not None:
                return image_of(source.description, record, time.monotonic_ns()) if record else None
            if until is not None and time.monotonic() >= until:
                raise TimeoutError(f"no image was published within {timeout_s:g} s; start the run, or wait longer")

    def close(self) -> None:
        source, self._source = self._source, None
        if source is not None:
            source.close()

    def _open(self) -> _Source:
        if self._source is None:
            raise FeedbackError("this feedback is closed; open it again")
        return self._source


def open_feedback(
    source: Path | str, timeout_s: float | None = None, *, spin: bool = False, begin: str = "oldest", buffer: str = ""
) -> Feedback:
    """Open a source: the name of a ring, the path of its file, or tcp://ADDRESS:PORT. A ring may not exist yet; waiting for it is like waiting for an
    image. `spin`: wait in a busy loop, which saves some microseconds. `begin`: the first image to read from a ring, "oldest" or "next". `buffer`:
    with ZeroMQ, the only buffer to read when several publish there."""
    text = expanded(str(source))
    if text.startswith("tcp://"):
        return Feedback(_Socket(text, buffer, spin), timeout_s)
    if "://" in text:
        raise FeedbackError(f"{text}: it is no source; name a ring, its file, or tcp://ADDRESS:PORT")
    path = Path(text) if "/" in text else FEEDBACK_FOLDER / ring_name(text)
    return Feedback(_Ring(path, timeout_s, spin, begin), timeout_s)


class _Ring:
    """Reads a ring on the receiver's machine."""

    def __init__(self, path: Path, timeout_s: float | None, spin: bool, begin: str) -> None:
        from rashpa import _native

        _wait_for(path, timeout_s)
        self._error = _native.FileError
        try:
            self._ring = _native.FeedbackRing(str(path), begin)
        except (_native.FileError, _native.ConfigError) as error:
            raise FeedbackError(str(error)) from None
        self._spin = spin
        self._description = Description.parse(self._ring.description)

    @property
    def description(self) -> Description:
        return self._description

    @property
    def lost(self) -> int:
        return self._ring.lost

    def next(self, timeout_s: float) -> bytes | None:
        try:
            return self._ring.next(timeout_s, self._spin)
        except self._error as error:
            raise FeedbackError(str(error)) from None

    def close(self) -> None:
        del self._ring


def _wait_for(path: Path, timeout_s: float | None) -> None:
    until = None if timeout_s is None else time.monotonic() + timeout_s
    while not path.exists():
        if until is not None and time.monotonic() >= until:
            raise TimeoutError(
                f"{path}: no receiver published there within {timeout_s:g} s; start a run that publishes there"
            )
        time.sleep(_APPEAR_S)


class _Socket:
    """Reads a ZeroMQ socket."""

    def __init__(self, endpoint: str, buffer: str, spin: bool) -> None:
        try:
            import zmq
        except ImportError:
            raise FeedbackError(f"{endpoint}: pyzmq is not installed; pip install pyzmq, or read a ring") from None
        self._lost = 0
        self._buffer = buffer
        self._spin = spin
        self._said = b""
        self._known: Description | None = None
        self._expected: int | None = None
        self._socket: Any = zmq.Context.instance().socket(zmq.SUB)
        self._socket.setsockopt(zmq.RCVHWM, _ROOM)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.setsockopt(zmq.IPV6, 1)
        self._socket.setsockopt(zmq.SUBSCRIBE, buffer.encode())
        try:
            self._socket.connect(endpoint)
        except zmq.ZMQError as error:
            self._socket.close()
            raise FeedbackError(f"{endpoint}: {error}; give tcp://ADDRESS:PORT") from None

    @property
    def lost(self) -> int:
        return self._lost

    @property
    def description(self) -> Description:
        if self._known is None:
            raise FeedbackError(
                "no image has come yet, and by ZeroMQ the first one brings the description; take an image first"
            )
        return self._known

    def next(self, timeout_s: float) -> bytes | None:
        until = time.monotonic() + timeout_s
        while True:
            left = until - time.monotonic()
            ready = self._socket.poll(0 if self._spin else max(0, int(left * 1000) + 1))
            if not ready:
                if left <= 0:
                    return None
                continue
            record = self._record(self._socket.recv_multipart())
            if record is not None:
                return record

    def _record(self, parts: list[bytes]) -> bytes | None:
        """Return the record, None for a record of another buffer. Count the images missing since the last record."""
        if len(parts) != 3:
            raise FeedbackError(f"a message of {len(parts)} parts; a receiver's have buffer, description and record")
        topic, said, record = parts
        if self._buffer and topic != self._buffer.encode():
            return None
        if said != self._said:  # the first one, or those of another run
            self._known = Description.parse(said)
            self._said, self._expected = said, None
        if len(record) >= _HEAD_WORDS_BYTES:
            number = int.from_bytes(record[:_HEAD_WORDS_BYTES], "little") // 2 - 1
            if self._expected is not None and number > self._expected:
                self._lost += number - self._expected
            self._expected = number + 1
        return record

    def close(self) -> None:
        self._socket.close()
