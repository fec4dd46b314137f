# SPDX-License-Identifier: Apache-2.0
"""What of a kernel only some units do, whatever versions it has."""

from collections.abc import Iterator, Mapping
from typing import Any

# Kernel and parameter: the value that every version does, and the units that do the others.
_SOME_UNITS = {
    ("jungfrau", "borders"): ("raw", ("cpu", "opencl")),
    ("jungfrau", "track"): ("off", ("cpu", "opencl")),
}


def beyond(unit: str, kernel: str, parameters: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The parameters whose values the unit's version does not do, each with the units that do."""
    for (name, parameter), (plain, units) in _SOME_UNITS.items():
        if name == kernel and unit not in units and parameters.get(parameter, plain) != plain:
            yield parameter, units
