# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from rashpa.control.runfile.engine_keys import BufferKeys
from rashpa.control.telegrams.telegram import Buffer, DestinationDtp
from rashpa.node.engine.calibration import GAP, Maps, gaps_of_buffer, maps_of_buffer
from rashpa.node.engine.engine import EngineError


def _buffer(*dtps: DestinationDtp) -> Buffer:
    return Buffer(
        name="b",
        width=6,
        height=5,
        pixel="uint16",
        keys=BufferKeys(slots=4, stack=2),
        images=9,
        device="0",
        dtps=dtps,
    )


def _module(number: int) -> Maps:
    values = number * 100 + np.arange(12, dtype=np.float32).reshape(3, 4)
    three = np.stack([values, values + 1000, values + 2000]).astype(np.float32)
    return Maps(three, -three, np.full((3, 4), number << 4, np.uint32))


def test_each_dtp_brings_its_part_of_the_maps_to_its_place() -> None:
    buffer = _buffer(
        DestinationDtp(id=0, module=0, x=0, y=0, width=4, height=1, source_x=0, source_y=2),
        DestinationDtp(id=1, module=1, x=4, y=3, width=2, height=2, source_x=1, source_y=0),
    )
    maps = maps_of_buffer(buffer, [_module(0), _module(1)])
    assert maps.pedestal[0, 0].tolist() == [8, 9, 10, 11, 0, 0]
    assert maps.pedestal[2, 3:, 4:].tolist() == [[2101, 2102], [2105, 2106]]
    assert maps.gain[1, 4, 5] == -1106
    assert maps.mask[0].tolist() == [0, 0, 0, 0, GAP, GAP]
    assert maps.mask[3:, 4:].tolist() == [[16, 16], [16, 16]]
    assert (maps.mask == GAP).sum() == 30 - 4 - 4


def test_without_calibration_only_gaps_are_masked() -> None:
    mask = gaps_of_buffer(_buffer(DestinationDtp(id=0, module=0, x=1, y=1, width=4, height=2, source_x=0, source_y=0)))
    assert mask.sum() == 30 - 8
    assert mask[1:3, 1:5].sum() == 0


def test_a_module_without_calibration_is_named() -> None:
    with pytest.raises(EngineError, match="takes module 1, but the dataset has calibration for 1 modules"):
        maps_of_buffer(
            _buffer(DestinationDtp(id=0, module=1, x=0, y=0, width=4, height=1, source_x=0, source_y=0)), [_module(0)]
        )


def test_calibration_smaller_than_the_module_is_refused() -> None:
    with pytest.raises(EngineError, match="calibration of module 0 is 4 × 3 pixels"):
        maps_of_buffer(
            _buffer(DestinationDtp(id=0, module=0, x=0, y=0, width=4, height=2, source_x=0, source_y=2)), [_module(0)]
        )


def test_the_maps_of_a_turned_module_lie_as_its_pixels_do() -> None:
    buffer = _buffer(
        DestinationDtp(id=0, module=0, x=0, y=0, width=3, height=4, source_x=0, source_y=0, turn=90),
        DestinationDtp(id=1, module=1, x=3, y=0, width=2, height=1, source_x=1, source_y=2, flip=True),
    )
    known = _module(0)
    maps = maps_of_buffer(buffer, [known, _module(1)])
    np.testing.assert_array_equal(maps.pedestal[:, :4, :3], np.rot90(known.pedestal, -1, axes=(1, 2)))
    np.testing.assert_array_equal(maps.mask[:4, :3], np.rot90(known.mask, -1))
    assert maps.gain[0, 0, 3:5].tolist() == [-110, -109]  # the third row from its end
    assert maps.mask[0, 3:5].tolist() == [16, 16]
