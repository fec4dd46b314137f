# SPDX-License-Identifier: Apache-2.0
"""Receives images of a DECTRIS Stream V2 sender as arrays. A slow reader misses images, which are counted; the sender waits for no reader."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from rashpa.data.base.closed import Closed
from rashpa.data.base.pixel_units import is_made
from rashpa.data.base.pixels import Masking, Pixels, delivered, with_masking
from rashpa.data.stored.live import LiveError
from rashpa.data.stream.stream2 import End, Image, Message, Start, StreamError, read_message

ENDPOINT = re.compile(r"(tcp://([^\s:/\[\]]+|\[[0-9A-Fa-f:.%\w]+\]):\d{1,5})|ipc://.+")
_MOST_BYTES = 1 << 30
_WAITING = 64
_LOOK_MS = 100  # a wait in pieces, so that Ctrl-C is heard


@dataclass(frozen=True)
class StreamedImage:
    """Holds one image. `image_id` counts the images of the series from 0; `missed`: the number of images missed just before it; `frame_number`: as
    rashpa senders state it, otherwise `image_id`; `numbers`: results of the sender's pipeline, by name."""

    image_id: int
    frame_number: int
    missed: int
    complete: bool
    numbers: dict[str, int | float]
    channels: dict[str, Pixels]
    """Pixels [row][column] by name, with their masking."""

    @property
    def pixels(self) -> Pixels:
        """Return the pixels [row][column] of the first channel."""
        return next(iter(self.channels.values()))

    def _repr_html_(self) -> str:
        from rashpa.data.figures.notebook import image_html

        where = "complete" if self.complete else "lines are lost"
        return image_html(self.pixels, f"frame {self.frame_number}, {where}")


class LiveStream(Closed, Iterator[StreamedImage]):
    """Yields images of one series, until its end. `missed`: the number of images that did not reach this reader; `refused`: the number of unreadable
    messages, and the reason of the last. `start`: the sender's description of the series, or None; `strays`: the number of messages of other series,
    which are ignored.

    A start message begins a series. With "push", images before any start message are strays: the sender kept them from an aborted series. With "pub"
    they are yielded, because a late client has missed the start message. A series with a start message ends with its end message, or when another
    series starts; strays do not end it.

    A wait of `timeout_s` without a message raises TimeoutError; without `timeout_s` a wait has no limit.
    """

    def __init__(self, endpoint: str, timeout_s: float | None = None, *, pattern: str = "push") -> None:
        if not ENDPOINT.fullmatch(endpoint):
            raise LiveError(f"{endpoint} is no endpoint; give tcp://ADDRESS:PORT")
        try:
            import zmq
        except ImportError:
            raise LiveError(
                "streams are read with pyzmq, which is missing; type pip install 'rashpa[stream]'"
            ) from None
        self.endpoint = endpoint
        self.missed = 0
        self.strays = 0
        self.refused: tuple[int, str] = (0, "")
        self.start: Start | None = None
        self._timeout_s = timeout_s
        self._needs_start = pattern == "push"
        self._series: tuple[int, str] | None = None
        self._next = 0
        self._over = False
        self._context = zmq.Context()
        self._socket: Any = self._context.socket(zmq.PULL if pattern == "push" else zmq.SUB)
        for name, value in (("linger", 0), ("reconnect_ivl", 20), ("rcvhwm", _WAITING), ("maxmsgsize", _MOST_BYTES)):
            setattr(self._socket, name, value)
        self._socket.ipv6 = "[" in endpoint
        if pattern != "push":
            self._socket.subscribe(b"")
        try:
            self._socket.connect(endpoint)
        except zmq.ZMQError as error:
            self.close()
            raise LiveError(f"{endpoint}: {error}; give tcp://ADDRESS:PORT") from None

    def __next__(self) -> StreamedImage:
        while not self._over:
            try:
                image = self._read(read_message(self._message()))
            except StreamError as error:
                self.refused = (self.refused[0] + 1, str(error))
                continue
            if image is not None:
                return image
        raise StopIteration

    def close(self) -> None:
        """Close the socket and receive nothing more."""
        self._over = True
        self._socket.close()
        self._context.term()

    def _message(self) -> memoryview:
        until = None if self._timeout_s is None else time.monotonic() + self._timeout_s
        while not self._socket.poll(_LOOK_MS):
            if until is not None and time.monotonic() >= until:
                raise TimeoutError(
                    f"{self.endpoint}: no message came within {self._timeout_s:g} s; start the sender, or wait longer"
                )
        buffer: memoryview = self._socket.recv(copy=False).buffer
        return buffer

    def _read(self, message: Message) -> StreamedImage | None:
        """Return the image of a message; process a start or an end message and return None."""
        if isinstance(message, Start):
            self._begin(message)
        elif isinstance(message, Image):
            if self._series is None and not self._needs_start:
                self._series = message.series
            if self._is_stray(message):
                return None
            return self._image(message) if message.image_id >= self._next else None
        elif isinstance(message, End) and not self._is_stray(message):
            due = message.user_data.get("images")
            if isinstance(due, int) and due > self._next:
                self.missed += due - self._next
            self._over = True
        return None

    def _begin(self, start: Start) -> None:
        if self._series is not None and start.is_of(self._series):
            self.start = start
        elif self.start is not None:
            self._over = True
        else:
            self._series, self.start, self._next, self.missed = start.series, start, 0, 0

    def _is_stray(self, message: Message) -> bool:
        if self._series is not None and message.is_of(self._series):
            return False
        self.strays += 1
        return True

    def _image(self, image: Image) -> StreamedImage:
        channels = {name: self._described(packed.unpack()) for name, packed in image.data.items()}
        missed, self._next = image.image_id - self._next, image.image_id + 1
        self.missed += missed
        user = image.user_data
        frame, values = user.get("frame_number"), user.get("values")
        return StreamedImage(
            image_id=image.image_id,
            frame_number=frame if isinstance(frame, int) else image.image_id,
            missed=missed,
            complete=user.get("completeness", "complete") == "complete",
            numbers={str(name): value for name, value in values.items() if isinstance(value, int | float)}
            if isinstance(values, dict)
            else {},
            channels=channels,
        )

    def _described(self, pixels: NDArray[Any]) -> Pixels:
        """Return pixels with their masking. Pixels with units come from our kernels: of signed ones, only the least value is masked. Others are
        masked as detectors do."""
        made = self.start is not None and is_made(str(self.start.user_data.get("pixel_units") or ""))
        masking = Masking("minimum") if made and pixels.dtype.kind == "i" else delivered(pixels.dtype)
        return with_masking(pixels, masking)
