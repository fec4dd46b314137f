# SPDX-License-Identifier: Apache-2.0
"""Tests offset images: they have the shape and the type of frames."""

from pathlib import Path

import numpy as np
import pytest

from rashpa.data.datasets.offset_image import read_offset


def test_an_offset_is_read_in_the_byte_order_of_this_machine(tmp_path: Path) -> None:
    image = np.arange(12, dtype=">u2").reshape(3, 4)
    np.save(tmp_path / "dark.npy", image)
    found = read_offset(str(tmp_path / "dark.npy"), "uint16", (3, 4))
    assert found.dtype == np.dtype("uint16")
    assert found.dtype.isnative
    np.testing.assert_array_equal(found, image)


def test_an_offset_of_another_type_or_shape_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "dark.npy", np.zeros((3, 4), np.int16))
    with pytest.raises(ValueError, match=r"dark.npy: holds int16, and the detector's pixels are uint16; store it as"):
        read_offset(str(tmp_path / "dark.npy"), "uint16", (3, 4))
    with pytest.raises(ValueError, match=r"its shape is \[3, 4\]; \[4, 3\] is needed"):
        read_offset(str(tmp_path / "dark.npy"), "int16", (4, 3))
