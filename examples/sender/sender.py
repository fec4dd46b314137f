#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Implements a detector in less than 150 lines: it sends images to `rashpa receiver` by docs/reference/protocol.md, with Python's standard library
only.

Usage: sender.py [http://127.0.0.1:4781] [IMAGES] [OUTPUT]. It configures the receiver, sends at 100 images a second, and prints the receiver's books.
"""

import os
import random
import socket
import struct
import sys
import time
import urllib.error
import urllib.request
import zlib
from xml.etree import ElementTree

WIDTH, HEIGHT, PMTU = 256, 128, 1024
LINE = 2 * WIDTH
UC_WRITE_ONLY, UC_WRITE_ONLY_IMMEDIATE = 0x2A, 0x2B
NAMESPACE = "urn:rashpa:telegram:2"
QPN, KEY, RUN = 77, random.getrandbits(31), 1
TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    TABLE.append(byte)


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


class Node:
    """Sends telegrams to the receiver by HTTP."""

    def __init__(self, url: str) -> None:
        self.url = url + "/telegram"
        self.owner = f"{random.getrandbits(128):032x}"

    def order(self, name: str, content: str = "", attributes: str = "") -> ElementTree.Element:
        """Send a telegram and return the answer. When the receiver refuses, end the program with the fault's text."""
        owner = "" if name == "GetStatus" else f' owner="{self.owner}"'
        text = f'<{name} xmlns="{NAMESPACE}" version="2"{owner} {attributes}>{content}</{name}>'
        headers = {"Content-Type": "application/xml"}
        if token := os.environ.get("RASHPA_TOKEN"):
            headers["Authorization"] = f"Bearer {token}"
        try:
            with urllib.request.urlopen(urllib.request.Request(self.url, text.encode(), headers)) as answer:
                return ElementTree.fromstring(answer.read())
        except urllib.error.HTTPError as error:
            sys.exit(f"{name}: {ElementTree.fromstring(error.read()).get('text')}")


class QueuePair:
    """Makes the packets of one data transfer process, and receives its credits."""

    def __init__(self, place: ElementTree.Element, own: str) -> None:
        self.peer = (place.get("address", ""), int(place.get("port", 0)))
        self.qpn, self.rkey = int(place.get("qpn", 0)), int(place.get("rkey", 0))
        self.psn = random.getrandbits(24)
        self.granted = 0
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)  # unconnected, never cut: identification 0
        self.socket.setsockopt(socket.IPPROTO_IP, 10, 2)  # IP_MTU_DISCOVER = IP_PMTUDISC_DO
        self.socket.bind((own, 0))
        self.port = self.socket.getsockname()[1]

    def write(self, address: int, data: bytes, immediate: int | None = None) -> None:
        """Send one RDMA WRITE ONLY of at most PMTU bytes, with an immediate or without."""
        opcode = UC_WRITE_ONLY if immediate is None else UC_WRITE_ONLY_IMMEDIATE
        pad = -len(data) % 4
        head = struct.pack(">BBHII", opcode, 0x40 | pad << 4, 0xFFFF, self.qpn, self.psn)
        head += struct.pack(">QII", address, self.rkey, len(data))
        head += b"" if immediate is None else struct.pack(">I", immediate)
        packet = head + data + bytes(pad)
        self.socket.sendto(packet + struct.pack("<I", self.icrc(packet)), self.peer)
        self.psn = self.psn + 1 & 0xFFFFFF

    def icrc(self, packet: bytes) -> int:
        """Return the invariant CRC: eight bytes of ones, then all fields that routers do not change; the changing fields count as ones."""
        own, peer = socket.inet_aton(self.socket.getsockname()[0]), socket.inet_aton(self.peer[0])
        length = 8 + len(packet) + 4
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0xFF, 20 + length, 0, 0x4000, 0xFF, 17, 0xFFFF, own, peer)
        udp = struct.pack(">HHHH", self.port, self.peer[1], length, 0xFFFF)
        return zlib.crc32(b"\xff" * 8 + ip + udp + packet[:4] + b"\xff" + packet[5:])

    def wait_for_credit(self, image: int) -> None:
        """Read credits until this image may be sent."""
        while self.granted <= image:
            packet = self.socket.recv(2048)
            opcode, _, _, qpn, _ = struct.unpack_from(">BBHII", packet)
            _, key, length = struct.unpack_from(">QII", packet, 12)
            if opcode == UC_WRITE_ONLY and qpn & 0xFFFFFF == QPN and key == KEY and length == 16:
                self.granted = max(self.granted, struct.unpack_from("<Q", packet, 28)[0])


def record(frame: int, slot: int, crc: int) -> bytes:
    """Return the frame record of an image: 128 bytes."""
    head = struct.pack("<IHHIIQQQIIQII", 0x41505352, 1, 128, 0, 0, frame, time.time_ns(), frame, slot, HEIGHT, LINE * HEIGHT, crc, RUN)  # fmt: skip
    return head + bytes(60) + struct.pack("<I", crc32c(head + bytes(60)))


def main() -> None:
    url, images, output = [*sys.argv[1:], *("http://127.0.0.1:4781", "100", "")[len(sys.argv) - 1 :]][:3]
    node, count = Node(url.rstrip("/")), int(images)
    sink = f'<hdf5 prefix="{output}"/>' if output else "<null/>"
    configured = node.order(
        "Configure",
        f"""<Destination><Buffer name="full" width="{WIDTH}" height="{HEIGHT}" images="{count}">
        <DestinationDtp id="0" width="{WIDTH}" height="{HEIGHT}"/><Sink>{sink}</Sink></Buffer></Destination>""",
        f'run="{RUN}"',
    )
    endpoint, place = configured[0], {key: int(value) for key, value in configured[1].attrib.items()}
    pair = QueuePair(endpoint, "127.0.0.1")
    own = f'<Endpoint address="127.0.0.1" port="{pair.port}" qpn="{QPN}" rkey="{KEY}" psn="{pair.psn}"/>'
    node.order("Arm", own)
    node.order("Start")
    began = time.monotonic()
    for frame in range(count):
        time.sleep(max(0.0, began + frame / 100 - time.monotonic()))
        pixels = struct.pack(f"<{WIDTH * HEIGHT}H", *((frame + place) & 0x3FFF for place in range(WIDTH * HEIGHT)))
        pair.wait_for_credit(frame)
        slot = frame % place["slots"]
        first = place["pixels_offset"] + slot * place["slot_bytes"] + place["first_line_offset"]
        for line in range(HEIGHT):
            for start in range(0, LINE, PMTU):
                part = pixels[line * LINE + start : line * LINE + min(start + PMTU, LINE)]
                pair.write(first + line * place["pitch"] + start, part)
        pair.write(place["records_offset"] + slot * 128, record(frame, slot, crc32c(pixels)), frame & 0xFFFFFF)
    node.order("Stop", f'<DtpEnd dtp="0" images="{count}"/>')
    while (status := node.order("GetStatus")).get("state") != "finished":
        time.sleep(0.05)
    books = status.find(f".//{{{NAMESPACE}}}Books")
    print(books.attrib if books is not None else "no books")
    node.order("Reset")


if __name__ == "__main__":
    main()
