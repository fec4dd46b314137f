# SPDX-License-Identifier: Apache-2.0
"""Finds the package's files that are no modules: inside the installed package, or at the root of a source tree."""

from functools import cache
from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).resolve().parents[2]
"""The folder of `rashpa`."""
SOURCE_ROOT: Final = PACKAGE.parents[1]
"""The root of the source tree that this runs from; of an installed package any folder."""


@cache
def packaged_file(folder: str, name: str) -> Path:
    """Return the path of `folder`/`name`. Raise FileNotFoundError when this installation lacks it."""
    places = (PACKAGE / folder, SOURCE_ROOT / folder)
    for place in places:
        if (place / name).is_file():
            return place / name
    raise FileNotFoundError(f"{folder} {name} is neither in {places[0]} nor in {places[1]}; reinstall rashpa")
