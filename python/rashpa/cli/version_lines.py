# SPDX-License-Identifier: Apache-2.0
"""Makes the lines that `rashpa --version --long` prints after the version."""

import platform


def lines() -> list[str]:
    """Return one line for Python and one for each component: built, or left out, with the way to get it. Without the native module, one line replaces
    those of its components."""
    said = [f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"]
    try:
        from rashpa.data.base.components import components
    except ImportError:
        return [*said, "the compiled part of rashpa is missing; build it with `make`"]
    said += [f"{one.name}: {'built' if one.built else 'left out'} ({one.adds})" for one in components()]
    if not all(one.built for one in components()):
        said.append("`make build` has all that this machine can build")
    return said
