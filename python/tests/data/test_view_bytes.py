# SPDX-License-Identifier: Apache-2.0
import json
import struct

import numpy as np
import pytest

from rashpa.data.figures.view_bytes import bytes_of_view, view_of_bytes

ARRAYS = {
    "image": np.array([[1, 65535, 3]], np.uint16),
    "curve": np.array([[0.5, 1.5], [2.0, np.inf]]),
    "peaks": np.zeros((2, 0), np.float32),
}


def test_what_was_written_is_read() -> None:
    facts, arrays = view_of_bytes(bytes_of_view({"frame": 7, "of": "Å"}, ARRAYS))
    assert (facts["frame"], facts["of"]) == (7, "Å")
    assert list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], array)


def test_every_array_lies_where_browsers_can_take_it() -> None:
    content = bytes_of_view({}, ARRAYS)
    body = 8 + struct.unpack_from("<I", content, 4)[0]
    assert body % 8 == 0
    assert all(said["at"] % 8 == 0 for said in json.loads(content[8:body])["arrays"].values())


def test_whatever_is_cut_off_is_no_view() -> None:
    content = bytes_of_view({"frame": 7}, ARRAYS)
    for length in range(len(content)):
        with pytest.raises(ValueError):
            view_of_bytes(content[:length])


@pytest.mark.parametrize(
    "said",
    [
        {"type": "object", "shape": [1], "at": 0},
        {"type": "uint16", "shape": [-1], "at": 0},
        {"type": "uint16", "shape": [1, 1, 1], "at": 0},
        {"type": "uint16", "shape": [1], "at": -8},
        {"type": "uint16", "shape": [2**62, 4], "at": 0},
        {"type": "uint16", "shape": 3, "at": 0},
        {"type": "uint16"},
        [],
    ],
)
def test_arrays_that_cannot_be_are_refused(said: object) -> None:
    text = json.dumps({"arrays": {"image": said}}).encode()
    with pytest.raises(ValueError, match="array"):
        view_of_bytes(b"RVW1" + struct.pack("<I", len(text)) + text + bytes(64))
