# SPDX-License-Identifier: Apache-2.0
"""Strips and tiles of TIFF make exactly the bytes that the image needs."""

import contextlib
import zlib

import numpy as np
import pytest
import zstandard

from rashpa.data.files.image_formats.image_error import ImageError
from rashpa.data.files.image_formats.tiff_codecs import (
    DEFLATE,
    LZW,
    NONE,
    OLD_DEFLATE,
    PACKBITS,
    ZSTD,
    check_compression,
    unpacked,
    with_reversed_bits,
    without_predictor,
)


@pytest.mark.parametrize(
    ("compression", "data"),
    [
        (NONE, b"ABABAB and the rest of its block"),
        (DEFLATE, zlib.compress(b"ABABAB")),
        (OLD_DEFLATE, zlib.compress(b"ABABAB")),
        (ZSTD, zstandard.compress(b"ABABAB")),
        (PACKBITS, b"\x05ABABAB"),
    ],
)
def test_bytes_come_back(compression: int, data: bytes) -> None:
    check_compression(compression)
    assert unpacked(data, compression, 6) == b"ABABAB"


def test_packbits_repeats_a_byte() -> None:
    assert unpacked(b"\xfdA\x01BC", PACKBITS, 6) == b"AAAABC"


@pytest.mark.parametrize("compression", [LZW, PACKBITS])
def test_noise_for_codes_of_libtiff_is_an_error_or_bytes_of_the_right_number(compression: int) -> None:
    for seed in range(3):
        noise = np.random.default_rng(seed).integers(0, 256, 40, np.uint8).tobytes()
        with contextlib.suppress(ImageError):
            assert len(unpacked(noise, compression, 16)) == 16


@pytest.mark.parametrize(
    ("compression", "data", "says"),
    [
        (NONE, b"ABABA", "another number of bytes than the 6"),
        (DEFLATE, zlib.compress(bytes(1 << 20)), "another number of bytes than the 6"),
        (DEFLATE, zlib.compress(b"ABABAB")[:-5], "damaged (they end too early)"),
        (DEFLATE, b"none", "its compressed pixels are damaged ("),
        (ZSTD, zstandard.compress(bytes(1 << 20)), "another number of bytes than the 6"),
        (ZSTD, b"none", "its compressed pixels are damaged ("),
    ],
)
def test_fewer_or_more_bytes_are_refused(compression: int, data: bytes, says: str) -> None:
    with pytest.raises(ImageError) as refused:
        unpacked(data, compression, 6)
    assert says in str(refused.value)


@pytest.mark.parametrize(("compression", "name"), [(7, "JPEG"), (34712, "JPEG 2000"), (9, "number 9")])
def test_other_compressions_are_named(compression: int, name: str) -> None:
    with pytest.raises(ImageError, match=f"compressed by {name}; none, LZW, PackBits, deflate and zstd are read"):
        check_compression(compression)


def test_bits_are_reversed_in_each_byte() -> None:
    assert with_reversed_bits(b"\x01\x80\xb0\xff") == b"\x80\x01\x0d\xff"


def test_differences_of_integers_are_summed_in_their_type() -> None:
    rows = np.array([[250, 10, 255]], np.uint8)
    assert without_predictor(rows, 2, np.dtype("uint8")).tolist() == [[250, 4, 3]]
    big = np.array([[1, 2, -4]], ">i2")
    assert without_predictor(big.view(np.uint8), 2, np.dtype(">i2")).tolist() == [[1, 3, -1]]
    assert without_predictor(rows, 1, np.dtype("uint8")).tolist() == [[250, 10, 255]]


def test_differences_of_floats_are_summed_by_planes_of_bytes() -> None:
    values = np.array([[1.5, -2.25, 1e10]], ">f4")
    planes = np.frombuffer(values.tobytes(), np.uint8).reshape(3, 4).T.reshape(1, -1)
    stored = np.diff(planes, axis=1, prepend=np.uint8(0)).astype(np.uint8)
    assert without_predictor(stored, 3, np.dtype("float32")).tolist() == values.tolist()
    with pytest.raises(ImageError, match="predictor 3 of uint8 is not known"):
        without_predictor(stored, 3, np.dtype("uint8"))
