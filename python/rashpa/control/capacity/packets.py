# SPDX-License-Identifier: Apache-2.0
"""Counts the packets of a DTP's image and their bytes on Ethernet, by the rules of senders (src/rashpa/core/image/runs.hpp)."""

import ipaddress
from dataclasses import dataclass

from rashpa.control.plan.checks.sls_check import HEADER_BYTES, port_of
from rashpa.control.runfile import run_file as toml

_ETHERNET_BYTES = 38  # preamble 8, header 14, check sequence 4, gap 12
_BTH, _RETH, _DETH, _IMMEDIATE, _ICRC, _UDP, _GRH = 12, 16, 8, 4, 4, 8, 40
_LINE_HEADER = 16  # schema/line_header.md
_TCP, _MTU = 32, 1500  # with its time stamps; the usual MTU
_MESSAGE_BYTES = 512  # of a message of stream2, besides pixels
_RECORD_BYTES = 128  # schema/frame_record.md
_UD_REST = 64  # of a datagram, in which the line header lies
_LONGEST_RUN = 256  # packets that roce makes of one message
_RNIC_MESSAGE = 1 << 30  # bytes; providers allow as much or more


@dataclass(frozen=True)
class Traffic:
    """Holds the traffic of one image of a DTP: its packets, including those of its events, and its bytes on the wire. Both are 0 for links without
    packets (pcie), and where TCP chooses packets (stream2)."""

    packets: int
    wire_bytes: int
    events: int = 1


@dataclass(frozen=True)
class Lines:
    """Describes the lines of one image of a DTP. `contiguous`: True when there are no gaps in memory at either end."""

    count: int
    line_bytes: int
    contiguous: bool
    part: int = 0
    """Lines of a part that has an event of its own; 0: an image has one event."""

    @property
    def parts(self) -> list[int]:
        """Return the lines of each part."""
        whole, rest = divmod(self.count, self.part or self.count)
        return [self.part or self.count] * whole + [rest] * (rest > 0)


def traffic_of(lines: Lines, link: toml.Link, address: str) -> Traffic:
    """Return the traffic of an image over the link; `address`: the receiver's address, IPv4 or IPv6."""
    if link.source_kind == "pcie":
        return Traffic(0, 0)
    if link.source_kind == "sls":
        return _datagrams(lines, link, address)
    if link.source_kind == "stream2":
        return _stream(lines, link, address)
    datagrams = link.source_kind == "roce" and link.at_source("transport") == "ud"
    payload: int = link.at_source("pmtu") - (_UD_REST if datagrams else 0)
    message = _largest_message(link, payload)
    ends = _ETHERNET_BYTES + _network_bytes(link, address) + _BTH + _ICRC
    packets = wire = 0
    for length, times in (run for part in lines.parts for run in _runs(lines, part, message)):
        count = -(-length // payload)
        headers = count * (_DETH + _LINE_HEADER) if datagrams else _RETH
        packets += times * count
        wire += times * (count * ends + headers + length + -length % 4)
    event = _DETH + _LINE_HEADER if datagrams else _RETH
    events = len(lines.parts)
    return Traffic(packets + events, wire + events * (ends + event + _IMMEDIATE + _RECORD_BYTES), events)


def longest_packet(link: toml.Link, kind: str, address: str) -> int:
    """Return the bytes of the longest IP packet on a link of this kind, including headers. Return 0 for links without packets (pcie), and where TCP
    chooses packets (stream2)."""
    if kind in ("pcie", "stream2"):
        return 0
    network = _network_bytes(link, address)
    if kind == "sls":
        return network + HEADER_BYTES + port_of(link.of("sls")).payload // _shorter(link)
    pmtu: int = link.of(kind).pmtu
    return network + _BTH + _RETH + pmtu + _ICRC


def _shorter(link: toml.Link) -> int:
    """Return the factor by which SLS pixels are shorter on the wire than in memory."""
    return 2 if link.of("sls").detector == "eiger" and link.of("sls").bits == 4 else 1


def _datagrams(lines: Lines, link: toml.Link, address: str) -> Traffic:
    """Return the traffic of an SLS detector: only datagrams, no event; pixels of 4 bits take half the bytes on the wire."""
    port = port_of(link.of("sls"))
    image = lines.count * lines.line_bytes
    packets = -(-image // port.payload)
    ends = _ETHERNET_BYTES + _network_bytes(link, address) + HEADER_BYTES
    return Traffic(packets, packets * ends + image // _shorter(link))


def _stream(lines: Lines, link: toml.Link, address: str) -> Traffic:
    """Return the traffic of a TCP stream without compression, because the compression ratio is unknown."""
    image = lines.count * lines.line_bytes + _MESSAGE_BYTES
    headers = _network_bytes(link, address) - _UDP + _TCP
    packets = -(-image // (_MTU - headers))
    return Traffic(packets, image + packets * (_ETHERNET_BYTES + headers))


def _largest_message(link: toml.Link, payload: int) -> int:
    if link.source_kind == "verbs":
        return _RNIC_MESSAGE
    if link.at_source("packetisation") != "first_middle_last":
        return payload
    pmtu: int = link.at_source("pmtu")
    held = link.flow == "credits" or link.at_source("transport") == "rc"
    window: int = link.at_source("window_bytes") if held else 0
    fits = window // 4 // pmtu if window else _LONGEST_RUN
    return pmtu * min(max(fits, 1), _LONGEST_RUN)


def _runs(lines: Lines, count: int, message: int) -> list[tuple[int, int]]:
    """Return the lengths of messages of `count` lines in bytes, and the number of messages of each length."""
    if lines.line_bytes > message:
        whole, rest = divmod(lines.line_bytes, message)
        return [(message, whole * count), *([(rest, count)] if rest else [])]
    merged = min(message // lines.line_bytes, count) if lines.contiguous else 1
    whole, rest = divmod(count, merged)
    return [(merged * lines.line_bytes, whole), *([(rest * lines.line_bytes, 1)] if rest else [])]


def _network_bytes(link: toml.Link, address: str) -> int:
    if link.at_source("framing") == "v1":
        return _GRH
    try:
        version = ipaddress.ip_address(address.partition("%")[0]).version
    except ValueError:
        version = 4
    return _UDP + (20 if version == 4 else 40)
