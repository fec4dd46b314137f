# SPDX-License-Identifier: Apache-2.0
"""A run that was stored raw, and a calibration."""

from datetime import UTC, datetime
from pathlib import Path

import given_run
import numpy as np

from rashpa.data.datasets.calibration_file import ModuleMaps, write_calibration

given_run.stored(given_run.tables([], sink={"kind": "raw"}))
MAPS = np.ones((3, given_run.HEIGHT, given_run.WIDTH), np.float32)
write_calibration(
    Path("jf.h5"), {0: ModuleMaps(MAPS, MAPS, np.zeros(MAPS.shape[1:], np.uint32), MAPS)}, "JF", datetime.now(UTC)
)
RUN = {"detector": {"width": given_run.WIDTH, "height": given_run.HEIGHT}}
