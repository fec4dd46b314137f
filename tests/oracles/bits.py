# SPDX-License-Identifier: Apache-2.0
"""Oracles of kernels that process bytes: CRC32C bit by bit, counters extracted from large integers, and a decoder of compressed chunks."""

import numpy as np
from numpy.typing import NDArray

_CASTAGNOLI = 0x82F63B78  # of RFC 3720, its bits turned round


def crc32c(data: bytes) -> int:
    """Return the CRC32C, computed bit by bit."""
    register = 0xFFFFFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (_CASTAGNOLI if register & 1 else 0)
    return register ^ 0xFFFFFFFF


def counters(line: bytes, bits: int) -> list[int]:
    """Return the counters of a packed line: the line is one large integer, and each counter takes the next bits."""
    whole = int.from_bytes(line, "little")
    return [whole >> (place * bits) & ((1 << bits) - 1) for place in range(len(line) * 8 // bits)]


def unpack(
    packed: NDArray[np.uint8], bits: int, across: int, down: int, module: tuple[int, int], gap: tuple[int, int]
) -> list[list[int]]:
    """Return the image of packed modules. `module`, `gap`: width and height; gaps hold the largest value of the pixel type."""
    largest = 255 if bits <= 8 else 65535 if bits <= 16 else 2**32 - 1
    (width, height), (gap_x, gap_y) = module, gap
    made = [[largest] * (across * width + (across - 1) * gap_x) for _ in range(down * height + (down - 1) * gap_y)]
    for row, line in enumerate(packed):
        found = counters(bytes(line), bits)
        for place, count in enumerate(found):
            made[row + row // height * gap_y][place + place // width * gap_x] = count
    return made


def lz4_block(block: bytes) -> bytes:
    """Decompress a block by the description of the LZ4 block format."""
    out, at = bytearray(), 0

    def longer(length: int) -> int:
        nonlocal at
        if length == 15:
            while True:
                at += 1
                length += block[at - 1]
                if block[at - 1] != 255:
                    break
        return length

    while at < len(block):
        token = block[at]
        at += 1
        literals = longer(token >> 4)
        out += block[at : at + literals]
        at += literals
        if at == len(block):
            break
        offset = block[at] | block[at + 1] << 8
        at += 2
        assert 0 < offset <= len(out)
        for _ in range(longer(token & 15) + 4):
            out.append(out[-offset])
    return bytes(out)


def bitshuffle_lz4(chunk: bytes, element: int) -> bytes:
    """Return the elements in a chunk, by the description of HDF5 filter 32008."""
    size, block = int.from_bytes(chunk[:8], "big"), int.from_bytes(chunk[8:12], "big")
    out, at = bytearray(), 12
    whole = size // element // 8 * 8 * element
    while len(out) < whole:
        length = int.from_bytes(chunk[at : at + 4], "big")
        planes = lz4_block(chunk[at + 4 : at + 4 + length])
        assert len(planes) == min(block, whole - len(out))
        out += _turned_back(planes, element)
        at += 4 + length
    return bytes(out) + chunk[at:]


def _turned_back(planes: bytes, element: int) -> bytes:
    """Return the elements from bit planes, the least significant plane first."""
    elements = len(planes) // element
    found = [0] * elements
    for plane in range(8 * element):
        for place in range(elements):
            bit = planes[plane * elements // 8 + place // 8] >> (place % 8) & 1
            found[place] |= bit << plane
    return b"".join(one.to_bytes(element, "little") for one in found)
