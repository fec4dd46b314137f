# SPDX-License-Identifier: Apache-2.0
"""Chunks of foreign files decompress to as many bytes as they declare, or not at all."""

import bz2
import struct
import zlib

import h5py
import numpy as np
import pytest
import zstandard

from rashpa.data.files.hdf5.filters import ChunkError, Filter, filters_of, unpacked

DEFLATE, SHUFFLE, FLETCHER32 = Filter(1, (6,)), Filter(2, (2,)), Filter(3, ())
BZIP2, LZ4, ZSTD = Filter(307, (9,)), Filter(32004, ()), Filter(32015, (3,))
U2 = np.dtype("<u2")
VALUES = np.arange(12, dtype=U2).reshape(3, 4) * 257 + 1


def shuffled(values: np.ndarray) -> bytes:
    return np.frombuffer(values.tobytes(), np.uint8).reshape(-1, values.itemsize).T.tobytes()


def read(pipeline: tuple[Filter, ...], chunk: bytes, mask: int = 0) -> np.ndarray | None:
    return unpacked(pipeline, mask, chunk, (3, 4), U2)


def test_the_pipeline_of_a_dataset_is_in_the_order_of_writing() -> None:
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_shuffle()
    properties.set_deflate(4)
    assert [(one.number, one.values) for one in filters_of(properties)] == [(2, ()), (1, (4,))]


@pytest.mark.parametrize(
    ("pipeline", "chunk", "mask"),
    [
        ((), VALUES.tobytes(), 0),
        ((DEFLATE,), zlib.compress(VALUES.tobytes()), 0),
        ((SHUFFLE, DEFLATE), zlib.compress(shuffled(VALUES)), 0),
        ((SHUFFLE, DEFLATE), shuffled(VALUES), 0b10),
        ((SHUFFLE, DEFLATE), VALUES.tobytes(), 0b11),
    ],
)
def test_values_come_back_whichever_filters_a_chunk_has_left_out(
    pipeline: tuple[Filter, ...], chunk: bytes, mask: int
) -> None:
    found = read(pipeline, chunk, mask)
    assert found is not None and found.tolist() == VALUES.tolist()


@pytest.mark.parametrize(
    ("pipeline", "chunk", "says"),
    [
        ((DEFLATE,), zlib.compress(bytes(1 << 20)), "it unpacks to more than the 24 bytes that it declares"),
        ((BZIP2,), bz2.compress(bytes(1 << 20)), "it unpacks to more than the 24 bytes that it declares"),
        ((DEFLATE,), zlib.compress(VALUES.tobytes())[:-6], "it ends early"),
        ((DEFLATE,), b"no stream", "it does not unpack ("),
        ((DEFLATE,), zlib.compress(bytes(23)), "it unpacks to 23 bytes, and declares 24"),
        ((), bytes(100_000), "it has 100000 bytes, and declares 24"),
        ((ZSTD,), zstandard.compress(bytes(1 << 20)), "it would unpack to 1048576 bytes, and declares 24"),
        ((ZSTD,), b"none", "it does not unpack ("),
        ((LZ4,), struct.pack(">Q", 1 << 40), "it would unpack to 1099511627776 bytes, and declares 24"),
        ((LZ4,), b"\0" * 7, "it ends early"),
    ],
)
def test_a_bomb_or_damage_is_refused_before_memory_is_taken(
    pipeline: tuple[Filter, ...], chunk: bytes, says: str
) -> None:
    with pytest.raises(ChunkError) as refused:
        read(pipeline, chunk)
    assert str(refused.value).startswith(says)


@pytest.mark.parametrize(
    ("pipeline", "chunk"),
    [
        ((FLETCHER32,), VALUES.tobytes() + bytes(4)),
        ((BZIP2,), bz2.compress(VALUES.tobytes())),
        ((ZSTD,), zstandard.compress(VALUES.tobytes())),
        ((LZ4,), struct.pack(">Q", 24)),
        ((Filter(12345, ()),), VALUES.tobytes()),
    ],
)
def test_hdf5_unpacks_what_only_it_can_check(pipeline: tuple[Filter, ...], chunk: bytes) -> None:
    assert read(pipeline, chunk) is None
