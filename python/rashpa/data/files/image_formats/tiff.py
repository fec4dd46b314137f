# SPDX-License-Identifier: Apache-2.0
"""Reads TIFF and BigTIFF: images of one sample for each pixel, in strips or tiles. All values of a file are checked before they are used.

Sources of the fields: TIFF 6.0, Adobe's technical notes of 2002 and 2005 (deflate, predictor 3), BigTIFF.
"""

import json
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashpa.data.files.image_formats.image_error import ImageError
from rashpa.data.files.image_formats.tiff_codecs import (
    NONE,
    check_compression,
    unpacked,
    with_reversed_bits,
    without_predictor,
)

LARGEST_SIDE = 65536
_MOST_PAGES = 1 << 20
_TYPES = {1: "u1", 2: "u1", 3: "u2", 4: "u4", 13: "u4", 16: "u8", 18: "u8"}  # of fields whose values are looked at
_NUMBER_TYPES = {(1, 8): "u1", (1, 16): "u2", (1, 32): "u4", (1, 64): "u8", (2, 8): "i1", (2, 16): "i2", (2, 32): "i4", (2, 64): "i8", (3, 32): "f4", (3, 64): "f8", (1, 1): "u1"}  # fmt: skip
_MEANING = {2: "RGB", 3: "a palette", 5: "CMYK", 6: "YCbCr", 8: "CIELab"}
_SUBFILE, _WIDTH, _HEIGHT, _BITS, _COMPRESSION, _PHOTOMETRIC, _FILL_ORDER, _TEXT = (
    254,
    256,
    257,
    258,
    259,
    262,
    266,
    270,
)
_STRIP_PLACES, _SAMPLES, _ROWS, _STRIP_SIZES, _PREDICTOR = 273, 277, 278, 279, 317
_TILE_WIDTH, _TILE_HEIGHT, _TILE_PLACES, _TILE_SIZES, _FORMAT = 322, 323, 324, 325, 339
_REDUCED = 1 | 4  # of the subfile type: a preview, a mask of transparency

Fields = dict[int, NDArray[np.uint64]]


def tiff_frames(data: memoryview) -> Iterator[NDArray[Any]]:
    """Yield each image of the file. Raise ImageError that gives the reason when it cannot be read."""
    order, pages = _pages(data)
    used = [page for page in pages if not int(page.get(_SUBFILE, np.zeros(1, np.uint64))[0]) & _REDUCED]
    if not used:
        raise ImageError("it holds no image")
    layouts = [_layout(page, order) for page in used]
    said = _said_count(used[0], layouts[0])
    if len(layouts) == 1 and said > 1:
        yield from _contiguous(data, used[0], layouts[0], said)
        return
    for page, layout in zip(used, layouts, strict=True):
        yield _image(data, page, layout)


@dataclass(frozen=True)
class _Layout:
    """Describes the layout of an image's pixels in the file. `across`, `down`: width and height of a strip or tile in pixels."""

    width: int
    height: int
    dtype: np.dtype[Any]
    bits: int
    compression: int
    predictor: int
    reversed_bits: bool
    across: int
    down: int
    tiled: bool

    @property
    def row_bytes(self) -> int:
        return (self.across * self.bits + 7) // 8


def _pages(data: memoryview) -> tuple[str, list[Fields]]:
    """Return the byte order, and the fields of each directory."""
    order = {b"II": "<", b"MM": ">"}.get(bytes(data[:2]), "")
    version = struct.unpack_from(f"{order}H", data, 2)[0] if order and len(data) >= 8 else 0
    if version not in (42, 43):
        raise ImageError("it does not begin as a TIFF does; give a TIFF file")
    big = version == 43
    if big and (len(data) < 16 or struct.unpack_from(f"{order}HH", data, 4) != (8, 0)):
        raise ImageError("its BigTIFF header is damaged; copy it again")
    at = struct.unpack_from(f"{order}Q" if big else f"{order}I", data, 8 if big else 4)[0]
    pages: list[Fields] = []
    seen: set[int] = set()
    while at:
        if at in seen or len(pages) == _MOST_PAGES:
            raise ImageError("its directories lead back to one another; it is damaged")
        seen.add(at)
        fields, at = _directory(data, at, order, big=big)
        pages.append(fields)
    return order, pages


