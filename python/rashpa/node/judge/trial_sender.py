# SPDX-License-Identifier: Apache-2.0
"""Sends trial images to a receiver as one data transfer process: makes packets, whole or spoiled on purpose, and checks the credits that it receives."""

import secrets
import socket
import struct
import time
from dataclasses import dataclass, field

from rashpa import _native
from rashpa.control.telegrams.telegram import Endpoint, Placement
from rashpa.data.wire.packet import Flow, encode
from rashpa.node.judge.judged_packet import ONLY, ONLY_IMMEDIATE, judge_icrc, take_apart
from rashpa.node.judge.rules import Verdicts

_PARTITION = 0xFFFF
_RECORD = struct.Struct("<IHHIIQQQIIQII")
_RECORD_BYTES, _MAGIC = 128, 0x41505352
_CREDITS = struct.Struct("<QQ")
_DATAGRAM = 2048
_HEADS = {4: ("ipv4", 28), 6: ("ipv6", 48)}


@dataclass(frozen=True)
class Spoilt:
    """Describes the wrong fields of one packet. `qpn`, `key`: added to the right values; `place`: added to the address; `flip_icrc`: changes its
    first byte; `partition`, `version`: of the transport header."""

    qpn: int = 0
    key: int = 0
    place: int = 0
    flip_icrc: bool = False
    partition: int = _PARTITION
    version: int = 0
    stranger: bool = False


GOOD = Spoilt()


@dataclass(frozen=True)
class SpoiltRecord:
    """Describes the wrong fields of a frame record, as numbers to add to the right values; `own_crc`: changes the record's own checksum."""

    run: int = 0
    slot: int = 0
    lines: int = 0
    payload_crc: int = 0
    own_crc: bool = False


GOOD_RECORD = SpoiltRecord()


