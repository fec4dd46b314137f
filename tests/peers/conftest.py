# SPDX-License-Identifier: Apache-2.0
"""Finds the folders of foreign programs, which `make peers` builds. Tests of a missing one are skipped, with the reason."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def sls_programs() -> Path:
    folder = Path(os.environ.get("RASHPA_PEERS", "/nowhere")).resolve() / "slsDetectorPackage" / "bin"
    if not (folder / "slsReceiver").is_file():
        pytest.skip(
            "slsDetectorPackage is not built; put its source into ../peers/slsDetectorPackage and run make peers"
        )
    return folder
