# SPDX-License-Identifier: Apache-2.0
"""Makes image files like those of other programs for tests, without this program's readers."""

import struct
from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray


def tiff(
    parts: Sequence[bytes],
    image: NDArray[Any],
    fields: Mapping[int, int | Sequence[int]] | None = None,
    *,
    order: str = "<",
    big: bool = False,
) -> bytes:
    """Return the bytes of a TIFF of one directory with `parts` as its strips or tiles; `fields` replaces or adds some."""
    head = 16 if big else 8
    places = [head + sum(map(len, parts[:number])) for number in range(len(parts))]
    kind = {"u": 1, "i": 2, "f": 3}[image.dtype.kind]
    values: dict[int, Any] = {
        256: image.shape[1], 257: image.shape[0], 258: 8 * image.itemsize, 259: 1, 262: 1, 273: places, 277: 1,
        278: image.shape[0], 279: [len(part) for part in parts], 339: kind,
    }  # fmt: skip
    values |= fields or {}
    if 322 in values:
        values |= {324: values.pop(273), 325: values.pop(279)}
    word = "Q" if big else "I"
    body = b"".join(parts)
    directory, further = b"", b""
    at = head + len(body)
    end = at + (8 + 20 * len(values) + 8 if big else 2 + 12 * len(values) + 4)
    for tag, value in sorted(values.items()):
        numbers = [value] if isinstance(value, int) else list(value)
        packed = struct.pack(f"{order}{len(numbers)}{word}", *numbers)
        if len(numbers) > 1:
            packed, further = struct.pack(f"{order}{word}", end + len(further)), further + packed
        directory += struct.pack(f"{order}HH{word}", tag, 16 if big else 4, len(numbers)) + packed
    count = struct.pack(f"{order}{'Q' if big else 'H'}", len(values))
    name = b"II" if order == "<" else b"MM"
    start = struct.pack(f"{order}HHHQ", 43, 8, 0, at) if big else struct.pack(f"{order}HI", 42, at)
    return name + start + body + count + directory + bytes(8 if big else 4) + further


def edf(*frames: NDArray[Any], kind: str = "UnsignedShort", **header: str) -> bytes:
    """Return the bytes of an EDF file of these frames; `header` replaces or adds keys, and "" leaves a key out."""
    whole = b""
    for number, frame in enumerate(frames, start=1):
        keys = {
            "HeaderID": f"EH:{number:06}:000000:000000",
            "Image": str(number),
            "ByteOrder": "LowByteFirst",
            "DataType": kind,
            "Dim_1": str(frame.shape[1]),
            "Dim_2": str(frame.shape[0]),
            "Size": str(frame.nbytes),
        } | header
        text = "{\n" + "".join(f"{key} = {value} ;\n" for key, value in keys.items() if value)
        whole += text.ljust(1022).encode("latin-1") + b"}\n" + frame.tobytes()
    return whole
