# SPDX-License-Identifier: Apache-2.0
"""Where the schema files lie: inside the installed package, or at the root of a source tree."""

from functools import cache
from pathlib import Path


@cache
def schema_path(name: str) -> Path:
    """The path of schema/`name`. FileNotFoundError when this installation lacks it."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "schema", package.parents[1] / "schema"):
        if (folder / name).is_file():
            return folder / name
    raise FileNotFoundError(
        f"schema {name} is neither in {package / 'schema'} nor in {package.parents[1] / 'schema'}; reinstall rashpa"
    )
