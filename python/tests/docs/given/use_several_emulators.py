# SPDX-License-Identifier: Apache-2.0
"""Four modules."""

RUN = {
    "detector": {"module": [{"x": 0, "y": 512 * number} for number in range(4)]},
}
