# SPDX-License-Identifier: Apache-2.0
"""Start messages of Stream V1, as a detector sends them, and damaged ones."""

import json
from typing import Any

import numpy as np
import pytest

from rashpa.data.stream.stream1 import CHANNEL, read_start
from rashpa.data.stream.stream2 import StreamError

ROWS, COLUMNS = 3, 5
MASK = np.arange(ROWS * COLUMNS, dtype="<u4").reshape(ROWS, COLUMNS)
FLATFIELD = np.linspace(0.5, 1.5, ROWS * COLUMNS, dtype="<f4").reshape(ROWS, COLUMNS)
ABOUT = {
    "nimages": 10,
    "ntrigger": 3,
    "count_time": 0.001,
    "frame_time": 0.0011,
    "photon_energy": 12400.0,
    "wavelength": 0.99987,
    "threshold_energy": 6200.0,
    "detector_distance": 0.25,
    "detector_number": "E-08-0102",
    "flatfield_correction_applied": 1,
    "data_collection_date": "2023-11-14T22:13:20.123",
}


def described(htype: str, array: Any, **more: Any) -> bytes:
    said = {"htype": htype, "shape": [array.shape[1], array.shape[0]], "type": array.dtype.name, **more}
    return json.dumps(said).encode()


def frames(about: dict[str, Any] = ABOUT) -> list[bytes]:
    """Return the frames of header_detail "all" with an appendix."""
    table = np.zeros((7, 2), "<f4")
    return [
        json.dumps({"htype": "dheader-1.0", "series": 4, "header_detail": "all"}).encode(),
        json.dumps(about).encode(),
        described("dflatfield-1.0", FLATFIELD),
        FLATFIELD.tobytes(),
        described("dpixelmask-1.0", MASK),
        MASK.tobytes(),
        described("dcountrate_table-1.0", table),
        table.tobytes(),
        b"sample 7",
    ]


def test_a_start_has_the_words_of_stream_2() -> None:
    start = read_start(frames())
    assert (start.series_id, start.images, start.channels) == (4, 30, (CHANNEL,))
    assert start.number("incident_energy") == 12400.0
    assert start.number("incident_wavelength") == 0.99987
    assert (start.number("count_time"), start.number("frame_time")) == (0.001, 0.0011)
    assert start.text("detector_serial_number") == "E-08-0102"
    assert start.fields["detector_translation"] == [0.0, 0.0, 0.25]
    assert start.fields["flatfield_enabled"] is True
    assert start.fields["arm_date"] == "2023-11-14T22:13:20.123"
    assert start.fields["appendix"] == "sample 7"
    assert start.of_channel("threshold_energy", CHANNEL) == 6200.0
    np.testing.assert_array_equal(start.mask(CHANNEL), MASK)
    np.testing.assert_array_equal(start.flatfield(CHANNEL), FLATFIELD)


def test_less_detail_is_a_start_too() -> None:
    none = read_start(frames()[:1])
    assert (none.series_id, none.images, none.mask(CHANNEL)) == (4, None, None)
    basic = read_start(frames()[:2])
    assert basic.number("count_time") == 0.001
    assert basic.mask(CHANNEL) is None


@pytest.mark.parametrize(
    ("place", "frame", "why"),
    [
        (0, b"", "no JSON"),
        (0, b"[]", "no object"),
        (0, b'{"htype":"dimage-1.0","series":4}', "no start"),
        (0, b'{"htype":"dheader-1.0","series":-4}', "no start"),
        (0, b'{"htype":"dheader-1.0","series":true}', "no start"),
        (1, b"[" * 100_000, "no JSON"),
        (1, b"{" + b" " * (1 << 20), "a description of"),
        (2, described("dflatfield-1.0", FLATFIELD, type="float64"), "no array of float32"),
        (2, described("dflatfield-1.0", FLATFIELD, shape=[1 << 20, 1 << 20]), "no two counts"),
        (2, described("dflatfield-1.0", FLATFIELD, shape=[5, 0]), "no two counts"),
        (2, described("dflatfield-1.0", FLATFIELD, shape=[5, 3, 1]), "two sides"),
        (2, described("dflatfield-1.0", FLATFIELD, shape=[5, 4]), "60 bytes for 5 × 4"),
        (5, MASK.tobytes()[1:], "59 bytes for 5 × 3"),
    ],
)
def test_damaged_starts_are_refused_with_the_reason(place: int, frame: bytes, why: str) -> None:
    damaged = frames()
    damaged[place] = frame
    with pytest.raises(StreamError, match=why):
        read_start(damaged)


def test_a_description_is_bounded_by_its_values_only() -> None:
    odd = {
        **ABOUT,
        "nimages": 1 << 40,
        "detector_translation": [1.0, 2.0, 3.0],
        "wavelength": "long",
        "count_time": None,
    }
    start = read_start(frames(odd))
    assert start.images is None
    assert start.fields["detector_translation"] == [1.0, 2.0, 3.0]
    assert not start.has_number("incident_wavelength")
    assert not start.has_number("count_time")
