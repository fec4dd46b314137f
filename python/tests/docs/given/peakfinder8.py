# SPDX-License-Identifier: Apache-2.0
"""A geometry of CrystFEL."""

from pathlib import Path

import given_run

Path("detector.geom").write_text(given_run.GEOMETRY)
