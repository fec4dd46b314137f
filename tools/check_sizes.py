#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that code is small: files of at most 500 lines, Python functions of at most 60 lines, C++ interfaces with at most 8 virtual functions.

A function includes its declaration and docstring. Ruff limits its branches and statements, `check_layers.py` the files of a folder.

Usage: check_sizes.py [ROOT]. Prints one line for each place; exit 1 when there is one.
"""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from git_files import git_files

MOST_LINES, MOST_FUNCTION_LINES, MOST_VIRTUALS = 500, 60, 8
CODE = re.compile(r"\.(py|cpp|hpp|cu|cuh|cl|js|mjs|css|sv|sh)$")
FUNCTIONS = re.compile(r"^(python/rashpa|tools)/.*\.py$")
INTERFACES = re.compile(r"^src/.*\.(hpp|cuh)$")


def functions(text: str) -> Iterator[tuple[str, int]]:
    """Yield the name and the number of lines of each function."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


def virtuals(text: str) -> Counter[str]:
    """Return, for each class, the number of functions that it declares virtual, without its destructor."""
    counts: Counter[str] = Counter()
    current = ""
    for statement in re.split(r"(?<=[;{}])", text):
        for found in re.finditer(r"\b(?:class|struct)\s+(\w+)[^;{]*\{", statement):
            current = found[1]
        if re.search(r"\bvirtual\b", statement) and "~" not in statement:
            counts[current] += 1
    return counts


def complaints(root: Path) -> Iterator[str]:
    """Yield one line for each file, function or interface that is too large."""
    for name in filter(CODE.search, git_files(root)):
        text = (root / name).read_text(encoding="utf-8", errors="replace")
        if (lines := len(text.splitlines())) > MOST_LINES:
            yield f"{name}: has {lines} lines, more than {MOST_LINES}; give a part of it a file"
        for function, lines in functions(text) if FUNCTIONS.match(name) else ():
            if lines > MOST_FUNCTION_LINES:
                yield f"{name}: {function}() has {lines} lines, more than {MOST_FUNCTION_LINES}; split it by sense"
        for interface, count in virtuals(text).items() if INTERFACES.match(name) else ():
            if count > MOST_VIRTUALS:
                yield f"{name}: {interface} has {count} virtual functions, more than {MOST_VIRTUALS}; give an ability a base of its own"


def main() -> int:
    """Return the exit status, 0 when nothing is too large."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    found = list(complaints(root))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
