# SPDX-License-Identifier: Apache-2.0
"""Reads EDF files: a sequence of frames, each a text header and its pixels. A frame that a header announces and the file lacks is an error."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashpa.data.files.image_formats.image_error import ImageError, whole_number

_LONGEST_HEADER = 4 << 20
_LARGEST_SIDE = 65536
_END = re.compile(rb"\}\r?\n")
_BLANK = b" \t\r\n\0"
_TYPES = {
    "i1": "signedbyte signed8",
    "u1": "unsignedbyte unsigned8",
    "i2": "signedshort signed16",
    "u2": "unsignedshort unsigned16 unsignedshortinteger",
    "i4": "signedinteger signed32 signedlong",
    "u4": "unsignedinteger unsigned32 unsignedlong",
    "i8": "signed64",
    "u8": "unsigned64",
    "f4": "floatvalue float floatieee32 float32",
    "f8": "double doublevalue floatieee64 doubleieee64",
}
_TYPE_OF = {name: code for code, names in _TYPES.items() for name in names.split()}
_OF_FRAME = ("size", "image", "headerid")  # keys that a general header does not set for the frames behind it


def edf_frames(data: memoryview) -> Iterator[NDArray[Any]]:
    """Yield each frame of the file. Raise ImageError that names a missing or wrong part."""
    at = number = 0
    general: dict[str, str] = {}
    while at < len(data) and (at := _next_block(data, at, number)) < len(data):
        header, at = _header(data, at, number)
        if "edf_dataformatversion" in header:
            general = {
                key: value for key, value in header.items() if not key.startswith("edf_") and key not in _OF_FRAME
            }
            at += _whole(header, "edf_binarysize", number) if "edf_binarysize" in header else 0
            continue
        merged = general | header
        dtype, shape = _kind(merged, number)
        needed = shape[0] * shape[1] * dtype.itemsize
        key = "edf_binarysize" if "edf_binarysize" in header else "size"
        size = _whole(merged, key, number) if key in merged else needed
        if size < needed:
            raise ImageError(
                f"frame {number} has {size} bytes, and {shape[1]} × {shape[0]} pixels of {dtype.name} need {needed}"
            )
        if at + size > len(data):
            raise ImageError(f"it has {len(data)} bytes, and frame {number} ends at {at + size}; copy it again")
        yield np.frombuffer(data, dtype, shape[0] * shape[1], at).reshape(shape).astype(dtype.newbyteorder("="))
        at, number = at + size, number + 1
    if number == 0:
        raise ImageError("it holds no frame")


def _next_block(data: memoryview, at: int, number: int) -> int:
    """Return the offset of the next header, the end of the file when there is none."""
    while at < len(data) and data[at] in _BLANK:
        at += 1
    if at < len(data) and data[at] != ord("{"):
        raise ImageError(
            f"the block at byte {at} is no header of frame {number}; copy the file again, or give an EDF file"
        )
    return at


def _header(data: memoryview, at: int, number: int) -> tuple[dict[str, str], int]:
    """Return the header with keys in lower case, and the offset of the data after it."""
    found = _END.search(data, at, min(len(data), at + _LONGEST_HEADER))
    if found is None:
        raise ImageError(f"the header of frame {number} has no end; copy the file again")
    header: dict[str, str] = {}
    for entry in bytes(data[at + 1 : found.start()]).decode("latin-1").split(";"):
        key, equals, value = (part.strip(_BLANK.decode()) for part in entry.partition("="))
        if equals and header.setdefault(key.lower(), value) != value:
            raise ImageError(f"the header of frame {number} says {key} twice; it is damaged")
    return header, found.end()


def _kind(header: Mapping[str, str], number: int) -> tuple[np.dtype[Any], tuple[int, int]]:
    if "edf_binaryfilename" in header:
        raise ImageError(f"the pixels of frame {number} lie in another file; save them in this one")
    packed = header.get("compression", "none").lower()
    if not packed.startswith("no"):
        raise ImageError(
            f"frame {number} is compressed by {packed[:20]}; save it without, and pack the file by gzip or zstd"
        )
    code = _TYPE_OF.get(header.get("datatype", "").lower())
    if code is None:
        raise ImageError(
            f"frame {number} has pixels of DataType {header.get('datatype', '')[:40]!r}, which is not known"
        )
    order = header.get("byteorder", "").lower()
    if "low" not in order and "high" not in order and code[1] != "1":
        raise ImageError(f"frame {number} has no ByteOrder; it is LowByteFirst or HighByteFirst")
    further = [key for key in header if re.fullmatch(r"dim_([3-9]|[1-9][0-9]+)", key) and header[key] != "1"]
    sides = _whole(header, "dim_2", number), _whole(header, "dim_1", number)
    if further or not all(1 <= side <= _LARGEST_SIDE for side in sides):
        raise ImageError(
            f"frame {number} of {sides[1]} × {sides[0]} pixels{' and further axes' * bool(further)} is no image"
        )
    return np.dtype(f"{'>' if 'high' in order else '<'}{code}"), sides


def _whole(header: Mapping[str, str], key: str, number: int) -> int:
    return whole_number(header.get(key, ""), f"frame {number} has {key.capitalize()} =")
