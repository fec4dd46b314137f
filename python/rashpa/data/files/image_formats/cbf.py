# SPDX-License-Identifier: Apache-2.0
"""Reads CBF files of one image, compressed by byte offsets. Length and Content-MD5 are checked before the pixels are decompressed."""

import base64
import hashlib
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashpa.data.files.image_formats.image_error import ImageError, whole_number

_SECTION = b"--CIF-BINARY-FORMAT-SECTION--"
_STARTER = b"\x0c\x1a\x04\xd5"
_LONGEST_HEADER = 1 << 20
_LARGEST_SIDE = 65536
_TYPES = re.compile(r"(signed|unsigned) (8|16|32|64)-bit integer")
_WIDER = ((1, 2), (2, 4), (4, 8))  # bytes of a step that is too large, and of the one that follows it


def cbf_frames(data: memoryview) -> Iterator[NDArray[Any]]:
    """Yield the image of the file. Raise ImageError that names its fault."""
    begin = _find(data, _SECTION, 0, len(data))
    if begin < 0:
        raise ImageError("it holds no binary section; it is cut short, or no CBF")
    start = _find(data, _STARTER, begin, begin + _LONGEST_HEADER)
    if start < 0:
        raise ImageError("it ends before its pixels begin; copy it again")
    header = _header(bytes(data[begin + len(_SECTION) : start]).decode("latin-1"))
    start += len(_STARTER)
    size = _whole(header, "x-binary-size")
    if start + size > len(data):
        raise ImageError(f"it has {len(data)} bytes, and its pixels end at {start + size}; copy it again")
    packed = bytes(data[start : start + size])
    said = header.get("content-md5")
    if said is not None and base64.b64encode(hashlib.md5(packed, usedforsecurity=False).digest()).decode() != said:
        raise ImageError("its Content-MD5 is not that of its pixels; copy it again")
    closed = _find(data, _SECTION, start + size, len(data))
    behind = _find(data, _SECTION, closed + len(_SECTION), len(data)) if closed >= 0 else -1
    if behind >= 0 and bytes(data[behind + len(_SECTION) : behind + len(_SECTION) + 2]) != b"--":
        raise ImageError("it holds several images; CBF of one image is read: save them one by one")
    yield _pixels(packed, header)


def _find(data: memoryview, what: bytes, first: int, end: int) -> int:
    found = re.compile(re.escape(what)).search(data, max(0, first), max(0, min(end, len(data))))
    return -1 if found is None else found.start()


def _header(text: str) -> dict[str, str]:
    """Return the header of the binary section, with keys in lower case. A line that begins with blanks continues the one before it."""
    header: dict[str, str] = {}
    for line in re.sub(r"\r?\n[ \t]+", " ", text).splitlines():
        key, colon, value = line.partition(":")
        if colon:
            header[key.strip().lower()] = value.strip(' "\t')
    if found := re.search(r'conversions="?([^";\s]+)', text):
        header["conversions"] = found[1]
    return header


def _whole(header: dict[str, str], key: str) -> int:
    return whole_number(header.get(key, ""), f"its {key} is")


def _pixels(packed: bytes, header: dict[str, str]) -> NDArray[Any]:
    how = header.get("conversions", "none")
    if how.lower() != "x-cbf_byte_offset":
        raise ImageError(f"the conversion of its pixels is {how[:40]}; x-CBF_BYTE_OFFSET is read")
    kind = _TYPES.fullmatch(header.get("x-binary-element-type", ""))
    if kind is None:
        raise ImageError(
            f"its X-Binary-Element-Type is {header.get('x-binary-element-type', '')[:40]!r}; integers are read"
        )
    if "big" in header.get("x-binary-element-byte-order", "").lower():
        raise ImageError("its bytes are in big-endian order, which byte offsets never are; it is damaged")
    width, height = (_whole(header, f"x-binary-size-{which}-dimension") for which in ("fastest", "second"))
    count = width * height
    if header.get("x-binary-size-third-dimension", "1") not in ("0", "1"):
        raise ImageError("it holds several images; CBF of one image is read: save them one by one")
    if not (1 <= width <= _LARGEST_SIDE and 1 <= height <= _LARGEST_SIDE):
        raise ImageError(f"an image of {width} × {height} pixels is impossible; sides have 1 to {_LARGEST_SIDE}")
    if "x-binary-number-of-elements" in header and _whole(header, "x-binary-number-of-elements") != count:
        raise ImageError(
            f"it says that it has {width} × {height} pixels, and another number of elements; it is damaged"
        )
    dtype = np.dtype(f"{'u' if kind[1] == 'unsigned' else ''}int{kind[2]}")
    return np.cumsum(_steps(packed, count), dtype=np.int64).astype(dtype).reshape(height, width)  # writers let it wrap


def _steps(packed: bytes, count: int) -> NDArray[np.int64]:
    """Return the differences between neighbouring pixels: one byte each; −128 announces two bytes, −2^15 four, −2^31 eight."""
    raw = np.frombuffer(packed, np.int8)
    used = np.ones(len(raw), np.bool_)  # bytes that are a step of their own
    places: list[int] = []
    steps: list[int] = []
    end = 0
    for place in np.flatnonzero(raw == -128).tolist():
        if place < end:
            continue  # a byte of the step before it
        step, end = _wide_step(packed, place)
        used[place + 1 : end] = False
        places.append(place)
        steps.append(step)
    found = raw.astype(np.int64)
    found[places] = steps
    found = found[used]
    if len(found) != count:
        raise ImageError(f"its bytes make {len(found)} pixels, and its header says {count}; it is damaged")
    return found


def _wide_step(packed: bytes, place: int) -> tuple[int, int]:
    """Return the difference that begins with an escape at `place`, and the offset after it."""
    at, step = place, -128
    for size, wider in _WIDER:
        if step != -1 << (8 * size - 1):
            break
        at += size
        if at + wider > len(packed):
            raise ImageError("its last pixel is cut short; copy it again")
        step = int.from_bytes(packed[at : at + wider], "little", signed=True)
        last = wider
    return step, at + last
