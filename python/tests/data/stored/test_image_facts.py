# SPDX-License-Identifier: Apache-2.0
"""The facts of a master state which values of its images are no counts, and where lines were lost."""

from typing import Any

import numpy as np
import pytest

from rashpa.data.base.pixels import Masking
from rashpa.data.stored.image_facts import ImageFacts
from rashpa.data.stored.run_facts import LostRun

MASK = np.zeros((4, 6), np.uint32)
MASK[0, 5] = 1  # a gap
MASK[3, 0] = 1 << 16  # another kind: it is measured


def facts(detector: dict[str, Any] | None = None, **rashpa: Any) -> ImageFacts:
    entry: Any = {"rashpa": rashpa, "instrument/detector": {"pixel_mask": MASK} | (detector or {})}
    return ImageFacts(entry)


def dtps(**more: Any) -> dict[str, Any]:
    columns = {"id": [7, 9], "x": [0, 3], "y": [0, 1], "width": [3, 3]}
    return {name: np.array(values) for name, values in (columns | more).items()}


def test_the_masking_is_the_one_that_the_file_states() -> None:
    assert facts().masked(np.dtype("uint16")) == Masking("maximum")
    assert facts().masked(np.dtype("int32")) == Masking("negative")
    assert facts({"underload_value": np.array(-2)}).masked(np.dtype("int32")) == Masking("minimum")
    assert facts({"underload_value": np.array(0)}).masked(np.dtype("int32")) == Masking("negative")
    assert facts().masked(np.dtype("float32")) == Masking("not_a_number")


def test_counts_end_below_the_least_special_value() -> None:
    special = {"value": np.array([65533, -1, 65535]), "meaning": np.array([b"dead", b"gap", b"saturated"])}
    found = facts(special_values=special)
    assert found.special_values == {65533: "dead", -1: "gap", 65535: "saturated"}
    assert found.masked(np.dtype("uint16")) == Masking("maximum", 65532)


def test_lost_lines_lie_in_the_region_of_their_dtp() -> None:
    lost = facts(dtps=dtps()).lost([LostRun(9, 1, 2), LostRun(7, 0, 1)])
    assert np.argwhere(lost).tolist() == [[0, 0], [0, 1], [0, 2], [2, 3], [2, 4], [2, 5], [3, 3], [3, 4], [3, 5]]
    assert not facts().lost([LostRun(9, 1, 2)]).any()


def test_lines_that_do_not_follow_one_another_have_rows_of_their_own() -> None:
    rows = {"line_rows": np.array([[0, 1, 2], [0, 3, 4]])}
    assert np.argwhere(facts(dtps=dtps(**rows)).lost([LostRun(9, 1, 1)])).tolist() == [[3, 3], [3, 4], [3, 5]]


@pytest.mark.parametrize(("dtype", "masked"), [("uint16", 65535), ("int16", -32768), ("float32", None)])
def test_listed_pixels_become_an_image_with_masked_gaps_and_losses(dtype: str, masked: int | None) -> None:
    found = facts(dtps=dtps()).expanded(np.array([1, 8], np.uint32), np.array([5, 6], dtype), [LostRun(9, 2, 1)])
    value = np.nan if masked is None else masked
    wanted = np.zeros((4, 6))
    wanted[0, 1], wanted[1, 2], wanted[0, 5], wanted[3, 3:] = 5, 6, value, value
    np.testing.assert_array_equal(np.asarray(found), wanted)
    assert found.dtype == dtype
