# SPDX-License-Identifier: Apache-2.0
"""A run that stores lists."""

import given_run

import rashpa

given_run.stored(given_run.tables([{"name": "csr", "threshold": 1, "capacity": 1.0}]))
