# SPDX-License-Identifier: Apache-2.0
"""A line of packed pixels, and four modules of the page's size."""

import numpy as np

n = 12
packed_line = np.arange(48, dtype=np.uint8)
RUN = {
    "detector": {"width": 2304, "height": 1536, "module": [{"x": 0, "y": 1536 * number} for number in range(4)]},
}
