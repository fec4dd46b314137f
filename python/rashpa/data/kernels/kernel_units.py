# SPDX-License-Identifier: Apache-2.0
"""Lists the parameter values of kernels that only some units support, and the pipelines that a unit in hardware supports."""

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
    """Yield the parameters with values that the unit does not support, each with the units that do."""
    for (name, parameter), (plain, units) in _SOME_UNITS.items():
        if name == kernel and unit not in units and parameters.get(parameter, plain) != plain:
            yield parameter, units


def unfit(unit: str, kernels: Iterable[str]) -> str:
    """Return the reason why the unit, although it has versions of these kernels, cannot run them in this sequence. The text follows the unit's name;
    it is empty when the unit can."""
    if unit != "fpga" or tuple(kernels) in _ON_A_CARD:
        return ""
    return "runs jungfrau, alone or with bragg_count, csr or both behind it"
