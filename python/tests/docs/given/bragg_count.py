# SPDX-License-Identifier: Apache-2.0
"""Images, and the run of the kernels' pages."""

import given_run
import numpy as np

import rashpa
import rashpa.kernel

given_run.stored(given_run.tables(given_run.KERNELS))
images = np.zeros((3, 64, 128), np.uint16)
run = rashpa.open("out/run_full_master.h5")
RUN = {"dataset": {"kind": "jungfrau", "modules": 1, "frames": 20}}
