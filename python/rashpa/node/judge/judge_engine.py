# SPDX-License-Identifier: Apache-2.0
"""Tests a sender as a receiver would meet it: it takes telegrams like every node, grants few images at a time, loses and repeats credits on purpose,
and checks each packet."""

import ipaddress
import secrets
import socket
import struct
import threading
import time
from collections.abc import Iterable, Sequence

import numpy as np

from rashpa.control.runfile.pipeline import PIXEL_BYTES
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram import (
    Arm,
    Books,
    Capabilities,
    Configure,
    Configured,
    DestinationDtpStatus,
    DestinationStatus,
    Endpoint,
    Placement,
    Stop,
)
from rashpa.control.telegrams.telegram_status import BufferStatus
from rashpa.data.wire.packet import Flow, encode
from rashpa.node.engine.engine import EngineError, Table
from rashpa.node.engine.preview import Preview, Shown
from rashpa.node.judge.judged_images import JudgedImages
from rashpa.node.judge.judged_packet import ONLY, judge_icrc, take_apart
from rashpa.node.judge.rules import Verdicts
from rashpa.node.logs.log import NativeMessage

_FIRST_OFFSET, _GAP, _RECORD_BYTES = 4096, 192, 128
_LOOK_S, _REPEAT_S = 0.005, 0.03
_FIRST_S = 20.0  # from the start of a run to its first packet: a simulated card or a loaded machine may be slow
_ROOM = 32 << 20
_LOST_AT = 3  # the credit that follows this image is lost once
_PARTITION = 0xFFFF
_CREDITS = struct.Struct("<QQ")  # images granted, payload bytes received
_PATIENT_IMAGES = 5


