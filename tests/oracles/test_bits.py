# SPDX-License-Identifier: Apache-2.0
"""Compares kernels and codecs of bytes with their definitions, on every unit."""

from typing import Any

import numpy as np
import pytest
from tests.oracles import bits
from tests.oracles.units import on_every_unit

from rashpa import _native
from rashpa.data.kernels.pipeline import Pipeline

ORACLES_OF = ("checksum", "unpack")
TYPES = ("uint8", "uint16", "uint32", "int16", "int32", "float32")


def test_the_oracle_has_the_check_value_of_the_polynomial() -> None:
    assert bits.crc32c(b"123456789") == 0xE3069283
    assert bits.crc32c(bytes(32)) == 0x8A9136AA  # RFC 3720, B.4


@on_every_unit
@pytest.mark.parametrize("dtype", TYPES)
def test_checksums(unit: str, dtype: str) -> None:
    random = np.random.default_rng(1)
    for shape in ((1, 1), (3, 7), (37, 29)) if unit == "cpu" else ((37, 29),):
        images = random.integers(0, 256, (3, *shape, np.dtype(dtype).itemsize), np.uint8).view(dtype)[..., 0]
        images[1] = 0
        found = Pipeline([{"name": "checksum"}], shape, dtype, unit=unit)(images)
        assert found.columns["crc32c"].tolist() == [bits.crc32c(image.tobytes()) for image in images]


@on_every_unit
@pytest.mark.parametrize("width", [1, 6, 12, 24])
@pytest.mark.parametrize(
    ("across", "down", "module", "gap"), [(1, 1, (8, 1), (0, 0)), (2, 3, (24, 5), (3, 2)), (3, 1, (64, 2), (1, 9))]
)
def test_counters(unit: str, width: int, across: int, down: int, module: Any, gap: Any) -> None:
    random = np.random.default_rng(2)
    packed = random.integers(0, 256, (3, module[1] * down, module[0] * across * width // 8), np.uint8)
    packed[1], packed[2] = 0, 255
    kernel = {
        "name": "unpack",
        "bits": str(width),
        "modules_across": across,
        "modules_down": down,
        "module_width": module[0],
        "module_height": module[1],
        "gap_x": gap[0],
        "gap_y": gap[1],
    }
    found = Pipeline([kernel], packed.shape[1:], np.uint8, unit=unit)(packed).pixels
    for image, given in zip(found, packed, strict=True):
        assert image.tolist() == bits.unpack(given, width, across, down, module, gap)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
@pytest.mark.parametrize("threads", [1, 3])
def test_chunks(dtype: str, threads: int) -> None:
    random = np.random.default_rng(3)
    element = np.dtype(dtype).itemsize
    for elements in (1, 7, 8, 9, 1023, 8192 // element, 8192 // element + 1, 20011 // element):
        for pixels in (
            np.zeros(elements, dtype),
            random.poisson(0.1, elements).astype(dtype),
            random.integers(0, np.iinfo(dtype).max, elements, dtype, endpoint=True),
            np.full(elements, np.iinfo(dtype).max, dtype),
        ):
            codec = _native.BitshuffleLz4(element, threads)
            room = np.zeros(codec.bound(pixels.nbytes, element), np.uint8)
            used = codec.compress(pixels.view(np.uint8), room)
            assert bits.bitshuffle_lz4(room[:used].tobytes(), element) == pixels.tobytes()
