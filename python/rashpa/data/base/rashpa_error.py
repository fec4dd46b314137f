# SPDX-License-Identifier: Apache-2.0
"""The root of all exceptions that this package raises on purpose, and names that some of them had."""

import warnings
from collections.abc import Callable


class RashpaError(Exception):
    """Reports an impossible task; the text says what, why and what to try. Each kind is also one of Python's own, as ValueError or RuntimeError."""


def old_names(module: str, **kinds: type[RashpaError]) -> Callable[[str], type[RashpaError]]:
    """Return the `__getattr__` of a module whose exceptions have other names now: old ones go on, with a warning."""

    def found(name: str) -> type[RashpaError]:
        if name not in kinds:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        warnings.warn(f"{name} is {kinds[name].__name__} now; use that name", DeprecationWarning, stacklevel=2)
        return kinds[name]

    return found