@dataclass
class TrialSender:
    """Sends the images of one DTP to the `end` and the `place` that a receiver has given. `own`: the sender's address."""

    dtp: int
    run: int
    end: Endpoint
    place: Placement
    own: str
    verdicts: Verdicts
    credits_used: bool
    granted: int = 0
    received: int = 0
    sent_images: int = 0
    sent_bytes: int = 0
    qpn: int = field(default_factory=lambda: 16 + secrets.randbelow((1 << 24) - 16))
    key: int = field(default_factory=lambda: secrets.randbits(32))
    offset: int = field(default_factory=lambda: 64 * (1 + secrets.randbelow(1 << 20)))
    psn: int = field(default_factory=lambda: secrets.randbits(24))

    def __post_init__(self) -> None:
        self._family = socket.AF_INET6 if ":" in self.own else socket.AF_INET
        self._socket = self._bound(self.own)
        self._stranger: socket.socket | None = None
        self._next_credit = self.end.psn

    def _bound(self, address: str) -> socket.socket:
        made = socket.socket(self._family, socket.SOCK_DGRAM)
        made.setsockopt(socket.IPPROTO_IP, 10, 2)  # IP_MTU_DISCOVER = IP_PMTUDISC_DO: identification 0
        made.setblocking(False)
        made.bind((address, 0))
        return made

    @property
    def endpoint(self) -> Endpoint:
        """Return the sender's own endpoint, which the Arm order gives to the receiver."""
        return Endpoint(
            address=self.own,
            port=int(self._socket.getsockname()[1]),
            qpn=self.qpn,
            rkey=self.key,
            credit_offset=self.offset,
            psn=self.psn,
        )

    def close(self) -> None:
        self._socket.close()
        if self._stranger is not None:
            self._stranger.close()

    # ---- packets -------------------------------------------------------------------------------------------------------------------

    def line(self, image: int, line: int, pixels: bytes, spoilt: Spoilt = GOOD) -> None:
        """Send one line of an image."""
        place = self.place
        address = place.pixels_offset + image % place.slots * place.slot_bytes
        address += place.first_line_offset + line * place.pitch
        self._write(address, pixels[line * place.line_bytes : (line + 1) * place.line_bytes], None, spoilt)

    def record(self, image: int, pixels: bytes, spoilt: SpoiltRecord = GOOD_RECORD) -> None:
        """Send the record of an image, which ends the image."""
        place = self.place
        slot = image % place.slots
        head = _RECORD.pack(
            _MAGIC,
            1,
            _RECORD_BYTES,
            self.dtp,
            0,
            image,
            time.time_ns(),
            image,
            slot + spoilt.slot,
            place.lines + spoilt.lines,
            len(pixels),
            (_native.crc32c(pixels) + spoilt.payload_crc) % (1 << 32),
            self.run + spoilt.run,
        )
        head = head.ljust(_RECORD_BYTES - 4, b"\0")
        own = _native.crc32c(head) ^ (1 if spoilt.own_crc else 0)
        address = place.records_offset + slot * _RECORD_BYTES
        immediate = self.dtp % 256 << 24 | image % (1 << 24)
        self._write(address, head + own.to_bytes(4, "little"), immediate, GOOD)

    def skip_number(self) -> None:
        """Skip a sequence number, as if the network had lost a packet."""
        self.psn = (self.psn + 1) % (1 << 24)

    def _write(self, address: int, payload: bytes, immediate: int | None, spoilt: Spoilt) -> None:
        version = _HEADS[4 if self._family == socket.AF_INET else 6]
        source = self._socket
        if spoilt.stranger:
            self._stranger = source = self._stranger or self._bound("127.0.0.2")
        own, port = source.getsockname()[:2]
        packet = {
            version[0]: {"source": own, "destination": self.end.address},
            "udp": {"source_port": port, "destination_port": self.end.port},
            "bth": {
                "opcode": ONLY if immediate is None else ONLY_IMMEDIATE,
                "migration_request": 1,
                "transport_version": spoilt.version,
                "partition_key": spoilt.partition,
                "destination_qp": (self.end.qpn + spoilt.qpn) % (1 << 24),
                "psn": self.psn,
            },
            "reth": {
                "virtual_address": address + spoilt.place,
                "remote_key": (self.end.rkey + spoilt.key) % (1 << 32),
                "dma_length": len(payload),
            },
            "payload": payload.hex(),
        }
        if immediate is not None:
            packet["immdt"] = {"immediate_data": immediate}
        data = bytearray(encode(packet)[version[1] :])
        if spoilt.flip_icrc:
            data[-4] ^= 1
        source.sendto(data, (self.end.address, self.end.port))
        self.skip_number()
        self.sent_bytes += len(data)

    # ---- credits -------------------------------------------------------------------------------------------------------------------

    def take_credits(self) -> None:
        """Check the credits that have arrived."""
        while True:
            try:
                data, source = self._socket.recvfrom(_DATAGRAM)
            except (BlockingIOError, ConnectionRefusedError):
                return
            self._credit(data, str(source[0]), int(source[1]))

    def _credit(self, data: bytes, address: str, port: int) -> None:
        packet = take_apart(data, self.verdicts)
        if packet is None:
            return
        if not self.credits_used:
            self.verdicts.fail("paced", "a packet comes back, and the order has flow paced", data)
            return
        own = self.endpoint
        judge_icrc(packet, Flow(address, own.address, port, own.port), self.verdicts)
        wrong = [
            (packet.opcode != ONLY, f"opcode 0x{packet.opcode:02x}; 0x{ONLY:02x}"),
            (packet.qpn != self.qpn, f"queue pair {packet.qpn}; {self.qpn}, that of the sender's end"),
            (packet.key != self.key, f"key {packet.key}; {self.key}, that of the sender's end"),
            (packet.address != self.offset, f"address {packet.address}; {self.offset}, its credit_offset"),
            (len(packet.payload) != _CREDITS.size, f"{len(packet.payload)} bytes; {_CREDITS.size}"),
        ]
        if found := [text for is_wrong, text in wrong if is_wrong]:
            self.verdicts.fail("address", "; ".join(found), data)
            return
        self.verdicts.keep("address")
        if packet.psn != self._next_credit:
            self.verdicts.fail("sequence", f"sequence number {packet.psn}; {self._next_credit} is next", data)
        else:
            self.verdicts.keep("sequence")
        self._next_credit = (packet.psn + 1) % (1 << 24)
        images, received = _CREDITS.unpack(packet.payload)
        self._words(images, received, data)

    def _words(self, images: int, received: int, data: bytes) -> None:
        most = self.sent_images + self.place.slots
        wrong = [
            (images > most, f"{images} images are granted and {self.sent_images} were sent; {most} at most"),
            (images < self.granted, f"{images} images are granted behind {self.granted}; the word only grows"),
            (received > self.sent_bytes, f"{received} bytes have come and {self.sent_bytes} were sent"),
            (received < self.received, f"{received} bytes have come behind {self.received}; the word only grows"),
        ]
        found = [text for is_wrong, text in wrong if is_wrong]
        for text in found:
            self.verdicts.fail("credits", text, data)
        if not found:
            self.verdicts.keep("credits")
        self.granted, self.received = max(images, self.granted), max(received, self.received)
