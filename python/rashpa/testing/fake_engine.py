# SPDX-License-Identifier: Apache-2.0
"""Implements engines without compiled code, which test the whole path manager ↔ HTTP ↔ node.

They send no pixels: an emulator sends the fates of all images of a DTP over one TCP connection to each receiver.
"""

import contextlib
import os
import socket
import threading
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from rashpa.control.runfile.kernels import declarations
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.latency import BOUNDS_S
from rashpa.control.telegrams.telegram import (
    Capabilities,
    Configure,
    Configured,
    Count,
    DestinationStatus,
    Endpoint,
    Link,
    Placement,
)
from rashpa.node.engine.engine import EngineError, Table
from rashpa.node.engine.limits.limit_books import LimitBooks
from rashpa.node.engine.preview import Masked, Preview, Shown
from rashpa.node.logs.log import NativeMessage
from rashpa.testing.fake_source import COMPLETE, MISSING, OPEN, PARTIAL, RECORD, FakeSource

NONE, ACCEPTED, VETOED, ERRORED = range(4)
_LOOK_S = 0.05


@dataclass(frozen=True)
class LogMessage:
    """Holds a message in the form in which native code gives it to a node: the fields of rashpa._native.LogMessage."""

    level: str
    text: str
    run: int | None = None
    buffer: str = ""
    dtp: int | None = None
    frame: int | None = None
    time: float = 0.0  # since 1970, UTC


