# SPDX-License-Identifier: Apache-2.0
"""Parses hex of packets in the forms that users paste."""

import re

from rashpa.data.base.rashpa_error import RashpaError


class PacketError(RashpaError, ValueError):
    """Reports a fault of a packet, its hex or its JSON; the text names place and reason."""


def parse_hex(text: str) -> bytes:
    """Return the bytes of hex digits, with or without spaces, colons, 0x and commas, or of a dump by xxd, hexdump -C, tcpdump -x or Wireshark."""
    lines = [line for line in text.splitlines() if line.strip()]
    rows = _dump_rows(lines)
    digits = "".join(rows) if rows is not None else "".join(lines)
    digits = re.sub(r"0[xX]|\\x|[\s:,;_\-]", "", digits)
    wrong = re.search(r"[^0-9a-fA-F]", digits)
    if wrong:
        raise PacketError(f"hex: {wrong.group()!r} after {wrong.start()} digits is not a hexadecimal digit")
    if not digits:
        raise PacketError("hex: there is nothing to decode; give the packet's bytes, for example 2a00ffff…")
    if len(digits) % 2:
        raise PacketError(f"hex: {len(digits)} digits; two make a byte, so one is missing or too many")
    return bytes.fromhex(digits)


_OFFSET = re.compile(r"^\s*(?:0x)?([0-9a-fA-F]{4,8})(:?)(\s+)(.*)$")


def _dump_rows(lines: list[str]) -> list[str] | None:
    """Return the digits of each line of a dump with offsets, None when the text is no such dump: its offsets do not match the bytes."""
    rows: list[str] = []
    so_far = 0
    for line in lines:
        match = _OFFSET.match(line)
        if not match:
            if rows and re.fullmatch(rf"0*{so_far:x}", line.strip()):
                continue  # the last line of hexdump: the length alone
            return None
        offset, colon, gap, rest = match.groups()
        if int(offset, 16) != so_far or (not colon and len(gap) == 1 and len(lines) == 1):
            return None
        row = _dump_row(rest, colon=bool(colon))
        so_far += len(row) // 2
        rows.append(row)
    return rows or None


def _dump_row(rest: str, *, colon: bool) -> str:
    """Return the digits of one line after its offset; they end at two spaces (with a colon) or at the text column."""
    columns = re.split(r"\s{2,}", rest.split("|")[0].strip())
    if colon:
        columns = columns[:1]
    row = ""
    for column in columns:
        tokens = column.split()
        if len(row) + sum(map(len, tokens)) > 32 or not all(
            re.fullmatch(r"(?:[0-9a-fA-F]{2})+", token) for token in tokens
        ):
            break
        row += "".join(tokens)
    return row
