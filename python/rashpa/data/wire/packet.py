# SPDX-License-Identifier: Apache-2.0
"""Converts RoCE packets to a tree of headers in JSON, and back.

The native codec reads and writes the bytes (src/rashpa/wire/packet/packet.hpp); this module converts numbers to addresses and hex, and back.
"""

import ipaddress
import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from rashpa import _native
from rashpa.data.wire.packet_hex import PacketError, parse_hex

Layer = Literal["ethernet", "ip", "udp_payload"]
LAYERS: Final[tuple[Layer, ...]] = ("ethernet", "ip", "udp_payload")
ROCE_PORT: Final = 4791

_HEADERS = ("ethernet", "vlan", "ipv4", "ipv6", "grh", "udp", "bth", "deth", "reth", "atomiceth", "aeth")
_NUMBERS = ("atomicacketh", "immdt", "ieth")
_KEYS = frozenset((*_HEADERS, *_NUMBERS, "payload", "pad", "icrc", "trailing"))
_INFORMATIONAL = frozenset({"layer", "payload_length", "pad_length", "frame_record", "hsb_metadata", "bytes"})
_HSB = struct.Struct(">IIIQIQHHQI")
_HSB_FIELDS = ("flags", "psn", "crc", "timestamp_s", "timestamp_ns", "bytes_written", "reserved", "frame_number", "metadata_s", "metadata_ns")  # fmt: skip
_HSB_BYTES: Final = 128
_BILLION: Final = 10**9
_MAC_BYTES: Final = 6


@dataclass(frozen=True)
class Flow:
    """Holds the addresses and ports of a packet, which its UDP payload does not contain."""

    source: str
    destination: str
    source_port: int = 0xC000
    destination_port: int = ROCE_PORT


# ---- decode


def decode(data: bytes, layer: Layer | None = None, flow: Flow | None = None) -> dict[str, Any]:
    """Return the packet's headers by name, ready for JSON. `layer`: the first header; None finds it. `flow`: addresses and ports to check the ICRC of
    a UDP payload."""
    start = layer or find_layer(data)
    fields = _decode(data, start)
    if start == "udp_payload" and flow is not None:
        fields["icrc"] = _check_with(fields, flow)
    metadata = (
        hsb_metadata(fields.get("payload") or b"") if "immdt" in fields and "frame_record" not in fields else None
    )
    return {"layer": start, **_to_text(fields), **({"hsb_metadata": metadata} if metadata else {})}


def hsb_metadata(payload: bytes) -> dict[str, int] | None:
    """Return the metadata that a Holoscan Sensor Bridge sends after a frame, in an event of 128 bytes, big endian. Return None for other bytes: with
    nanoseconds of a second or more, or with reserved bytes that are not 0."""
    if len(payload) != _HSB_BYTES:
        return None
    found = dict(zip(_HSB_FIELDS, _HSB.unpack_from(payload), strict=True))
    if max(found["timestamp_ns"], found["metadata_ns"]) >= _BILLION or found.pop("reserved") or not any(payload):
        return None
    return found


def find_layer(data: bytes) -> Layer:
    """Return the layer at which the bytes start: the one with a right ICRC, otherwise the most likely one."""
    for layer in LAYERS:
        try:
            if _native.decode_packet(data, layer)["icrc"]["verdict"] in {"ok", "modulo-id"}:
                return layer
        except _native.ConfigError:
            continue
    ethertype = int.from_bytes(data[12:14], "big")
    if ethertype in {0x8915, 0x8100, 0x88A8} or (ethertype, data[14:15].hex()[:1]) in {(0x0800, "4"), (0x86DD, "6")}:
        return "ethernet"
    is_ipv4 = len(data) > 9 and data[0] >> 4 == 4 and data[0] & 15 >= 5 and data[9] == 17
    is_ipv6 = len(data) > 6 and data[0] >> 4 == 6 and data[6] in {17, 0x1B}
    return "ip" if is_ipv4 or is_ipv6 else "udp_payload"


def _decode(data: bytes, layer: Layer) -> dict[str, Any]:
    try:
        return _native.decode_packet(data, layer)
    except _native.ConfigError as error:
        raise PacketError(str(error)) from None


def _check_with(fields: Mapping[str, Any], flow: Flow) -> dict[str, Any]:
    """Return the ICRC's verdict on the payload for the addresses of `flow`. With IPv4 the identification is unknown, so that the best verdict is
    modulo-id."""
    source, destination = (_address(text) for text in (flow.source, flow.destination))
    if source.version != destination.version:
        raise PacketError(
            f"--src {flow.source} and --dst {flow.destination} are not of one IP version; give two of the same"
        )
    name = f"ipv{source.version}"
    whole = {
        **fields,
        name: {"source": source.packed, "destination": destination.packed},
        "udp": {"source_port": flow.source_port, "destination_port": flow.destination_port},
        "icrc": fields["icrc"]["value"],
    }
    checked: dict[str, Any] = _decode(_encode(whole), "ip")["icrc"]
    if source.version == 4 and checked["verdict"] == "ok":
        checked |= {"verdict": "modulo-id", "identification": 0}
    return checked


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        raise PacketError(f"{text} is not an IP address; give one like 192.168.0.1 or fd00::1") from None


