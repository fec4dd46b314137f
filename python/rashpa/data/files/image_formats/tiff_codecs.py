# SPDX-License-Identifier: Apache-2.0
"""Decompresses strips and tiles of TIFF to exactly the bytes that the image needs, or raises an error."""

import io
import struct
import zlib

import numpy as np
import zstandard
from numpy.typing import NDArray
from PIL import Image

from rashpa.data.files.image_formats.image_error import ImageError

NONE, LZW, DEFLATE, OLD_DEFLATE, PACKBITS, ZSTD = 1, 5, 8, 32946, 32773, 50000
_READ = "none, LZW, PackBits, deflate and zstd"
_OTHERS = {2: "CCITT", 3: "CCITT group 3", 4: "CCITT group 4", 6: "JPEG", 7: "JPEG", 34712: "JPEG 2000", 34887: "LERC"}
_REVERSED = np.packbits(np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)[:, ::-1], axis=1).ravel()


def check_compression(compression: int) -> None:
    """Raise ImageError for a compression that is not read."""
    if compression not in (NONE, LZW, DEFLATE, OLD_DEFLATE, PACKBITS, ZSTD):
        name = _OTHERS.get(compression, f"number {compression}")
        raise ImageError(f"its pixels are compressed by {name}; {_READ} are read: save it again with one of these")


def unpacked(data: bytes, compression: int, size: int) -> bytes:
    """Return the `size` bytes of a strip or tile. Raise ImageError when there are fewer or more."""
    try:
        found = _unpacked(data, compression, size)
    except (zlib.error, zstandard.ZstdError, OSError, ValueError) as error:
        raise ImageError(f"its compressed pixels are damaged ({error}); copy it again") from None
    if len(found) != size:
        raise ImageError(f"its compressed pixels make another number of bytes than the {size} of a strip or tile")
    return found


def _unpacked(data: bytes, compression: int, size: int) -> bytes:
    if compression == NONE:
        return data[:size]  # the rest fills up a block
    if compression in (DEFLATE, OLD_DEFLATE):
        stream = zlib.decompressobj()
        found = stream.decompress(data, size + 1)
        if not stream.eof and len(found) <= size:
            raise ValueError("they end too early")
        return found
    if compression == ZSTD:
        known = zstandard.get_frame_parameters(data).content_size
        if known not in (size, zstandard.CONTENTSIZE_UNKNOWN):
            return b""
        return zstandard.ZstdDecompressor().decompress(data, max_output_size=size)
    return _by_libtiff(data, compression, size)


def _by_libtiff(data: bytes, compression: int, size: int) -> bytes:
    """Decompress LZW and PackBits: wrap the bytes into a TIFF of one row, which Pillow's libtiff decompresses up to its width."""
    fields = (
        (256, 4, size), (257, 3, 1), (258, 3, 8), (259, 3, compression), (262, 3, 1), (273, 4, 8), (277, 3, 1), (278, 3, 1), (279, 4, len(data)),
    )  # fmt: skip
    directory = b"".join(struct.pack("<HHII", tag, kind, 1, value) for tag, kind, value in fields)
    whole = (
        struct.pack("<2sHI", b"II", 42, 8 + len(data)) + data + struct.pack("<H", len(fields)) + directory + bytes(4)
    )
    with Image.open(io.BytesIO(whole), formats=["TIFF"]) as row:
        return row.tobytes()


def with_reversed_bits(data: bytes) -> bytes:
    """Return each byte with its bits in reverse order (FillOrder 2)."""
    return _REVERSED[np.frombuffer(data, np.uint8)].tobytes()


def without_predictor(rows: NDArray[np.uint8], predictor: int, dtype: np.dtype[np.generic]) -> NDArray[np.generic]:
    """Return pixels of `dtype` from rows of bytes that hold differences of values. Raise ImageError for an unknown predictor."""
    if predictor == 1:
        return rows.view(dtype)
    if predictor == 2 and dtype.kind in "iu":
        values = rows.view(dtype).astype(dtype.newbyteorder("="))
        unsigned = np.dtype(f"u{dtype.itemsize}")
        return np.cumsum(values.view(unsigned), axis=1, dtype=unsigned).view(values.dtype)
    if predictor == 3 and dtype.kind == "f":
        summed = np.cumsum(rows, axis=1, dtype=np.uint8)
        planes = summed.reshape(len(rows), dtype.itemsize, -1).transpose(0, 2, 1)  # the most significant byte first
        return np.ascontiguousarray(planes).view(dtype.newbyteorder(">"))[..., 0]
    raise ImageError(f"predictor {predictor} of {dtype.name} is not known; save it again without one")
