# SPDX-License-Identifier: Apache-2.0
"""Computes how several devices split images: the number of rows of each, as in src/rashpa/unit/split/strips.hpp, and the kernels that support it."""

import math
from itertools import pairwise

from rashpa.control.runfile.kernels import Kernel, declaration, parameters_of
from rashpa.control.runfile.run_file import Buffer

_TOGETHER = 64  # pixels: strips begin at a multiple
_WHOLE = {"borders": "raw", "track": "off"}  # parameters of kernels that work on strips only with these values


def rows_of_strips(width: int, height: int, members: int) -> tuple[int, ...]:
    """Return the rows of each member, from the top."""
    step = _TOGETHER // math.gcd(_TOGETHER, width)
    steps = -(-height // step)
    ends = [steps * member // members * step for member in range(members)] + [height]
    return tuple(end - first for first, end in pairwise(ends))


def strips_of(section: Buffer, width: int, height: int) -> tuple[int, ...]:
    """Return the rows of an image for each device of the buffer; all rows when devices get whole stacks."""
    members = len(section.device_names)
    return rows_of_strips(width, height, members) if section.splits_images else (height,) * members


def needs_whole_images(kernel: Kernel) -> bool:
    """Return True when the kernel with these parameters cannot work on strips."""
    values = parameters_of(kernel)
    return not declaration(kernel.name).strips or any(values.get(key, kept) != kept for key, kept in _WHOLE.items())
