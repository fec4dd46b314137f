# SPDX-License-Identifier: Apache-2.0
"""A unit is refused for parameter values of a kernel that it does not support."""

import pytest

from rashpa.data.kernels.kernel_units import beyond, unfit


@pytest.mark.parametrize(
    ("unit", "kernel", "parameters", "wanted"),
    [
        ("fpga", "jungfrau", {"output": "kev"}, [("output", ("cpu", "cuda", "opencl"))]),
        ("fpga", "jungfrau", {"output": "photons", "borders": "raw"}, []),
        ("fpga", "jungfrau", {"borders": "split", "track": "darks"}, [("borders", ("cpu", "cuda", "opencl")), ("track", ("cpu", "cuda", "opencl"))]),
        ("cuda", "jungfrau", {"output": "kev"}, []),
        ("fpga", "csr", {"output": "kev"}, []),
    ],
)  # fmt: skip
def test_values_beyond_a_version_are_named_with_the_units_that_do(
    unit: str, kernel: str, parameters: dict[str, str], wanted: list[object]
) -> None:
    assert list(beyond(unit, kernel, parameters)) == wanted


@pytest.mark.parametrize(
    ("unit", "kernels", "fits"),
    [
        ("fpga", ["jungfrau"], True),
        ("fpga", ["jungfrau", "bragg_count", "csr"], True),
        ("fpga", ["jungfrau", "csr", "bragg_count"], False),
        ("fpga", ["csr"], False),
        ("fpga", [], False),
        ("cpu", ["csr", "jungfrau"], True),
    ],
)
def test_a_card_carries_out_its_own_pipelines_alone(unit: str, kernels: list[str], fits: bool) -> None:
    assert (unfit(unit, kernels) == "") is fits
