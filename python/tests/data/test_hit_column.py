# SPDX-License-Identifier: Apache-2.0
"""The number that measures an image's brightness: the pipeline's last count, and never a number that only describes the method."""

import pytest

from rashpa.control.runfile.kernels import declarations
from rashpa.data.stored.run_facts import OF_METHOD, hit_column_of


@pytest.mark.parametrize(
    ("columns", "hit"),
    [
        ([], None),
        (["empty_rings"], None),
        (["peaks", "peak_intensity", "empty_rings"], "peak_intensity"),
        (["bright", "peaks", "empty_rings", "total"], "total"),
    ],
)
def test_the_last_count_is_shown(columns: list[str], hit: str | None) -> None:
    assert hit_column_of(columns) == hit


def test_each_name_of_a_method_is_a_column_of_a_kernel() -> None:
    told = {column.name for kernel in declarations().values() for port in kernel.makes for column in port.columns}
    assert told >= OF_METHOD