def _to_text(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields with bytes as text: MAC and IP addresses in their usual form, others as hex."""
    out: dict[str, Any] = {}
    for name, value in fields.items():
        if name == "icrc":
            out["payload_length"] = len(fields["payload"])
            out["pad_length"] = len(fields["pad"] or b"")
            out[name] = {
                key: f"{item:08x}" if key in {"value", "computed"} and item is not None else item
                for key, item in value.items()
            }
        else:
            out[name] = (
                _derived(name, value) | _text_of(name, value) if isinstance(value, dict) else _text_of(name, value)
            )
    return out


def _derived(name: str, header: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that follow from a header's kind and its fields."""
    if name == "ipv4":
        return {"version": 4, "ihl": 5 + len(header.get("options") or b"") // 4}
    if name == "ipv6":
        return {"version": 6}
    return {"opcode": header["opcode"], "opcode_name": header["opcode_name"]} if name == "bth" else {}


def _text_of(name: str, value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _text_of(key, item) for key, item in value.items()}
    if isinstance(value, list):
        return [_text_of(name, item) for item in value]
    if not isinstance(value, bytes):
        return value
    if name in {"source", "destination"}:
        return value.hex(":") if len(value) == _MAC_BYTES else str(ipaddress.ip_address(value))
    return value.hex()


# ---- encode


def encode(packet: Mapping[str, Any], *, udp_checksum: bool = False) -> bytes:
    """Return the bytes of a packet in the form of decode(). Absent or null parts are computed; with `udp_checksum` False, an absent UDP checksum
    becomes 0."""
    if not isinstance(packet, Mapping):
        raise PacketError("packet: the JSON is no object with the headers by name; give one as decode prints it")
    unknown = sorted(set(packet) - _KEYS - _INFORMATIONAL)
    if unknown:
        raise PacketError(f"packet: there is no {unknown[0]}; there are {', '.join(sorted(_KEYS))}")
    if not isinstance(packet.get("bth"), Mapping):
        raise PacketError("packet: bth is missing; every RoCE packet has one")
    fields = dict(_fields(packet))
    return _encode(fields, udp_checksum=udp_checksum)


def _encode(fields: dict[str, Any], *, udp_checksum: bool = False) -> bytes:
    known = {name: value for name, value in fields.items() if name in _KEYS}
    if isinstance(known["bth"], dict):
        known["bth"] = {key: value for key, value in known["bth"].items() if key != "opcode_name"}
    try:
        return _native.encode_packet(known, udp_checksum)
    except _native.ConfigError as error:
        raise PacketError(str(error)) from None


def _fields(packet: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in packet.items():
        if value is None or name in _INFORMATIONAL:
            continue
        if name == "icrc":
            given = value.get("value") if isinstance(value, Mapping) else value
            yield name, None if given is None else _icrc(given)
        elif name in {"payload", "pad", "trailing"}:
            yield name, _bytes(name, value)
        elif name == "vlan":
            if not isinstance(value, list):
                raise PacketError("packet: vlan must be a list of tags")
            yield name, [_header(f"vlan[{index}]", tag) for index, tag in enumerate(value)]
        else:
            yield name, _header(name, value)


def _header(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise PacketError(f"packet: {name} must be an object, not {value!r}")
    fields = {key: _value(f"{name}.{key}", key, item) for key, item in value.items() if key != "opcode_name"}
    for key, right in _derived(name, fields).items() if name in {"ipv4", "ipv6"} else ():
        if fields.pop(key, None) not in {None, right}:
            raise PacketError(f"packet: {name}.{key} is {value[key]!r}; with these fields it is {right}")
    if name == "bth" and fields.get("opcode") is None:
        fields["opcode"] = _opcode(value.get("opcode_name"))
    return fields


def _opcode(name: Any) -> int:
    number = _native.opcode_of(name) if isinstance(name, str) and name.isascii() else None
    if number is None:
        raise PacketError(
            f"packet: bth.opcode is missing and bth.opcode_name is {name!r}; give a number or a name like UC_RDMA_WRITE_ONLY"
        )
    return number


def _value(where: str, key: str, value: Any) -> int | bytes | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return int(value)
    if key in {"source", "destination"}:
        return _address_bytes(where, value)
    if key == "options":
        return _bytes(where, value)
    if isinstance(value, str):
        try:
            return int(value, 0)
        except ValueError:
            raise PacketError(f"packet: {where} is {value!r}; it must be a number, decimal or 0x…") from None
    if not isinstance(value, int):
        raise PacketError(f"packet: {where} is {value!r}; it must be a whole number")
    return value


def _address_bytes(where: str, value: Any) -> bytes:
    text = str(value)
    if re.fullmatch(r"([0-9a-fA-F]{2}[:\-]?){5}[0-9a-fA-F]{2}", text) and where.startswith("ethernet"):
        return bytes.fromhex(re.sub(r"[:\-]", "", text))
    try:
        return ipaddress.ip_address(text).packed
    except ValueError:
        raise PacketError(
            f"packet: {where} is {text!r}; it must be an address like 02:00:00:00:00:01, 192.168.0.1 or fd00::1"
        ) from None


def _bytes(where: str, value: Any) -> bytes:
    if value == "":
        return b""
    try:
        return parse_hex(str(value))
    except PacketError as error:
        raise PacketError(f"packet: {where}: {error}") from None


def _icrc(value: Any) -> int:
    """Return the ICRC as a number, from a number or hex text; the text has its four bytes in big-endian order."""
    if isinstance(value, int) and 0 <= value < 1 << 32:
        return value
    data = _bytes("icrc.value", value)
    if len(data) != 4:
        raise PacketError(f"packet: icrc.value is {value!r}; give the four bytes of the wire, such as d96cfed1")
    return int.from_bytes(data, "big")