class JudgeEngine:
    """Receives and checks one run of a sender. `silent_s`: seconds without a packet after which no more are expected; before
    the first one at least `_FIRST_S`."""

    def __init__(self, order: Configure, verdicts: Verdicts, silent_s: float) -> None:
        destination = order.destination
        if (
            destination is None
            or destination.options.kind != "roce"
            or getattr(destination.options, "transport", "uc") != "uc"
        ):
            raise EngineError("config", "the judge takes the link roce with transport uc; another sender is not judged")
        self._order, self._run, self._verdicts, self._silent_s = destination, order.run, verdicts, silent_s
        self._socket = _socket_of(destination)
        self._places = _places_of(destination)
        self._images: dict[int, JudgedImages] = {}
        self._endpoints: list[Endpoint] = []
        self._expected: dict[int, int] = {}
        for buffer in destination.buffers:
            for dtp in buffer.dtps:
                self._add(buffer, dtp)
        self._sources: tuple[Endpoint, ...] = ()
        self._psns = [end.psn for end in self._endpoints]  # of the next credit, by data transfer process
        self._lost = False
        self._told: dict[int, int] = {}
        self._stopping, self._ended = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._receive, name="judge", daemon=True)
        self._began = time.monotonic()

    def _add(self, buffer: telegram.Buffer, dtp: telegram.DestinationDtp) -> None:
        """Give a data transfer process a queue pair with a random number, key and first sequence number."""
        pmtu = int(getattr(self._order.options, "pmtu", 4096))
        number = len(self._endpoints)
        end = Endpoint(
            address=self._order.bind_address,
            port=int(self._socket.getsockname()[1]),
            qpn=(16 + secrets.randbelow(60000)) * 256 + number,
            rkey=secrets.randbits(32),
            credit_offset=0,
            psn=secrets.randbits(24),
        )
        self._endpoints.append(end)
        credits_used = self._order.flow == "credits"
        judged = JudgedImages(dtp.id, self._places[number], end.rkey, self._run, pmtu, credits_used, self._verdicts)
        self._images[end.qpn] = judged
        self._expected[dtp.id] = buffer.images

    def configured(self, node: str) -> Configured:
        self._verdicts.keep("telegrams")
        return Configured(node=node, endpoints=tuple(self._endpoints), placements=tuple(self._places))

    def arm(self, order: Arm) -> None:
        if len(order.endpoints) != len(self._endpoints):
            text = f"{len(order.endpoints)} endpoints in Arm for {len(self._endpoints)} data transfer processes"
            self._verdicts.fail("endpoint", text)
            raise EngineError("config", text)
        for end in order.endpoints:
            self._judge_end(end)
        self._sources = order.endpoints
        for judged, end in zip(self._images.values(), order.endpoints, strict=True):
            judged.begin(end.psn)

    def _judge_end(self, end: Endpoint) -> None:
        faults = []
        try:
            ipaddress.ip_address(end.address)
        except ValueError:
            faults.append(f'address "{end.address}" is no IPv4 or IPv6 address')
        if not 0 < end.port < 1 << 16:
            faults.append(f"port {end.port}; the UDP port to which credits can go")
        if not 16 <= end.qpn < 1 << 24:
            faults.append(f"queue pair {end.qpn}; 16 … {(1 << 24) - 1}")
        for text in faults:
            self._verdicts.fail("endpoint", text)
        if faults:
            raise EngineError("config", "; ".join(faults))
        self._verdicts.keep("endpoint")

    def start(self) -> None:
        self._thread.start()

    def pause(self, frame: int = 0) -> None:  # noqa: ARG002  as of every engine
        raise EngineError("state", "a receiver does not pause")

    def resume(self, rate_hz: float = 0.0) -> None:  # noqa: ARG002
        raise EngineError("state", "a receiver does not pause")

    def trigger(self, frames: int) -> None:  # noqa: ARG002
        raise EngineError("state", "a receiver takes no triggers")

    def hold_deadlines(self, held: bool) -> None:
        """Accept the order and do nothing: the judge has no deadlines."""

    def set_limits(self, order: telegram.SetLimits) -> None:  # noqa: ARG002
        raise EngineError("state", "a receiver without a pipeline vetoes no image")

    def join(self, order: telegram.Join) -> tuple[Endpoint, ...]:  # noqa: ARG002
        raise EngineError("state", "a receiver deals no images; ask the emulator")

    def deal(self, order: telegram.Resend | telegram.Feed) -> None:  # noqa: ARG002
        raise EngineError("state", "a receiver deals no images; ask the emulator")

    def stop(self, order: Stop) -> None:
        """Store the image counts that the sender announces. They are compared when no packet is in flight any more."""
        self._told = {end.dtp: end.images for end in order.ends} or self._expected
        self._stopping.set()

    def _compare_end(self) -> None:
        done = {judged.dtp: judged.done for judged in self._images.values()}
        wrong = [
            f"dtp {dtp}: {images} images told, {done.get(dtp, 0)} came whole"
            for dtp, images in self._told.items()
            if images != done.get(dtp)
        ]
        for text in wrong:
            self._verdicts.fail("end", text)
        if not wrong and set(self._told) == set(done):
            self._verdicts.keep("end")
        if self._lost and all(count >= _PATIENT_IMAGES for count in done.values()):
            self._verdicts.keep("patience")

    def abort(self) -> None:
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(5.0)
        self._socket.close()
        self._ended.set()

    def wait(self, timeout_s: float) -> bool:
        return self._ended.wait(timeout_s)

    def status(self) -> DestinationStatus:
        buffers = []
        for buffer in self._order.buffers:
            dtps = tuple(
                self._status_of(judged)
                for judged in self._images.values()
                if judged.dtp in {one.id for one in buffer.dtps}
            )
            complete = min((dtp.complete for dtp in dtps), default=0)
            missing = buffer.images - complete if self._ended.is_set() else 0
            books = Books(
                expected=buffer.images, complete=complete, partial=0, missing=missing, accepted=complete, vetoed=0, errored=0, written=complete
            )  # fmt: skip
            buffers.append(
                BufferStatus(name=buffer.name, sink_error="", unit="judge", unit_error="", bytes_written=0, bytes_stored=0, books=books, dtps=dtps)
            )  # fmt: skip
        elapsed = time.monotonic() - self._began
        return DestinationStatus(
            receiver=self._order.receiver,
            elapsed_s=elapsed,
            memory="judge",
            first_incomplete="",
            buffers=tuple(buffers),
        )

    def _status_of(self, judged: JudgedImages) -> DestinationDtpStatus:
        expected = self._expected[judged.dtp]
        missing = expected - judged.done if self._ended.is_set() else 0
        return DestinationDtpStatus(
            id=judged.dtp,
            module=0,
            expected=expected,
            complete=judged.done,
            partial=0,
            missing=missing,
            lines_missing=0,
        )

    def table(self, name: str, key: str) -> Table:
        """Return one byte for each image, completeness or decision, as every receiver does."""
        buffer = next(one for one in self._order.buffers if one.name == key)
        done = min(judged.done for judged in self._images.values() if judged.dtp in {one.id for one in buffer.dtps})
        rest = {"completeness": (1, 3), "decisions": (1, 0)}[name]
        return np.array([rest[0] if image < done else rest[1] for image in range(buffer.images)], np.uint8)

    def preview(self, key: str, of: Shown = "accepted") -> Preview | None:  # noqa: ARG002
        return None

    def _receive(self) -> None:
        """Receive packets until Stop has come, or the sender has been silent for `silent_s`. Send credits only when no packet waits to be read, so
        that an image sent without credit is noticed."""
        heard, patience = time.monotonic(), max(self._silent_s, _FIRST_S)
        granted, due = 0.0, True
        try:
            while not self._stopping.is_set() or time.monotonic() - heard < _REPEAT_S:
                try:
                    data, source = self._socket.recvfrom(1 << 16)
                except TimeoutError:
                    now = time.monotonic()
                    if now - heard > patience:
                        self._be_silent()
                        break
                    if due or now - granted > _REPEAT_S:
                        self._grant()
                        granted, due = now, False
                else:
                    heard, patience = time.monotonic(), self._silent_s
                    due = self._take(data, source) or due
            if self._told:
                self._compare_end()
        finally:
            self._ended.set()

    def _be_silent(self) -> None:
        for judged in self._images.values():
            if judged.done < self._expected[judged.dtp]:
                text = f"dtp {judged.dtp}: silent for {self._silent_s:g} s behind image {judged.done}, and {judged.granted} images are granted"
                self._verdicts.fail("patience", text)

    def _take(self, data: bytes, source: tuple[str, int]) -> bool:
        """Check one datagram. Return True when credits are due."""
        packet = take_apart(data, self._verdicts)
        if packet is None:
            return False
        judged = self._images.get(packet.qpn)
        if judged is None:
            self._verdicts.fail("packet", f"queue pair {packet.qpn}; {', '.join(map(str, self._images))}", data)
            return False
        number = list(self._images).index(packet.qpn)
        own = self._sources[number].address.partition("%")[0] if self._sources else ""
        if source[0].partition("%")[0] != own:
            self._verdicts.fail("address", f"from {source[0]}; {own} is the sender's end", data)
        else:
            self._verdicts.keep("address")
        port = int(self._socket.getsockname()[1])
        judge_icrc(packet, Flow(source[0], self._order.bind_address, source[1], port), self._verdicts)
        before = judged.done
        judged.take(packet)
        if judged.done == _LOST_AT and before < _LOST_AT:
            self._lost = True  # the sender hears of this one when credits are repeated
            return False
        return judged.done > before

    def _grant(self) -> None:
        """Send credits to each source: the newest twice, and an old one before and after them, as a network may do."""
        if self._order.flow != "credits":
            return
        for number, (end, judged) in enumerate(zip(self._sources, self._images.values(), strict=False)):
            newest = (judged.granted, judged.received)
            judged.told = judged.granted
            for images, received in ((judged.done, 0), newest, newest, (judged.done, 0)):
                self._socket.sendto(self._credit(number, end, images, received), (end.address, end.port))

    def _credit(self, number: int, end: Endpoint, images: int, received: int) -> bytes:
        own, other = (text.partition("%")[0] for text in (self._order.bind_address, end.address))
        packet = {
            _headers_of(own)[0]: {"source": own, "destination": other},
            "udp": {"source_port": int(self._socket.getsockname()[1]), "destination_port": end.port},
            "bth": {
                "opcode": ONLY,
                "migration_request": 1,
                "partition_key": _PARTITION,
                "destination_qp": end.qpn,
                "psn": self._psns[number],
            },
            "reth": {"virtual_address": end.credit_offset, "remote_key": end.rkey, "dma_length": _CREDITS.size},
            "payload": _CREDITS.pack(images, received).hex(),
        }
        self._psns[number] = (self._psns[number] + 1) % (1 << 24)
        return encode(packet)[_headers_of(own)[1] :]


