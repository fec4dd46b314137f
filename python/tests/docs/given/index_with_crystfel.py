# SPDX-License-Identifier: Apache-2.0
"""A run with peaks."""

import given_run

values = given_run.tables([{"name": "peakfinder8", "threshold": 20, "min_snr": 5}], run={"name": "thaumatin"})
given_run.stored(values)
