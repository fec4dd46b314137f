# SPDX-License-Identifier: Apache-2.0
"""The run of the kernels' pages, a geometry and a mask."""

from pathlib import Path

import fabio
import given_run
import numpy as np

given_run.stored(given_run.tables(given_run.KERNELS))
Path("geometry.poni").write_text(given_run.poni(1024, 512))
fabio.edfimage.EdfImage(data=np.zeros((512, 1024), np.uint8)).write("mask.edf")
RUN = {"run": {"frames": 10000}, "buffer": [{"name": "full", "stack": 10, "slots": 40, "sink": [{"kind": "null"}]}]}
