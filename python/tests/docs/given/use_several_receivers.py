# SPDX-License-Identifier: Apache-2.0
"""A detector that has room for the page's regions."""

RUN = {
    "detector": {"module": [{"x": 0, "y": 512 * number} for number in range(4)]},
}
