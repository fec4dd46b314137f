# SPDX-License-Identifier: Apache-2.0
"""The run of the kernels' pages."""

import given_run

import rashpa

given_run.stored(given_run.tables(given_run.KERNELS))
run = rashpa.open("out/run_full_master.h5")
