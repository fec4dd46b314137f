# SPDX-License-Identifier: Apache-2.0
"""Implements the source of a fake engine: it plays the fates of images, and sends them to the destinations of its DTPs."""

import contextlib
import random
import socket
import struct
import threading
import time

import numpy as np

from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram import (
    Configured,
    Count,
    Endpoint,
    SourceStatus,
)
from rashpa.node.engine.engine import EngineError, Table
from rashpa.node.engine.preview import Preview, Shown

OPEN, COMPLETE, PARTIAL, MISSING = range(4)
RECORD = struct.Struct("<HQB")
"""One fate on the wire: DTP id, image index, fate."""
_NEVER = 2**64


class FakeSource:
    """Plays the fates of images; with a small rate_hz it behaves like a slow detector."""

    def __init__(self, order: telegram.Source) -> None:
        self._order = order
        self._fates = {dtp.id: bytearray() for dtp in order.dtps}
        self._frames = order.frames
        self._begun = 0
        self._ended_early = False
        self._rate_hz = order.rate_hz
        self._held = _NEVER  # the first frame that is not begun
        self._allowed = 0 if order.trigger == "software" else order.frames
        self._triggers = dict.fromkeys(("accepted", "refused", "frames"), 0)
        self._turn = threading.Lock()  # held while a frame is begun
        self._sent = {dtp.id: 0 for dtp in order.dtps}
        self._connections: dict[tuple[str, int], socket.socket] = {}
        self._ended = threading.Event()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._send, daemon=True)
        self._began = 0.0
        self._elapsed = 0.0
        self._injected = dict.fromkeys(("drop", "duplicate", "reorder", "corrupt", "stall", "dead_images"), 0)

    def configured(self, node: str) -> Configured:
        return Configured(
            node=node,
            endpoints=tuple(
                Endpoint(address="127.0.0.1", port=1, qpn=100 + dtp.id, rkey=7, credit_offset=0)
                for dtp in self._order.dtps
            ),
        )

    def arm(self, order: telegram.Arm) -> None:
        pass

    def start(self) -> None:
        self._began = time.monotonic()
        self._thread.start()

    def pause(self, frame: int = 0) -> None:
        with self._turn:
            self._held = max(frame, self._begun)

    def resume(self, rate_hz: float = 0.0) -> None:
        self._rate_hz = rate_hz or self._rate_hz
        self._held = _NEVER

    def trigger(self, frames: int) -> None:
        if self._begun < self._allowed:
            self._triggers["refused"] += 1
            raise EngineError("state", f"busy: {self._begun} of {self._allowed} frames are sent")
        self._triggers["accepted"] += 1
        self._triggers["frames"] += frames
        self._allowed += frames

    def stop(self, order: telegram.Stop) -> None:
        if order.frames == 0:
            return self.abort()
        self._frames = self._allowed = order.frames
        self._ended_early = True
        return self.resume()

    def join(self, order: telegram.Join) -> tuple[Endpoint, ...]:  # noqa: ARG002
        raise EngineError("state", "a fake emulator deals to no groups")

    def hold_deadlines(self, held: bool) -> None:  # noqa: ARG002  as of every engine
        raise EngineError("state", "an emulator waits for no image")

    def set_limits(self, order: telegram.SetLimits) -> None:  # noqa: ARG002  as of every engine
        raise EngineError("state", "an emulator vetoes no image")

    def deal(self, order: telegram.Resend | telegram.Feed) -> None:  # noqa: ARG002
        raise EngineError("state", "a fake emulator deals to no groups")

    def abort(self) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(5.0)
        self._done.set()

    def wait(self, timeout_s: float) -> bool:
        return self._done.wait(timeout_s)

    def status(self) -> SourceStatus:
        dtps = tuple(
            telegram.SourceDtpStatus(
                id=dtp.id,
                images_sent=self._sent[dtp.id],
                images_skipped=0,
                payload_bytes=self._sent[dtp.id] * dtp.width * dtp.height * 2,
                packets=self._sent[dtp.id],
                waits=0,
                window_timeouts=0,
                late_ns=0,
                cnps_received=0,
                images_due=self._sent[dtp.id],
            )
            for dtp in self._order.dtps
        )
        injected = tuple(Count(group="injected", name=name, value=value) for name, value in self._injected.items())
        if self._order.trigger == "software":
            injected += tuple(Count(group="trigger", name=name, value=value) for name, value in self._triggers.items())
        return SourceStatus(
            elapsed_s=self._elapsed,
            counts=injected,
            dtps=dtps,
            emulator=self._order.emulator,
            rate_hz=self._rate_hz,
            frames_begun=self._begun,
        )

    def table(self, name: str, key: str) -> Table:
        if name != "fates" or not key.isdigit() or int(key) not in self._fates:
            raise KeyError(f"no {name} of {key} here")
        images = next(dtp.images for dtp in self._order.dtps if dtp.id == int(key))
        fates = bytes(self._fates[int(key)])
        whole = self._order.end == "known" and not self._ended_early
        return np.frombuffer(fates.ljust(images, b"\0") if whole else fates, np.uint8)

    def preview(self, key: str, of: Shown = "accepted") -> Preview | None:  # noqa: ARG002
        raise KeyError(f"an emulator has no buffer {key}")

    def _send(self) -> None:
        order = self._order
        dice = random.Random(order.faults.seed)  # noqa: S311  for faults, not for secrets
        ends = {(dtp.destination.address, dtp.destination.port) for dtp in order.dtps}
        with contextlib.ExitStack() as opened:
            # OSError: the receiver is gone; the manager finds that out
            for end in ends:
                with contextlib.suppress(OSError):
                    self._connections[end] = opened.enter_context(socket.create_connection(end, 5.0))
            while self._begun < self._frames:
                if self._ended.wait(1.0 / self._rate_hz if self._rate_hz > 0 else 0.0):
                    break
                if self._begun >= min(self._allowed, self._held):
                    time.sleep(0.001)  # wait: a worker at rest, until it is ended
                    continue
                with self._turn:
                    if self._ended.is_set() or self._begun >= min(self._held, self._frames):
                        continue
                    frame, self._begun = self._begun, self._begun + 1
                for dtp in order.dtps:
                    if frame % dtp.every == dtp.phase:
                        self._send_image(dtp, frame, dice)
        self._elapsed = time.monotonic() - self._began
        self._done.set()

    def _send_image(self, dtp: telegram.SourceDtp, frame: int, dice: random.Random) -> None:
        faults = self._order.faults
        index = frame // dtp.every
        fate = COMPLETE
        if dice.random() < faults.keys.drop:
            self._injected["drop"] += 1
            fate = PARTIAL
        if any(dead.module == dtp.module and frame >= dead.from_frame for dead in faults.dead_modules):
            self._injected["dead_images"] += 1
            fate = MISSING
        end = (dtp.destination.address, dtp.destination.port)
        if fate != MISSING and end in self._connections:
            try:
                self._connections[end].sendall(RECORD.pack(dtp.id, index, fate))
            except OSError:
                del self._connections[end]
        self._fates[dtp.id].append(fate)
        self._sent[dtp.id] += 1
