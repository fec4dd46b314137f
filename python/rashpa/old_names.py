# SPDX-License-Identifier: Apache-2.0
"""Names that modules had before they lay in rooms (docs/decisions/0146): programs that import them go on, and are told the new name."""

import importlib
import sys
import warnings
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

_PACKAGES = frozenset({"cli", "control", "data", "node"})


class _Alias(Loader):
    """Loads a module by its new name."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:  # noqa: ARG002 (Python gives it)
        module = importlib.import_module(self._name)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec  # Python has put that of the old name there
        warnings.warn(f"this module is {self._name} now; import that name", DeprecationWarning, stacklevel=2)


class _OldNames(MetaPathFinder):
    """Finds `rashpa.data.NAME` in the room that has it. It is asked last, so that it costs nothing where a name is new."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, _target: object = None) -> ModuleSpec | None:
        root, _, rest = fullname.partition(".")
        package, _, name = rest.partition(".")
        if root != "rashpa" or package not in _PACKAGES or not name.isidentifier() or not path:
            return None
        rooms = sorted(found.parent.name for found in Path(path[0]).glob(f"*/{name}.py"))
        return ModuleSpec(fullname, _Alias(f"rashpa.{package}.{rooms[0]}.{name}")) if rooms else None


def know() -> None:
    """Lets Python find modules by their old names, once."""
    if not any(isinstance(finder, _OldNames) for finder in sys.meta_path):
        sys.meta_path.append(_OldNames())