def _headers_of(address: str) -> tuple[str, int]:
    """Return the name of an address's IP header, and the bytes of this header and of the UDP header, which the kernel makes."""
    return ("ipv4", 28) if ipaddress.ip_address(address).version == 4 else ("ipv6", 48)


def _socket_of(order: telegram.Destination) -> socket.socket:
    version = ipaddress.ip_address(order.bind_address.partition("%")[0]).version
    taken = socket.socket(socket.AF_INET if version == 4 else socket.AF_INET6, socket.SOCK_DGRAM)
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _ROOM)
    taken.setsockopt(socket.IPPROTO_IP, 10, 2)  # IP_MTU_DISCOVER = IP_PMTUDISC_DO: identification 0
    taken.settimeout(_LOOK_S)
    try:
        taken.bind((order.bind_address, order.port))
    except OSError as error:
        taken.close()
        text = (
            f"judge: {order.bind_address} port {order.port}: {error.strerror}; take another port, or 0 for any free one"
        )
        raise EngineError("resource", text) from None
    return taken


def _places_of(order: telegram.Destination) -> list[Placement]:
    """Return placements with gaps between lines, images and regions. They reveal a sender that assumes contiguous memory."""
    places: list[Placement] = []
    begin = _FIRST_OFFSET
    for buffer in order.buffers:
        pixel = PIXEL_BYTES[buffer.pixel]
        pitch = buffer.width * pixel + _GAP
        slot = buffer.height * pitch + _FIRST_OFFSET
        records = begin + buffer.keys.slots * slot + _GAP
        for number, dtp in enumerate(buffer.dtps):
            if dtp.turn or dtp.flip:
                raise EngineError("config", "the judge takes modules as they are, not turned; leave out turn and flip")
            places.append(
                Placement(
                    pixels_offset=begin,
                    slot_bytes=slot,
                    slots=buffer.keys.slots,
                    first_line_offset=_GAP + dtp.y * pitch + dtp.x * pixel,
                    pitch=pitch,
                    line_bytes=dtp.width * pixel,
                    lines=dtp.height,
                    records_offset=records + number * (buffer.keys.slots + 1) * _RECORD_BYTES,
                )
            )
        begin = records + len(buffer.dtps) * (buffer.keys.slots + 1) * _RECORD_BYTES + _FIRST_OFFSET
    return places


class JudgeFactory:
    """Makes judging engines, and keeps their verdicts. `runs` counts the runs that have begun."""

    def __init__(self, silent_s: float) -> None:
        self.verdicts = Verdicts()
        self.runs = 0
        self._silent_s = silent_s

    def capabilities(self, node: str, units: Sequence[str] = ()) -> Capabilities:  # noqa: ARG002  it looks for none
        return Capabilities(
            node=node,
            role="receiver",
            software="rashpa conformance",
            processors=1,
            memory_bytes=1 << 40,
            max_dtps=256,
            pixels=tuple(PIXEL_BYTES),
            kernels=(),
            sinks=("null", "memory"),
            links=(telegram.Link(name="roce", bytes_per_s=0, pmtus=(256, 512, 1024, 2048, 4096)),),
            units=(telegram.Unit(name="cpu", usable=True, what=""),),
        )

    def make(self, order: Configure) -> JudgeEngine:
        engine = JudgeEngine(order, self.verdicts, self._silent_s)
        self.runs += 1
        return engine

    def prepared(self) -> float:
        return 1.0

    def take_log(self) -> Iterable[NativeMessage]:
        return ()
