# SPDX-License-Identifier: Apache-2.0
"""Finds the schemas that are in the package."""

from pathlib import Path

from rashpa.data.base.packaged import packaged_file


def schema_path(name: str) -> Path:
    """Return the path of schema/`name`. Raise FileNotFoundError when this installation lacks it."""
    return packaged_file("schema", name)
