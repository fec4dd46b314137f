# SPDX-License-Identifier: Apache-2.0
"""Special values of a detector fit its pixels, and end its counts."""

from types import SimpleNamespace
from typing import Any

import pytest

from rashpa.control.runfile.special_values import largest_count, problems_of


def detector(pixel: str, *values: int, masked: str = "delivered") -> Any:
    return SimpleNamespace(pixel=pixel, masked=masked, special=[SimpleNamespace(value=value) for value in values])


def test_counts_end_below_the_least_positive_special_value() -> None:
    assert largest_count(detector("uint32", 4294967295, 4294967294)) == 4294967293
    assert largest_count(detector("int32", -1, -2)) is None
    assert largest_count(detector("uint16")) is None


@pytest.mark.parametrize(
    ("pixel", "values"), [("uint8", (255, 1)), ("int16", (-32768, 32767)), ("uint32", (2**32 - 1,)), ("float32", ())]
)
def test_values_that_pixels_hold_are_right(pixel: str, values: tuple[int, ...]) -> None:
    assert list(problems_of(detector(pixel, *values))) == []


@pytest.mark.parametrize(
    ("given", "path", "says"),
    [
        (detector("uint8", 256), ("detector", "special", 0, "value"), "256 is nothing that uint8 pixels hold, 0 to 255;"),
        (detector("int16", 5, -32769), ("detector", "special", 1, "value"), "-32769 is nothing that int16 pixels hold"),
        (detector("uint16", 0), ("detector", "special", 0, "value"), "0; a pixel without photons counts 0"),
        (detector("uint16", 7, 7), ("detector", "special", 1, "value"), "7 is there twice; leave one out"),
        (detector("float32", 7, 8), ("detector", "special", 0, "value"), "float32 pixels that hold no measurement are NaN"),
        (detector("uint16", masked="minimum"), ("detector", "masked"), "minimum, and uint16 pixels have no sign"),
        (detector("int16", 7, masked="minimum"), ("detector", "masked"), "minimum, and detector.special names values"),
    ],
)  # fmt: skip
def test_each_fault_is_told_once_at_its_key(given: Any, path: tuple[str | int, ...], says: str) -> None:
    ((where, text),) = problems_of(given)
    assert where == path
    assert text.startswith(says)
