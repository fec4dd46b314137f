# SPDX-License-Identifier: Apache-2.0
"""Frames of two modules, and a geometry."""

from pathlib import Path

import given_run
import numpy as np

for name in ("m0_0", "m0_1", "m1_0", "m1_1"):
    np.random.default_rng(1).poisson(3, (2, 512, 1028)).astype(np.uint16).tofile(f"{name}.bin")
Path("eiger.geom").write_text(given_run.GEOMETRY.replace("1023", "1027"))
RUN = {"detector": {"width": 1028, "height": 512}}
