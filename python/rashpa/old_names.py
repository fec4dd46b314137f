# SPDX-License-Identifier: Apache-2.0
"""Keeps former module names (docs/decisions/0146): programs that import them still work, and a warning names the new module."""

import importlib
import sys
import warnings
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

_PACKAGES = frozenset({"cli", "control", "data", "node"})
# Below `rashpa`: the name that a module had in its room, and the name that it has.
_RENAMED = {
    "cli.told": "cli.teller",
    "control.handover.holder": "control.handover.run_owner",
    "control.nodes.at_once": "control.nodes.gather_limited",
    "control.nodes.meanwhile": "control.nodes.poll_while",
    "control.run.carry_out": "control.run.run_to_end",
    "data.figures.seen": "data.figures.image_view",
}
# The same of a module that had no room yet.
_RENAMED_FLAT = {f"{old.split('.')[0]}.{old.split('.')[-1]}": new for old, new in _RENAMED.items()}


class _Alias(Loader):
    """Loads the module that has the new name."""

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
    """Finds `rashpa.data.NAME` in its present folder, and renamed modules. Python asks it last, so that it costs nothing for present names."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, _target: object = None) -> ModuleSpec | None:
        root, _, below = fullname.partition(".")
        if root != "rashpa" or not path:
            return None
        new = _RENAMED.get(below) or _RENAMED_FLAT.get(below) or _in_a_room(below, Path(path[0]))
        return ModuleSpec(fullname, _Alias(f"rashpa.{new}")) if new else None


def _in_a_room(below: str, folder: Path) -> str | None:
    package, _, name = below.partition(".")
    if package not in _PACKAGES or not name.isidentifier():
        return None
    rooms = sorted(found.parent.name for found in folder.glob(f"*/{name}.py"))
    return f"{package}.{rooms[0]}.{name}" if rooms else None


def know() -> None:
    """Install the finder of former names, once."""
    if not any(isinstance(finder, _OldNames) for finder in sys.meta_path):
        sys.meta_path.append(_OldNames())
