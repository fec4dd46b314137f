# SPDX-License-Identifier: Apache-2.0
"""Packets as hex and as a tree of headers: the golden packets byte for byte, and bad input of every kind."""

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from rashpa.data.wire.packet import Flow, decode, encode, find_layer
from rashpa.data.wire.packet_hex import PacketError

ROOT = Path(__file__).resolve().parents[3]
VECTORS = ROOT.parent / "shared" / "reference" / "roce_vectors.json"
ETHERNET, IPV4, IPV6, UDP = 14, 20, 40, 8

# One UC WRITE_ONLY_WITH_IMMEDIATE of 5 bytes between two addresses, made by hand from the specification's layout.
WRITE = (
    "020000000002020000000001080045000048000040004011b951c0a80001c0a80002c00012b7003400002b30ffff00000011"
    "0000000200007f00000020000000beef000000051234567800010203040000002dbc5a5e"
)


def golden() -> list[dict[str, Any]]:
    if not VECTORS.is_file():
        pytest.skip("shared/reference/roce_vectors.json is not beside the project")
    vectors: list[dict[str, Any]] = json.loads(VECTORS.read_text(encoding="utf-8"))
    return vectors


def test_every_golden_packet_comes_back_byte_for_byte() -> None:
    for vector in golden():
        data = bytes.fromhex(vector["layer2"])
        packet = decode(data, "ethernet")
        assert encode(json.loads(json.dumps(packet))) == data, vector["name"]
        assert packet["icrc"]["value"] == vector["icrc"], vector["name"]
        assert packet["icrc"]["verdict"] == ("ok" if vector["checks"] else "bad"), vector["name"]
        assert find_layer(data) == "ethernet", vector["name"]


def test_derived_fields_that_are_absent_are_filled_in() -> None:
    for vector in golden():
        packet = decode(bytes.fromhex(vector["layer2"]))
        for header, fields in {
            "ethernet": ["ethertype"],
            "ipv4": ["total_length", "checksum"],
            "grh": ["payload_length"],
            "udp": ["length", "checksum"],
            "bth": ["pad_count", "opcode_name"],
            "icrc": ["value", "computed", "verdict"],
        }.items():
            for field in fields:
                packet.get(header, {}).pop(field, None)
        del packet["pad"]
        assert encode(packet).hex() == vector["layer2"], vector["name"]


def test_every_header_field_has_its_name() -> None:
    packet = decode(bytes.fromhex(WRITE))
    assert packet["layer"] == "ethernet"
    assert packet["ethernet"] == {
        "destination": "02:00:00:00:00:02",
        "source": "02:00:00:00:00:01",
        "ethertype": 0x0800,
    }
    assert packet["ipv4"]["source"] == "192.168.0.1"
    assert (packet["ipv4"]["version"], packet["ipv4"]["ihl"]) == (4, 5)
    assert packet["ipv4"]["total_length"] == 72
    assert packet["udp"] == {"source_port": 0xC000, "destination_port": 4791, "length": 52, "checksum": 0}
    assert packet["bth"] == {
        "opcode": 0x2B,
        "opcode_name": "UC_RDMA_WRITE_ONLY_WITH_IMMEDIATE",
        "solicited_event": 0,
        "migration_request": 0,
        "pad_count": 3,
        "transport_version": 0,
        "partition_key": 0xFFFF,
        "fecn": 0,
        "becn": 0,
        "reserved6": 0,
        "destination_qp": 0x11,
        "ack_request": 0,
        "reserved7": 0,
        "psn": 2,
    }
    assert packet["reth"] == {"virtual_address": 0x7F0000002000, "remote_key": 0xBEEF, "dma_length": 5}
    assert packet["immdt"] == {"immediate_data": 0x12345678}
    assert (packet["payload"], packet["payload_length"], packet["pad_length"]) == ("0001020304", 5, 3)
    assert packet["icrc"] == {"value": "2dbc5a5e", "computed": "2dbc5a5e", "verdict": "ok"}


def test_the_layer_is_found_out() -> None:
    data = bytes.fromhex(WRITE)
    assert decode(data)["layer"] == "ethernet"
    assert decode(data[ETHERNET:])["layer"] == "ip"
    assert decode(data[ETHERNET:])["icrc"]["verdict"] == "ok"
    payload = decode(data[ETHERNET + IPV4 + UDP :])
    assert payload["layer"] == "udp_payload"
    assert payload["icrc"]["verdict"] == "unchecked"


def test_a_udp_payload_is_checked_modulo_id_when_its_flow_is_given() -> None:
    data = bytes.fromhex(WRITE)[ETHERNET + IPV4 + UDP :]
    right = decode(data, "udp_payload", Flow("192.168.0.1", "192.168.0.2"))
    assert right["icrc"]["verdict"] == "modulo-id"
    assert right["icrc"]["identification"] == 0
    assert "ipv4" not in right
    assert decode(data, "udp_payload", Flow("192.168.0.1", "192.168.0.3"))["icrc"]["verdict"] == "bad"


def test_over_ipv6_the_check_of_a_udp_payload_is_exact() -> None:
    flow = Flow("fd00::1", "fd00::2", 0xC123)
    packet = decode(bytes.fromhex(WRITE))
    for header in ("ethernet", "ipv4", "icrc"):
        del packet[header]
    packet["ipv6"] = {"source": flow.source, "destination": flow.destination}
    packet["udp"] = {"source_port": flow.source_port, "destination_port": flow.destination_port}
    data = encode(packet)
    assert decode(data)["icrc"]["verdict"] == "ok"
    assert decode(data[IPV6 + UDP :], "udp_payload", flow)["icrc"]["verdict"] == "ok"
    assert decode(data[IPV6 + UDP :], "udp_payload", Flow("fd00::1", "fd00::2", 0xC124))["icrc"]["verdict"] == "bad"


