# SPDX-License-Identifier: Apache-2.0
"""Hex in the forms that users paste."""

import pytest

from rashpa.data.wire.packet_hex import PacketError, parse_hex


@pytest.mark.parametrize(
    "text",
    [
        "2a00 ffff 0000 0011 0102 0304 0506 0708 090a",
        "2A:00:FF:FF:00:00:00:11:01:02:03:04:05:06:07:08:09:0a",
        "0x2a00ffff 0x00000011 0x0102030405060708 0x090a",
        "2a 00 ff ff 00 00 00 11\n01 02 03 04 05 06 07 08\n09 0a\n",
        "00000000: 2a00 ffff 0000 0011 0102 0304 0506 0708  *...............\n00000010: 090a                                     ..\n",
        "00000000  2a 00 ff ff 00 00 00 11  01 02 03 04 05 06 07 08  |*...............|\n00000010  09 0a                 |..|\n00000012\n",
        "\t0x0000:  2a00 ffff 0000 0011 0102 0304 0506 0708\n\t0x0010:  090a\n",
        "0000   2a 00 ff ff 00 00 00 11 01 02 03 04 05 06 07 08   *...............\n0010   09 0a   ..\n",
    ],
)
def test_hex_is_read_in_the_forms_people_paste(text: str) -> None:
    assert parse_hex(text).hex() == "2a00ffff000000110102030405060708090a"


@pytest.mark.parametrize(
    ("text", "says"), [("2a0", "one is missing"), ("2a00zz", "'z' after 4 digits"), (" ", "nothing to decode")]
)
def test_what_is_no_hex_is_refused(text: str, says: str) -> None:
    with pytest.raises(PacketError, match=says):
        parse_hex(text)
