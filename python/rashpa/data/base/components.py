# SPDX-License-Identifier: Apache-2.0
"""Parts of the program that a build may leave out. The list is that of cmake/components.cmake. `python -m rashpa.data.base.components` says in one line what
this build leaves out."""

from dataclasses import dataclass

from rashpa import _native


@dataclass(frozen=True)
class Component:
    """Describes one component: whether this build has it, its additions to run files, and the needs of a machine that builds it."""

    name: str
    built: bool
    adds: str
    needs: str


def components() -> tuple[Component, ...]:
    """Return all parts, in the list's order."""
    return tuple(Component(*row) for row in _native.components())


def sentence() -> str:
    """Return in one line the parts that this build leaves out, and how to get them."""
    missing = [f"{one.name} ({one.adds})" for one in components() if not one.built]
    if not missing:
        return "This build has all components."
    return f"This build leaves out {', '.join(missing)}; `make build` has all that this machine can build."


if __name__ == "__main__":
    print(sentence())  # noqa: T201  the Makefile shows it
