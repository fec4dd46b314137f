# SPDX-License-Identifier: Apache-2.0
"""Checks the images of one data transfer process as a sender writes them: places, credits, lines, records and checksums."""

import struct
import threading
from collections.abc import Mapping

from rashpa import _native
from rashpa.control.telegrams.telegram import Placement
from rashpa.node.judge.judged_packet import FIRST, ONLY, ONLY_IMMEDIATE, JudgedPacket
from rashpa.node.judge.rules import Verdicts

_RECORD = struct.Struct("<IHHIIQQQIIQII")
_RECORD_BYTES = 128
_MAGIC, _UNIT = 0x41505352, 64
_AHEAD = 2  # images that are granted beyond the last whole one: few, so that a sender that does not wait is seen
_SEQUENCE = 1 << 24


class JudgedImages:
    """Checks the packets of one queue pair. The receiving thread calls `take`, and also writes `told`; any thread may read `granted`, `received` and
    `done`."""

    def __init__(
        self,
        dtp: int,
        place: Placement,
        key: int,
        run: int,
        pmtu: int,
        credits_used: bool,
        verdicts: Verdicts,
    ) -> None:
        self.dtp = dtp
        self._place, self._key, self._psn, self._run, self._pmtu = place, key, 0, run, pmtu
        self._credits_used, self._verdicts = credits_used, verdicts
        self._lock = threading.Lock()
        self._lines: dict[int, tuple[bytearray, bytearray]] = {}  # by image: bytes, and which of them have come
        self._message: tuple[int, int] | None = None  # where the rest of an open message goes, and its bytes
        self._frame = -1
        self.done = 0
        self.received = 0
        self.told = 0  # images that the sender may know to be granted

    def begin(self, psn: int) -> None:
        """Set the first expected sequence number. Call it before the first `take`."""
        self._psn = psn

    @property
    def granted(self) -> int:
        return self.done + min(_AHEAD, self._place.slots)

    def take(self, packet: JudgedPacket) -> None:
        self._sequence(packet)
        place = self._destination(packet)
        if place is None:
            return
        with self._lock:
            self.received += len(packet.payload)
            if packet.immediate is not None and place >= self._place.records_offset:
                self._record(packet, place)
            else:
                self._line(packet, place)

    def _sequence(self, packet: JudgedPacket) -> None:
        if packet.psn == self._psn:
            self._verdicts.keep("sequence")
        else:
            self._verdicts.fail("sequence", f"sequence number {packet.psn}; {self._psn} is next", packet.whole)
        self._psn = (packet.psn + 1) % _SEQUENCE

    def _destination(self, packet: JudgedPacket) -> int | None:
        """Return the destination address of the packet's payload, also for a packet that continues a message; None for a faulty one."""
        if packet.address is None:
            if self._message is None:
                self._verdicts.fail("packet", "a message goes on that has not begun", packet.whole)
                return None
            place, left = self._message
            self._message = (place + len(packet.payload), left - len(packet.payload))
            return place
        if packet.key != self._key:
            self._verdicts.fail("key", f"key {packet.key}; {self._key}", packet.whole)
            return None
        self._verdicts.keep("key")
        if len(packet.payload) > self._pmtu:
            self._verdicts.fail("packet", f"{len(packet.payload)} bytes of payload; at most {self._pmtu}", packet.whole)
        if packet.opcode == FIRST:
            self._message = (packet.address + len(packet.payload), (packet.length or 0) - len(packet.payload))
        elif packet.opcode in (ONLY, ONLY_IMMEDIATE):
            self._message = None
        return packet.address

    def _line(self, packet: JudgedPacket, address: int) -> None:
        place, size = self._place, len(packet.payload)
        slot, inside = divmod(address - place.pixels_offset, place.slot_bytes)
        line, column = divmod(inside - place.first_line_offset, place.pitch)
        if (
            address < place.pixels_offset
            or slot >= place.slots
            or not 0 <= line < place.lines
            or column + size > place.line_bytes
        ):
            text = f"{size} bytes at {address} lie in no line: slot {slot}, line {line}, byte {column} of {place.line_bytes}"
            self._verdicts.fail("bounds", text, packet.whole)
            return
        self._verdicts.keep("bounds")
        at = line * place.line_bytes + column
        unit = _UNIT if place.line_bytes % _UNIT == 0 else 4
        if at % unit or ((at + size) % unit and at + size < place.lines * place.line_bytes):
            self._verdicts.fail(
                "alignment", f"bytes {at} … {at + size} of the payload; multiples of {unit}", packet.whole
            )
        else:
            self._verdicts.keep("alignment")
        image = self.done + (slot - self.done) % place.slots
        if not self._may(image, packet):
            return
        held, came = self._lines.setdefault(
            image, (bytearray(place.lines * place.line_bytes), bytearray(place.lines * place.line_bytes))
        )
        held[at : at + size] = packet.payload
        came[at : at + size] = b"\1" * size

    def _may(self, image: int, packet: JudgedPacket) -> bool:
        if self._credits_used and image >= self.told:
            text = f"image {image} is written and {self.told} are granted; wait until the first word is greater than {image}"
            self._verdicts.fail("credits", text, packet.whole)
            return False
        self._verdicts.keep("credits")
        return True

    def _record(self, packet: JudgedPacket, address: int) -> None:
        place = self._place
        image = self.done
        wanted = place.records_offset + image % place.slots * _RECORD_BYTES
        if len(packet.payload) != _RECORD_BYTES or address != wanted:
            text = f"a record of {len(packet.payload)} bytes at {address}; {_RECORD_BYTES} bytes at {wanted} for image {image}"
            self._verdicts.fail("record", text, packet.whole)
            return
        if not self._may(image, packet):
            return
        fields = self._fields(packet.payload)
        faults = self._faults(packet, fields, image)
        for text in faults:
            self._verdicts.fail("record", text, packet.whole)
        if not faults:
            self._verdicts.keep("record")
        self._frame = fields["frame_number"]
        self._close(image, fields["payload_crc32c"], packet)

    def _fields(self, payload: bytes) -> Mapping[str, int]:
        names = ("magic", "version", "bytes", "dtp", "flags", "frame_number", "timestamp_ns", "index", "slot", "lines", "payload_bytes", "payload_crc32c", "run")  # fmt: skip
        return dict(zip(names, _RECORD.unpack_from(payload), strict=True))

    def _faults(self, packet: JudgedPacket, fields: Mapping[str, int], image: int) -> list[str]:
        place = self._place
        right = {
            "magic": _MAGIC,
            "version": 1,
            "bytes": _RECORD_BYTES,
            "dtp": self.dtp,
            "index": image,
            "slot": image % place.slots,
            "lines": place.lines,
            "payload_bytes": place.lines * place.line_bytes,
            "run": self._run,
        }
        found = [
            f"{name} {fields[name]} in the record; {value}" for name, value in right.items() if fields[name] != value
        ]
        own = _native.crc32c(packet.payload[: _RECORD_BYTES - 4])
        if own != int.from_bytes(packet.payload[-4:], "little"):
            found.append(f"the record's own CRC32C is not 0x{own:08x}, that of its first 124 bytes")
        immediate = self.dtp % 256 << 24 | image % _SEQUENCE
        if packet.immediate != immediate:
            found.append(f"immediate 0x{packet.immediate:08x}; 0x{immediate:08x}")
        if fields["flags"] & ~0xF0F:
            found.append(f"flags 0x{fields['flags']:x}; bits 0 … 3 and 8 … 11 alone")
        if fields["frame_number"] <= self._frame:
            found.append(f"frame {fields['frame_number']} behind frame {self._frame}; numbers rise")
        if any(packet.payload[112:124]):
            found.append("reserved bytes 112 … 123 are not 0")
        return found

    def _close(self, image: int, crc: int, packet: JudgedPacket) -> None:
        """Check the lines of an image when its record comes, and grant the next image."""
        held, came = self._lines.pop(image, (bytearray(), bytearray()))
        lacking = self._place.lines * self._place.line_bytes - came.count(1)
        if lacking:
            self._verdicts.fail("lines", f"image {image} lacks {lacking} bytes when its record comes", packet.whole)
        else:
            self._verdicts.keep("lines")
            if _native.crc32c(bytes(held)) == crc:
                self._verdicts.keep("checksum")
            else:
                text = f"the CRC32C of image {image} is 0x{_native.crc32c(bytes(held)):08x} by its lines, 0x{crc:08x} by its record"
                self._verdicts.fail("checksum", text, packet.whole)
        self.done += 1
