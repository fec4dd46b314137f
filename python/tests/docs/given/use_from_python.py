# SPDX-License-Identifier: Apache-2.0
"""Raw frames with their calibration, and a run that was stored."""

from types import SimpleNamespace

import given_run
import numpy as np

import rashpa

raw = np.random.default_rng(1).normal(2000, 10, (20, 512, 1024)).astype(np.uint16)
calibration = SimpleNamespace(
    pedestal=np.full((3, 512, 1024), 2000, np.float32),
    gain=np.array([40, -1.5, -0.1], np.float32)[:, None, None] * np.ones((3, 512, 1024), np.float32),
    mask=np.zeros((512, 1024), np.uint32),
)
rashpa.run(given_run.tables([], run={"name": "first_light", "output": "out/demo"}))
