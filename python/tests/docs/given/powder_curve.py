# SPDX-License-Identifier: Apache-2.0
"""Frames and their geometry."""

from pathlib import Path

import given_run
import numpy as np

Path("geometry.poni").write_text(given_run.poni(1024, 512))
np.save("frames.npy", np.random.default_rng(1).poisson(3, (8, 512, 1024)).astype(np.uint16))