class FakeDestination:
    """Keeps the books of images that fake emulators announce. It vetoes every third image. `look_s`: the interval between two checks for its end."""

    def __init__(self, order: telegram.Destination, look_s: float = _LOOK_S) -> None:
        self._order = order
        self._look_s = look_s
        self._listener = socket.socket()
        weakref.finalize(self, self._listener.close)  # also of an engine that a test leaves behind
        try:
            self._listener.bind((order.bind_address, order.port))
        except OSError as error:
            self._listener.close()
            raise EngineError(
                "resource",
                f"fake: {order.bind_address} port {order.port}: {error.strerror}; take another receiver.port",
            ) from None
        self._listener.listen(16)
        self._listener.settimeout(look_s)
        self._arrived = {
            dtp.id: np.zeros(buffer.images if buffer.end == "known" else 0, np.uint8)
            for buffer in order.buffers
            for dtp in buffer.dtps
        }
        self._told = {buffer.name for buffer in order.buffers if buffer.end == "told"}  # with an unknown end
        self._growing = threading.Lock()
        self._stopping = threading.Event()
        self._finishing = threading.Event()
        self.held: list[bool] = []
        self._limits: dict[str, LimitBooks] = {}  # by buffer
        self._thread = threading.Thread(target=self._receive, daemon=True)

    def configured(self, node: str) -> Configured:
        port = self._listener.getsockname()[1]
        endpoints = tuple(
            Endpoint(address="127.0.0.1", port=port, qpn=200 + key, rkey=9, credit_offset=0) for key in self._arrived
        )
        places = tuple(
            Placement(
                pixels_offset=0,
                slot_bytes=buffer.width * buffer.height * 2,
                slots=buffer.keys.slots,
                first_line_offset=0,
                pitch=buffer.width * 2,
                line_bytes=dtp.width * 2,
                lines=dtp.height,
                records_offset=0,
            )
            for buffer in self._order.buffers
            for dtp in buffer.dtps
        )
        return Configured(node=node, endpoints=endpoints, placements=places)

    def arm(self, order: telegram.Arm) -> None:
        if len(order.endpoints) != len(self._arrived):
            raise EngineError("config", f"{len(order.endpoints)} sources for {len(self._arrived)} DTPs")

    def start(self) -> None:
        self._thread.start()

    def pause(self, frame: int = 0) -> None:  # noqa: ARG002  as of every engine
        raise EngineError("state", "a receiver does not pause")

    def resume(self, rate_hz: float = 0.0) -> None:  # noqa: ARG002  as of every engine
        raise EngineError("state", "a receiver does not pause")

    def trigger(self, frames: int) -> None:
        raise EngineError("state", f"a receiver takes no trigger of {frames} frames")

    def stop(self, order: telegram.Stop) -> None:
        ends = {end.dtp: end.images for end in order.ends}
        for buffer in self._order.buffers:
            images = max((ends.get(dtp.id, 0) for dtp in buffer.dtps), default=0)
            if buffer.name in self._told:
                self._grow(buffer, images)
            elif images:
                self._shrink(buffer, images)
        self._told.clear()
        self._finishing.set()

    def join(self, order: telegram.Join) -> tuple[Endpoint, ...]:  # noqa: ARG002
        raise EngineError("state", "a receiver deals no images; ask the emulator")

    def hold_deadlines(self, held: bool) -> None:
        """Store the order for tests: a fake engine has no deadlines."""
        self.held.append(held)

    def set_limits(self, order: telegram.SetLimits) -> None:
        """Store the change as valid from image 0 on: a fake engine has no stacks."""
        buffer = next(one for one in self._order.buffers if one.name == order.buffer)
        self._limits.setdefault(order.buffer, LimitBooks(buffer.kernels)).change(order, lambda _: 0)

    def deal(self, order: telegram.Resend | telegram.Feed) -> None:  # noqa: ARG002
        raise EngineError("state", "a receiver deals no images; ask the emulator")

    def abort(self) -> None:
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(5.0)
        self._listener.close()
        self._close_open()

    def wait(self, timeout_s: float) -> bool:
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _grow(self, buffer: telegram.Buffer, images: int) -> None:
        """Expect at least `images` images of the buffer."""
        with self._growing:
            images = max(images, *(self._arrived[dtp.id].size for dtp in buffer.dtps))
            for dtp in buffer.dtps:
                table = self._arrived[dtp.id]
                self._arrived[dtp.id] = np.pad(table, (0, images - table.size))

    def _shrink(self, buffer: telegram.Buffer, images: int) -> None:
        """Expect at most `images` images of the buffer, but not fewer than have arrived."""
        with self._growing:
            came = max(int(np.flatnonzero(self._arrived[dtp.id]).max(initial=-1)) + 1 for dtp in buffer.dtps)
            for dtp in buffer.dtps:
                self._arrived[dtp.id] = self._arrived[dtp.id][: max(images, came)].copy()

    def _close_open(self) -> None:
        self._told.clear()
        for table in self._arrived.values():
            table[table == OPEN] = MISSING

    def _receive(self) -> None:
        """Read from every emulator that connects, until all images are decided or nothing more will arrive."""
        readers: list[threading.Thread] = []
        while not self._stopping.is_set():
            whole = not self._told and not any((table == OPEN).any() for table in self._arrived.values())
            ended = self._finishing.is_set() or whole
            try:
                connection, _ = self._listener.accept()
            except TimeoutError:
                if ended:
                    break
                continue
            except OSError:
                break
            readers.append(threading.Thread(target=self._hear, args=(connection,), daemon=True))
            readers[-1].start()
        for reader in readers:
            reader.join()
        self._close_open()

    def _hear(self, connection: socket.socket) -> None:
        with contextlib.suppress(TimeoutError, OSError), connection:
            connection.settimeout(self._look_s)
            self._read(connection)

    def _read(self, connection: socket.socket) -> None:
        data = b""
        while not self._stopping.is_set():
            try:
                chunk = connection.recv(4096)
            except TimeoutError:
                continue
            if not chunk:
                return
            data += chunk
            whole = len(data) - len(data) % RECORD.size
            for key, index, fate in RECORD.iter_unpack(data[:whole]):
                if index >= self._arrived[key].size:
                    buffer = next(one for one in self._order.buffers if any(dtp.id == key for dtp in one.dtps))
                    self._grow(buffer, index + 1)
                self._arrived[key][index] = fate
            data = data[whole:]

    # ---- books ------------------------------------------------------------------------------------------------------------------

    def _tables_of(self, buffer: telegram.Buffer) -> tuple[Table, Table]:
        with self._growing:
            parts = np.stack([self._arrived[dtp.id] for dtp in buffer.dtps])
        images = parts.shape[1]
        completeness = np.full(images, PARTIAL, np.uint8)
        completeness[(parts == COMPLETE).all(axis=0)] = COMPLETE
        completeness[(parts == MISSING).all(axis=0)] = MISSING
        completeness[(parts == OPEN).any(axis=0)] = OPEN
        decisions = np.where(np.arange(images) % 3 == 2, VETOED, ACCEPTED).astype(np.uint8)
        decisions[(completeness == OPEN) | (completeness == MISSING)] = NONE
        return completeness, decisions

    def status(self) -> DestinationStatus:
        buffers = tuple(self._buffer_status(buffer) for buffer in self._order.buffers)
        first = ""
        for buffer in self._order.buffers:
            bad = np.flatnonzero(self._tables_of(buffer)[0] != COMPLETE)
            if bad.size and not first:
                first = f"buffer {buffer.name} image {bad[0]} (frame {buffer.keys.phase + bad[0] * buffer.keys.every}) is not complete"
        events = sum(int((table != OPEN).sum()) for table in self._arrived.values())
        return DestinationStatus(
            receiver=self._order.receiver,
            elapsed_s=0.5,
            memory="pageable",
            first_incomplete=first,
            counts=(
                Count(group="link", name="events", value=events),
                Count(group="link", name="payload_bytes", value=events * 100),
            ),
            buffers=buffers,
        )

    def _buffer_status(self, buffer: telegram.Buffer) -> telegram.BufferStatus:
        completeness, decisions = self._tables_of(buffer)
        complete, partial, missing = (int((completeness == state).sum()) for state in (COMPLETE, PARTIAL, MISSING))
        accepted, vetoed = (int((decisions == state).sum()) for state in (ACCEPTED, VETOED))
        dtps = []
        for dtp in buffer.dtps:
            whole, part, none = (int((self._arrived[dtp.id] == state).sum()) for state in (COMPLETE, PARTIAL, MISSING))
            loss = (Count(group="loss", name="lines", value=part),)
            dtps.append(
                telegram.DestinationDtpStatus(
                    id=dtp.id,
                    module=dtp.module,
                    expected=completeness.size,
                    complete=whole,
                    partial=part,
                    missing=none,
                    lines_missing=part,
                    counts=loss,
                )
            )
        return telegram.BufferStatus(
            name=buffer.name,
            sink_error="",
            unit="fake",
            unit_error="",
            bytes_written=accepted * 100,
            bytes_stored=accepted * 50,
            books=telegram.Books(
                expected=completeness.size,
                complete=complete,
                partial=partial,
                missing=missing,
                accepted=accepted,
                vetoed=vetoed,
                errored=0,
                written=accepted,
            ),
            counts=(Count(group="veto", name="too_few", value=vetoed),),
            limits=self._limits[buffer.name].changes if buffer.name in self._limits else (),
            latencies=tuple(_latency_of(stage, complete) for stage in ("ready", "decision", "written")),
            dtps=tuple(dtps),
            sinks=tuple(
                telegram.SinkStatus(
                    name=sink.kind,
                    on_full="wait",
                    accepted=accepted,
                    written=accepted,
                    dropped=0,
                    errored=0,
                    waiting=0,
                    bytes_written=accepted * 100,
                    bytes_stored=accepted * 50,
                    error="",
                )
                for sink in buffer.sinks
            ),
            slots=buffer.keys.slots,
            end_known=buffer.name not in self._told,
        )

    def table(self, name: str, key: str) -> Table:
        for buffer in self._order.buffers:
            if buffer.name == key and name in ("completeness", "decisions"):
                return self._tables_of(buffer)[0 if name == "completeness" else 1]
        raise KeyError(f"no {name} of {key} here")

    def preview(self, key: str, of: Shown = "accepted") -> Preview | None:
        for buffer in self._order.buffers:
            if buffer.name == key:
                pixels = np.arange(buffer.width * buffer.height, dtype=np.int16).reshape(buffer.height, buffer.width)
                if of == "accepted":
                    return Preview(0, buffer.keys.phase, 0, False, pixels, Masked())
                return None
        raise KeyError(f"no buffer {key} here")


