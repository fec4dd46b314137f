# SPDX-License-Identifier: Apache-2.0
"""The modules from which one image can be assembled."""

import pytest
from pydantic import TypeAdapter

from rashpa.control.plan.module_shapes import shape_troubles
from rashpa.control.runfile.kernels import Kernel
from rashpa.data.geometry.orientation import Orientation

_KERNEL: TypeAdapter[Kernel] = TypeAdapter(Kernel)
RAW = _KERNEL.validate_python({"name": "jungfrau"})
SHARED = _KERNEL.validate_python({"name": "jungfrau", "borders": "shared"})
UPRIGHT, OVER, TURNED = Orientation(), Orientation(180, True), Orientation(90)


@pytest.mark.parametrize("width", [1024, 512])
@pytest.mark.parametrize("ways", [[UPRIGHT, OVER], [TURNED, Orientation(270, True)], [TURNED]])
def test_modules_that_are_as_wide_as_one_another_are_assembled(width: int, ways: list[Orientation]) -> None:
    assert list(shape_troubles([SHARED], ways, width, 512)) == []


def test_modules_of_both_shapes_are_not_assembled_unless_their_borders_stay_raw() -> None:
    ((number, why),) = shape_troubles([RAW, SHARED], [UPRIGHT, TURNED], 1024, 512)
    assert number == 1
    assert 'set borders = "raw"' in why
    assert list(shape_troubles([RAW], [UPRIGHT, TURNED], 1024, 512)) == []


def test_square_modules_have_one_shape_whichever_way_they_lie() -> None:
    assert list(shape_troubles([SHARED], [UPRIGHT, TURNED], 512, 512)) == []
