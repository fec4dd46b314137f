# SPDX-License-Identifier: Apache-2.0
"""A run that stores lists and the background."""

import given_run

import rashpa

given_run.stored(given_run.tables([{"name": "sparsify", "capacity": 1.0}]))
