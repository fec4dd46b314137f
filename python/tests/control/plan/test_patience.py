# SPDX-License-Identifier: Apache-2.0
"""A healthy run is silent for as long as its rates and deadlines explain, and no longer."""

from types import SimpleNamespace
from typing import Any

import pytest

from rashpa.control.plan.patience import patience_s


def buffer(every: int, stack: int, deadline_ms: int) -> Any:
    return SimpleNamespace(section=SimpleNamespace(every=every, stack=stack, deadline_ms=deadline_ms))


@pytest.mark.parametrize(
    ("rate_hz", "stall_us", "buffers", "wanted"),
    [
        (1000.0, 0, [buffer(1, 4, 500)], 8.0 + 2 * 0.004 + 0.5),
        (10.0, 3_000_000, [buffer(1, 4, 500), buffer(10, 2, 100)], 8.0 + 2 * 2.0 + 0.5 + 3.0),
        (0.0, 0, [buffer(7, 7, 2000)], 8.0 + 2.0),
    ],
)
def test_patience_is_that_of_the_slowest_buffer(
    rate_hz: float, stall_us: int, buffers: list[Any], wanted: float
) -> None:
    file: Any = SimpleNamespace(detector=SimpleNamespace(rate_hz=rate_hz), faults=SimpleNamespace(stall_us=stall_us))
    assert patience_s(file, buffers) == pytest.approx(wanted)
