# SPDX-License-Identifier: Apache-2.0
"""The parts of a kernel that only some units do, besides their versions, and the pipelines of a unit in hardware."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

# Kernel and parameter: the value that every version does, and the units that do the others.
_SOME_UNITS = {
    ("jungfrau", "borders"): ("raw", ("cpu", "cuda", "opencl")),
    ("jungfrau", "track"): ("off", ("cpu", "cuda", "opencl")),
    ("jungfrau", "output"): ("photons", ("cpu", "cuda", "opencl")),
}
# Whole pipelines of the unit in hardware, whose steps are one pass.
_ON_A_CARD = (("jungfrau",), ("jungfrau", "bragg_count"), ("jungfrau", "csr"), ("jungfrau", "bragg_count", "csr"))


def beyond(unit: str, kernel: str, parameters: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the parameters with values that the unit's version does not do, each with the units that do."""
    for (name, parameter), (plain, units) in _SOME_UNITS.items():
        if name == kernel and unit not in units and parameters.get(parameter, plain) != plain:
            yield parameter, units


def unfit(unit: str, kernels: Iterable[str]) -> str:
    """Return why the unit cannot carry out these kernels one behind the other, although it has versions of them, in words that follow its name; empty: it can."""
    if unit != "fpga" or tuple(kernels) in _ON_A_CARD:
        return ""
    return "runs jungfrau, alone or with bragg_count, csr or both behind it"
