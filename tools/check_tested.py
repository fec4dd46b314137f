#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check that a test imports each Python module by its name, so that a reader of the module finds its tests.

Usage: check_tested.py [--list | --update]. tools/untested_modules.txt names the modules that no test imports; exit 1 when there is another one.
--update removes modules from the list that a test now imports. --list prints the modules without a test, the longest first.
"""

import argparse
import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KNOWN = "tools/untested_modules.txt"
SOURCE = "python/rashpa"
TESTS = ("python/tests", "tests")


def modules(root: Path) -> dict[str, Path]:
    """Return the modules of the package by name, without modules that only re-export names."""
    paths = [path for path in (root / SOURCE).rglob("*.py") if path.name != "__init__.py"]
    return {".".join(path.relative_to(root / "python").with_suffix("").parts): path for path in sorted(paths)}


def imported(root: Path) -> set[str]:
    """Return the names that tests import, and texts that name modules: arguments of `python -m`, of importlib and of monkeypatch."""
    found: set[str] = set()
    for folder in TESTS:
        for path in (root / folder).rglob("*.py"):
            found.update(_names(ast.parse(path.read_text(encoding="utf-8"))))
    return found


def _names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("rashpa."):
            yield node.value.partition(":")[0]


def untested(root: Path) -> list[str]:
    """Return the modules that no test imports by name."""
    return sorted(modules(root).keys() - imported(root))


def main() -> int:
    """Compare the untested modules with the list; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="print the modules without a test, the longest first")
    parser.add_argument("--update", action="store_true", help="take modules with a test out of the list")
    parser.add_argument("--root", type=Path, default=ROOT, help="the tree to check")
    options = parser.parse_args()
    root: Path = options.root
    found, known = untested(root), (root / KNOWN).read_text(encoding="utf-8").split()
    if options.list:
        paths = modules(root)
        lines = {name: len(paths[name].read_text(encoding="utf-8").splitlines()) for name in found}
        for name in sorted(found, key=lambda name: -lines[name]):
            print(f"{lines[name]:5d}  {name}")
    left = [name for name in known if name in found]
    if options.update:
        (root / KNOWN).write_text("".join(f"{name}\n" for name in left), encoding="utf-8")
        known = left
    new, over = sorted(set(found) - set(known)), sorted(set(known) - set(found))
    for name in new:
        print(f"{name}: no test imports it; test it in {SOURCE.replace('rashpa', 'tests')}, at its mirrored path")
    for name in over:
        print(f"{name}: a test imports it, or it is gone; run tools/check_tested.py --update")
    print(f"{len(found)} of {len(modules(root))} modules are imported by no test (at most {len(known)})")
    return int(bool(new))


if __name__ == "__main__":
    sys.exit(main())