def _directory(data: memoryview, at: int, order: str, *, big: bool) -> tuple[Fields, int]:
    """Return the fields of a directory, and the offset of the next one, 0 for none."""
    head, entry, link = ("Q", "HHQ8s", "Q") if big else ("H", "HHI4s", "I")
    (count,) = _numbers(data, at, f"{order}{head}")
    at += struct.calcsize(f"{order}{head}")
    size = struct.calcsize(f"{order}{entry}")
    if count * size > len(data) - at:
        raise ImageError(f"it ends within a directory, after {len(data)} bytes; copy it again")
    fields: Fields = {}
    for place in range(at, at + count * size, size):
        tag, kind, values, inline = struct.unpack_from(f"{order}{entry}", data, place)
        if kind not in _TYPES:
            continue
        dtype = np.dtype(f"{order}{_TYPES[kind]}")
        length = values * dtype.itemsize
        if length <= len(inline):
            fields[tag] = np.frombuffer(inline, dtype, values).astype(np.uint64)
            continue
        (start,) = struct.unpack(f"{order}{link}", inline)
        if start + length > len(data):
            raise ImageError(f"it has {len(data)} bytes, and values of its field {tag} lie behind them; copy it again")
        fields[tag] = np.frombuffer(data, dtype, values, start).astype(np.uint64)
    (following,) = _numbers(data, at + count * size, f"{order}{link}")
    return fields, following


def _numbers(data: memoryview, at: int, form: str) -> tuple[int, ...]:
    if at + struct.calcsize(form) > len(data):
        raise ImageError(f"it has {len(data)} bytes, and a directory begins at {at}; copy it again")
    return struct.unpack_from(form, data, at)


def _one(fields: Fields, tag: int, default: int | None = None) -> int:
    values = fields.get(tag)
    if values is None or not len(values):
        if default is None:
            raise ImageError(f"it has no field {tag}; it is damaged, or no image")
        return default
    return int(values[0])


def _layout(fields: Fields, order: str) -> _Layout:
    width, height = _one(fields, _WIDTH), _one(fields, _HEIGHT)
    samples, meaning = _one(fields, _SAMPLES, 1), _one(fields, _PHOTOMETRIC, 1)
    if samples != 1 or meaning in _MEANING:
        raise ImageError(
            f"it holds {_MEANING.get(meaning, 'pixels')} of {samples} samples; pixels of one number are read"
        )
    if not (1 <= width <= LARGEST_SIDE and 1 <= height <= LARGEST_SIDE):
        raise ImageError(f"an image of {width} × {height} pixels is impossible; sides have 1 to {LARGEST_SIDE}")
    bits, kind = _one(fields, _BITS, 1), _one(fields, _FORMAT, 1)
    name = _NUMBER_TYPES.get((1 if kind == 4 else kind, bits))  # 4: not said
    if name is None:
        raise ImageError(f"its pixels have {bits} bits of sample format {kind}; save them with 1, 8, 16 or 32 bits")
    compression, predictor = _one(fields, _COMPRESSION, NONE), _one(fields, _PREDICTOR, 1)
    check_compression(compression)
    if compression == NONE or bits == 1:
        predictor = 1  # as the standard has it
    tiled = _TILE_PLACES in fields
    across = _one(fields, _TILE_WIDTH) if tiled else width
    down = _one(fields, _TILE_HEIGHT) if tiled else min(_one(fields, _ROWS, height), height)
    if not (1 <= across <= 2 * LARGEST_SIDE and 1 <= down <= 2 * LARGEST_SIDE):
        raise ImageError(f"strips or tiles of {across} × {down} pixels are impossible; it is damaged")
    reverse = _one(fields, _FILL_ORDER, 1) == 2
    return _Layout(
        width, height, np.dtype(f"{order}{name}"), bits, compression, predictor, reverse, across, down, tiled
    )


