# SPDX-License-Identifier: Apache-2.0
"""A run that was stored raw."""

import given_run

given_run.stored(given_run.tables([], sink={"kind": "raw"}))
