# SPDX-License-Identifier: Apache-2.0
"""Where the files lie that the package has beside its modules: inside the installed package, or at the root of a source tree."""

from functools import cache
from pathlib import Path


@cache
def packaged_file(folder: str, name: str) -> Path:
    """Return the path of `folder`/`name`. FileNotFoundError when this installation lacks it."""
    package = Path(__file__).resolve().parents[2]
    places = (package / folder, package.parents[1] / folder)
    for place in places:
        if (place / name).is_file():
            return place / name
    raise FileNotFoundError(f"{folder} {name} is neither in {places[0]} nor in {places[1]}; reinstall rashpa")
