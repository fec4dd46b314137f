# SPDX-License-Identifier: Apache-2.0
"""The run of the kernels' pages."""

import given_run

given_run.stored(given_run.tables(given_run.KERNELS))