def _latency_of(stage: str, count: int) -> telegram.Latency:
    """Return latencies, half of them 10 µs and half 30 µs."""
    below = tuple(sum(bound > of for of in (10e-6, 30e-6)) * count // 2 for bound in BOUNDS_S)
    return telegram.Latency(stage=stage, count=count, p50=10.0, p99=30.0, max=30.0, sum=20.0 * count, below=below)


class FakeFactory:
    """Makes fake engines. `bytes_per_s`, `memory_bytes`: the rate and memory that the node reports, 0 for none. `look_s`: the interval of
    FakeDestination."""

    def __init__(self, role: str, bytes_per_s: int = 0, memory_bytes: int = 0, look_s: float = _LOOK_S) -> None:
        self._role = role
        self._look_s = look_s
        self._bytes_per_s = bytes_per_s
        self._memory_bytes = memory_bytes

    def prepared(self) -> float:
        return 0.0

    def take_log(self) -> Iterable[NativeMessage]:
        return ()

    def capabilities(self, node: str, units: Sequence[str] = ()) -> Capabilities:  # noqa: ARG002  it looks for none
        links = (Link(name="roce", bytes_per_s=self._bytes_per_s, pmtus=(256, 512, 1024, 2048, 4096)),)
        pixels = ("uint8", "uint16", "uint32", "int16", "int32", "float32")
        kernels, sinks = tuple(declarations()), ("hdf5", "raw", "memory", "null")
        return Capabilities(
            node=node,
            role=self._role,
            software="fake",
            processors=os.cpu_count() or 1,
            memory_bytes=self._memory_bytes,
            max_dtps=256,
            pixels=pixels,
            kernels=kernels,
            sinks=sinks,
            links=links,
            units=(
                telegram.Unit(name="cpu", usable=True, what="fake"),
                telegram.Unit(name="cuda", usable=False, what="fake"),
                telegram.Unit(name="opencl", usable=False, what="fake"),
            ),
        )

    def make(self, order: Configure) -> "FakeSource | FakeDestination":
        if order.source is not None:
            return FakeSource(order.source)
        if order.destination is not None:
            return FakeDestination(order.destination, self._look_s)
        raise EngineError("config", "neither source nor destination")