def test_another_identification_is_told_apart_from_a_corrupt_packet() -> None:
    data = bytearray.fromhex(WRITE)
    data[18:20] = (0xAB, 0xCD)
    icrc = decode(bytes(data), "ethernet")["icrc"]
    assert (icrc["verdict"], icrc["identification"]) == ("modulo-id", 0)
    data[-6] ^= 1
    assert decode(bytes(data), "ethernet")["icrc"]["verdict"] == "bad"


@pytest.mark.parametrize("start", [0, ETHERNET, ETHERNET + IPV4 + UDP])
@pytest.mark.parametrize("layer", ["ethernet", "ip", "udp_payload", None])
def test_a_packet_cut_anywhere_is_an_error_or_a_packet_that_comes_back(start: int, layer: Any) -> None:
    whole = bytes.fromhex(WRITE)[start:]
    for length in range(len(whole)):
        try:
            packet = decode(whole[:length], layer)
        except PacketError:
            continue
        assert encode(packet) == whole[:length]


def test_any_bytes_are_an_error_or_come_back() -> None:
    random_ = random.Random(20)
    base = bytes.fromhex(WRITE)
    came_back = 0
    for _ in range(3000):
        data = bytearray(base[: random_.randrange(1, len(base) + 1)])
        for _ in range(random_.randrange(4)):
            data[random_.randrange(len(data))] = random_.randrange(256)
        for layer in ("ethernet", "ip", "udp_payload"):
            try:
                packet = decode(bytes(data), layer)
            except PacketError:
                continue
            came_back += 1
            assert encode(json.loads(json.dumps(packet))) == data
    assert came_back > 100


def test_a_short_header_says_what_it_needs_and_where() -> None:
    with pytest.raises(
        PacketError, match="the BTH needs 12 bytes from offset 0, and 7 are there; give the whole packet"
    ):
        decode(bytes.fromhex(WRITE)[ETHERNET + IPV4 + UDP :][:7], "udp_payload")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"bth": None}, "bth is missing"),
        ({"bht": {}}, "there is no bht"),
        ({"bth": {"opcode": 0x2B, "pns": 1}}, "bth has no field pns"),
        ({"bth": {"opcode": "WRITE"}}, "bth.opcode is 'WRITE'"),
        ({"bth": {"opcode_name": "UC_WRITE"}}, "UC_WRITE"),
        ({"bth": {"opcode_name": "\ud800"}}, "opcode_name"),
        ({"bth": {"opcode_name": ["UC_RDMA_WRITE_ONLY"]}}, "opcode_name"),
        ({"bth": {"opcode": 300}}, "bth.opcode is 300; give a whole number of 8 bits"),
        ({"bth": {"opcode": 0x2B, "psn": 1 << 24}}, "psn"),
        ({"bth": 5}, "bth is missing"),
        ({"ipv4": {"source": "192.168.0"}}, "ipv4.source"),
        ({"ipv4": {"version": 6}}, "ipv4.version is 6"),
        ({"ipv4": {"ihl": 6}}, "ipv4.ihl is 6; with these fields it is 5"),
        ({"ethernet": {"source": "02:00"}}, "ethernet.source"),
        ({"payload": "0g"}, "payload"),
        ({"icrc": {"value": "12"}}, "icrc.value"),
        ({"vlan": {}}, "vlan must be a list"),
        ({"reth": None}, "RETH"),
    ],
)
def test_a_wrong_field_is_named(change: dict[str, Any], says: str) -> None:
    packet = decode(bytes.fromhex(WRITE))
    with pytest.raises(PacketError, match=says):
        encode({**packet, **change})


def test_an_opcode_may_be_given_by_name() -> None:
    packet = decode(bytes.fromhex(WRITE))
    del packet["bth"]["opcode"]
    assert encode(packet).hex() == WRITE


def crc32c(data: bytes) -> int:
    """Return the CRC32C, computed bit by bit from its definition (RFC 3720)."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def test_a_frame_record_made_from_its_document_is_recognised() -> None:
    document = (ROOT / "schema" / "frame_record.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| (\d+) \| (\w+) \|", document, re.MULTILINE)
    fixed = {"magic": 0x41505352, "version": 1, "bytes": 128, "reserved": 0, "crc32c": 0}
    values = {name: fixed.get(name, 3 + number) for number, (_, _, name) in enumerate(rows)}
    record = bytearray(128)
    end = 0
    for offset, size, name in ((int(offset), int(size), name) for offset, size, name in rows):
        assert offset == end, name
        end = offset + size
        record[offset:end] = values[name].to_bytes(min(size, 8), "little") * (size // min(size, 8))
    assert end == len(record)
    record[-4:] = crc32c(bytes(record[:-4])).to_bytes(4, "little")

    packet = decode(bytes.fromhex(WRITE))
    packet |= {"payload": record.hex(), "pad": None, "ipv4": {**packet["ipv4"], "total_length": None, "checksum": None}}
    packet |= {"icrc": None, "udp": {**packet["udp"], "length": None}, "bth": {**packet["bth"], "pad_count": None}}
    packet["reth"]["dma_length"] = None
    shown = decode(encode(packet))
    assert shown["icrc"]["verdict"] == "ok"
    expected = {name: value for name, value in values.items() if name not in fixed}
    assert shown["frame_record"] == {**expected, "user": [values["user"]] * 6}

    record[20] ^= 1
    assert "frame_record" not in decode(encode({**packet, "payload": record.hex()}))
