# SPDX-License-Identifier: Apache-2.0
import pytest

from rashpa.control.capacity.packets import Lines, Traffic, traffic_of
from rashpa.control.runfile.run_file import Link

IPV4, IPV6 = "127.0.0.1", "fd00::2"
# Ethernet 38, IPv4 20, UDP 8, BTH 12, ICRC 4; the record is 128 bytes behind RETH 16 and immediate 4
EVENT = 38 + 20 + 8 + 12 + 4 + 16 + 4 + 128


@pytest.mark.parametrize(
    ("lines", "link", "packets", "wire"),
    [
        (Lines(4, 2048, False), {}, 4, 4 * (2048 + 98)),
        (Lines(4, 2048, True), {}, 2, 2 * (4096 + 98)),
        (Lines(3, 2048, True), {}, 2, 4096 + 98 + 2048 + 98),
        (Lines(2, 5000, False), {}, 4, 2 * (4096 + 98 + 904 + 98)),
        (Lines(1, 6, False), {}, 1, 8 + 98),  # padded to 4 bytes
        (
            Lines(8, 2048, True),
            {"roce": {"packetisation": "first_middle_last", "pmtu": 1024}},
            16,
            16 * (1024 + 82) + 16,
        ),
        (Lines(8, 2048, True), {"source": "verbs", "verbs": {"pmtu": 1024}}, 16, 16 * (1024 + 82) + 16),
        (Lines(8, 2048, False), {"source": "verbs", "verbs": {"pmtu": 1024}}, 16, 8 * (2 * (1024 + 82) + 16)),
    ],
)
def test_an_image_is_so_many_packets(lines: Lines, link: dict[str, object], packets: int, wire: int) -> None:
    assert traffic_of(lines, Link.model_validate(link), IPV4) == Traffic(packets + 1, wire + EVENT)


def test_datagrams_have_their_own_headers_and_ipv6_longer_ones() -> None:
    link = Link.model_validate({"roce": {"transport": "ud", "pmtu": 4096}})
    # 4032 bytes fit: DETH 8 and a line header of 16 in place of RETH
    assert traffic_of(Lines(1, 4032, True), link, IPV4) == Traffic(2, 4032 + 82 + 24 + EVENT - 16 + 24)
    plain = traffic_of(Lines(1, 4096, True), Link(), IPV4)
    assert traffic_of(Lines(1, 4096, True), Link(), IPV6).wire_bytes == plain.wire_bytes + 2 * 20


def test_shared_memory_has_no_packets() -> None:
    assert traffic_of(Lines(4, 2048, True), Link(kind="pcie"), IPV4) == Traffic(0, 0)
