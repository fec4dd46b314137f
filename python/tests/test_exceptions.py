# SPDX-License-Identifier: Apache-2.0
"""The package's own exceptions have one root and one name for each kind; former names still work."""

import ast
import importlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import rashpa
from rashpa.data.base.rashpa_error import RashpaError
from rashpa.data.parts.run_parts import StoredRunError

PACKAGE = Path(rashpa.__file__).parent
_OWN = {"RashpaError"}
_ENDS = {"StoppedError"}  # ends a command as an interrupt does: nobody is to catch it by accident


def kinds() -> Iterator[tuple[str, str, list[str]]]:
    """Yield module, name and bases of every exception that other modules may catch."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and node.name.endswith("Error") and not node.name.startswith("_"):
                name = ".".join(("rashpa", *path.relative_to(PACKAGE).with_suffix("").parts))
                yield name, node.name, [ast.unparse(base) for base in node.bases]


@pytest.fixture(scope="module")
def found() -> list[tuple[str, str, list[str]]]:
    """Return all exceptions except those with reasons of their own."""
    return [kind for kind in kinds() if kind[1] not in _OWN | _ENDS]


def test_there_are_kinds_and_each_has_a_name_of_its_own(found: list[tuple[str, str, list[str]]]) -> None:
    assert len(found) > 30
    assert [name for name, count in Counter(name for _, name, _ in found).items() if count > 1] == []


def test_all_have_one_root(found: list[tuple[str, str, list[str]]]) -> None:
    """Check the source text, so that no optional package is needed."""
    bases = {name: its for _, name, its in found}

    def rooted(name: str) -> bool:
        return name == "RashpaError" or any(rooted(base) for base in bases.get(name, []))

    assert [f"{module}.{name}" for module, name, _ in found if not rooted(name)] == []


def test_the_root_is_a_name_of_the_package() -> None:
    assert rashpa.RashpaError is RashpaError
    with pytest.raises(rashpa.RashpaError, match="no such file"):
        rashpa.open("no such file_master.h5")


@pytest.mark.parametrize("module", ["rashpa.data.parts.run_parts", "rashpa.data.stored.reader"])
def test_the_old_name_of_what_a_stored_run_raises_goes_on(module: str) -> None:
    with pytest.warns(DeprecationWarning, match="RunFileError is StoredRunError now"):
        assert importlib.import_module(module).RunFileError is StoredRunError
    with pytest.raises(AttributeError):
        _ = importlib.import_module(module).NoSuchError
