# SPDX-License-Identifier: Apache-2.0
"""Lists the components that a build may leave out, as cmake/components.cmake does. `python -m rashpa.data.base.components` prints in one line the
components that this build lacks."""

from dataclasses import dataclass

from rashpa import _native


@dataclass(frozen=True)
class Component:
    """Describes one component: whether this build has it, its additions to run files, and the requirements of building it."""

    name: str
    built: bool
    adds: str
    needs: str


def components() -> tuple[Component, ...]:
    """Return all components, in the list's order."""
    return tuple(Component(*row) for row in _native.components())


def sentence() -> str:
    """Return one line with the components that this build lacks, and the way to get them."""
    missing = [f"{one.name} ({one.adds})" for one in components() if not one.built]
    if not missing:
        return "This build has all components."
    return f"This build leaves out {', '.join(missing)}; `make build` has all that this machine can build."


if __name__ == "__main__":
    print(sentence())  # noqa: T201  the Makefile shows it
