# SPDX-License-Identifier: Apache-2.0
"""Finds the programs that are built beside the native module."""

from pathlib import Path

from rashpa.data.base.packaged import SOURCE_ROOT


def native_program(name: str) -> Path | None:
    """Return the path of a program in the build folder of the source tree, None for an installed wheel, which has no build folder."""
    build = SOURCE_ROOT / "build" / "release"
    return next((path for path in sorted(build.glob(f"**/{name}")) if path.is_file()), None)
