# SPDX-License-Identifier: Apache-2.0
"""Checks the shapes of modules in an image that a kernel assembles. Chips are squares, so that the borders between them are alike in any orientation
of a module. But all modules must have the same width and height."""

from collections.abc import Iterable, Iterator

from rashpa.control.runfile.kernels import Kernel, parameters_of
from rashpa.data.geometry.orientation import Orientation


def shape_troubles(
    kernels: Iterable[Kernel], orientations: Iterable[Orientation], width: int, height: int
) -> Iterator[tuple[int, str]]:
    """Yield the kernels that cannot assemble these modules, by number, with the reason. `width`, `height`: size of a module in readout orientation."""
    if len({orientation.sides(width, height) for orientation in orientations}) < 2:
        return
    for number, kernel in enumerate(kernels):
        if parameters_of(kernel).get("borders", "raw") != "raw":
            yield (
                number,
                "images are assembled of modules that are all upright, or all turned by 90° or 270°; "
                'give these and those a buffer each, or set borders = "raw"',
            )
