# SPDX-License-Identifier: Apache-2.0
"""Defines the root of all exceptions that this package raises on purpose, and keeps former names of exceptions."""

import warnings
from collections.abc import Callable


class RashpaError(Exception):
    """Reports a task that cannot be done; the text names the fault, its cause and a remedy. Each subclass also derives from a built-in exception,
    such as ValueError or RuntimeError."""


def old_names(module: str, **kinds: type[RashpaError]) -> Callable[[str], type[RashpaError]]:
    """Return the `__getattr__` of a module that renamed exceptions: the former names work, with a warning."""

    def found(name: str) -> type[RashpaError]:
        if name not in kinds:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        warnings.warn(f"{name} is {kinds[name].__name__} now; use that name", DeprecationWarning, stacklevel=2)
        return kinds[name]

    return found