def _image(data: memoryview, fields: Fields, layout: _Layout) -> NDArray[Any]:
    places = fields.get(_TILE_PLACES if layout.tiled else _STRIP_PLACES)
    sizes = fields.get(_TILE_SIZES if layout.tiled else _STRIP_SIZES)
    columns, rows = -(-layout.width // layout.across), -(-layout.height // layout.down)
    if places is None or len(places) != columns * rows:
        found = 0 if places is None else len(places)
        raise ImageError(f"it has places of {found} strips or tiles; an image like this has {columns * rows}")
    image = np.empty((layout.height, layout.width), layout.dtype.newbyteorder("="))
    for number, place in enumerate(places):
        top, left = number // columns * layout.down, number % columns * layout.across
        high = layout.down if layout.tiled else min(layout.down, layout.height - top)
        size = high * layout.row_bytes
        stored = size if sizes is None and layout.compression == NONE else _size_of(sizes, number, len(places))
        part = _part(data, int(place), stored, size, layout, number)
        target = image[top : top + layout.down, left : left + layout.across]
        target[...] = part[: target.shape[0], : target.shape[1]]
    return image


def _size_of(sizes: NDArray[np.uint64] | None, number: int, count: int) -> int:
    if sizes is None or len(sizes) != count:
        raise ImageError("it does not say how many bytes each strip or tile has; it is damaged")
    return int(sizes[number])


def _part(data: memoryview, place: int, stored: int, size: int, layout: _Layout, number: int) -> NDArray[Any]:
    """Return the pixels of one strip or tile."""
    what = f"{'tile' if layout.tiled else 'strip'} {number}"
    if place == 0 or stored == 0:
        raise ImageError(f"{what} was never written; save the whole image again")
    if place + stored > len(data):
        raise ImageError(f"it has {len(data)} bytes, and {what} ends at {place + stored}; copy it again")
    if layout.compression == NONE and stored < size:
        raise ImageError(f"{what} has {stored} bytes, and its pixels need {size}; it is damaged")
    raw = bytes(data[place : place + stored])
    whole = unpacked(with_reversed_bits(raw) if layout.reversed_bits else raw, layout.compression, size)
    rows = np.frombuffer(whole, np.uint8).reshape(-1, layout.row_bytes)
    if layout.bits == 1:
        return np.unpackbits(rows, axis=1, count=layout.across)
    return without_predictor(rows, layout.predictor, layout.dtype)


def _said_count(fields: Fields, layout: _Layout) -> int:
    """Return the number of images that ImageJ or tifffile states, where one directory describes all images."""
    text = fields.get(_TEXT, np.zeros(0, np.uint64)).astype(np.uint8).tobytes().decode("latin-1")
    if text.startswith("ImageJ=") and (found := re.search(r"^images=([0-9]{1,9})\s*$", text, re.MULTILINE)):
        return int(found[1])
    if text.startswith('{"shape":'):
        try:
            shape = [int(side) for side in json.loads(text.rstrip("\0"))["shape"]]
        except (ValueError, TypeError, KeyError, RecursionError):
            return 1
        return int(np.prod(shape, dtype=object)) // (layout.width * layout.height)
    return 1


def _contiguous(data: memoryview, fields: Fields, layout: _Layout, count: int) -> Iterator[NDArray[Any]]:
    """Yield consecutive images that one directory describes."""
    first = _one(fields, _STRIP_PLACES, 0)
    size = layout.height * layout.row_bytes
    if layout.compression != NONE or layout.tiled or layout.bits == 1 or not first:
        raise ImageError(f"it says that it holds {count} images, and has a directory of one; save them as pages")
    if first + count * size > len(data):
        raise ImageError(
            f"it has {len(data)} bytes, and its {count} images end at {first + count * size}; copy it again"
        )
    for number in range(count):
        start = first + number * size
        yield (
            np.frombuffer(data[start : start + size], layout.dtype)
            .reshape(layout.height, layout.width)
            .astype(layout.dtype.newbyteorder("="))
        )
