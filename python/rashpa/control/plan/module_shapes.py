# SPDX-License-Identifier: Apache-2.0
"""Which modules a buffer may have whose images a kernel assembles: chips are squares, so that borders between them lie alike whichever way a module is,
but all modules must be as wide and high as one another."""

from collections.abc import Iterable, Iterator

from rashpa.control.runfile.kernels import Kernel, parameters_of
from rashpa.data.geometry.orientation import Orientation


def shape_troubles(
    kernels: Iterable[Kernel], orientations: Iterable[Orientation], width: int, height: int
) -> Iterator[tuple[int, str]]:
    """The kernels that cannot assemble such modules, by number, and why. `width`, `height`: of a module as it is read."""
    if len({orientation.sides(width, height) for orientation in orientations}) < 2:
        return
    for number, kernel in enumerate(kernels):
        if parameters_of(kernel).get("borders", "raw") != "raw":
            yield (
                number,
                "images are assembled of modules that are all upright, or all turned by 90° or 270°; "
                'give these and those a buffer each, or set borders = "raw"',
            )
