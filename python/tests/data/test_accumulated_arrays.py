# SPDX-License-Identifier: Apache-2.0
"""The accumulating kernels on arrays, compared with the integers of NumPy."""

import numpy as np
import pytest

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
from rashpa import _native
from rashpa.data.kernels.pipeline import Pipeline

RANDOM = np.random.default_rng(3)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "int16", "int32", "float32"])
def test_windows_are_those_of_numpy(dtype: str) -> None:
    given = RANDOM.integers(0, 120, (37, 23, 41)).astype(dtype)
    every = {"name": "accumulate", "window": 8, "variance": True}
    pipeline = Pipeline([every], given.shape[1:], given.dtype, stack=4, threads=2)
    for _ in range(2):  # each call begins anew
        found = pipeline(given).accumulated["accumulate"]
        np.testing.assert_array_equal(found["images"], [8, 8, 8, 8, 5])
        for window in range(5):
            part = given[window * 8 : window * 8 + 8].astype(np.float64)
            np.testing.assert_array_equal(found["sum"][window], part.sum(axis=0))
            np.testing.assert_array_equal(found["max"][window], part.max(axis=0))
            np.testing.assert_allclose(found["mean"][window], part.mean(axis=0), rtol=1e-15)
            np.testing.assert_allclose(found["variance"][window], part.var(axis=0, ddof=1), rtol=1e-12)
            assert (found["counted"][window] == len(part)).all()


@pytest.mark.parametrize("bits", [1, 6, 12, 24])
def test_counters_are_unpacked_as_numpy_does(bits: int) -> None:
    width, height, images = 48, 20, 5
    packed = RANDOM.integers(0, 256, (images, 2 * height, 2 * width * bits // 8), dtype=np.uint8)
    kernel = {
        "name": "unpack",
        "bits": str(bits),
        "module_width": width,
        "module_height": height,
        "modules_across": 2,
        "modules_down": 2,
        "gap_x": 3,
        "gap_y": 2,
    }
    found = Pipeline([kernel], packed.shape[1:], packed.dtype, stack=2, threads=2)(packed).pixels
    assert found.shape == (images, 2 * height + 2, 2 * width + 3)
    assert found.dtype == {1: "uint8", 6: "uint8", 12: "uint16", 24: "uint32"}[bits]
    flat = np.unpackbits(packed, axis=2, bitorder="little").reshape(images, 2 * height, 2 * width, bits)
    counters = (flat.astype(np.uint32) << np.arange(bits, dtype=np.uint32)).sum(axis=3)
    expected = np.full(found.shape, np.iinfo(found.dtype).max, np.uint32)
    for down in (0, 1):
        for across in (0, 1):
            rows = slice(down * height, (down + 1) * height)
            columns = slice(across * width, (across + 1) * width)
            to_rows = slice(down * (height + 2), down * (height + 2) + height)
            to_columns = slice(across * (width + 3), across * (width + 3) + width)
            expected[:, to_rows, to_columns] = counters[:, rows, columns]
    np.testing.assert_array_equal(found, expected)


def test_chunks_of_two_threads_are_those_of_one_and_come_back() -> None:
    pixels = RANDOM.poisson(0.1, 300_001).astype(np.uint16).view(np.uint8)
    chunks = []
    for threads in (1, 2, 3):
        codec = _native.BitshuffleLz4(2, threads)
        room = np.empty(codec.bound(pixels.size, 2), np.uint8)
        chunk = room[: codec.compress(pixels, room)].copy()
        back = np.empty_like(pixels)
        assert codec.decompress(chunk, back)
        np.testing.assert_array_equal(back, pixels)
        assert not codec.decompress(chunk[:-1], back)
        chunks.append(chunk.tobytes())
    assert len(set(chunks)) == 1
    with pytest.raises(_native.ConfigError):
        _native.BitshuffleLz4(3)
