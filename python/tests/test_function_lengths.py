# SPDX-License-Identifier: Apache-2.0
"""A function of the package is read at one look: 60 lines at most behind its declaration and docstring. Ruff bounds its branches and statements."""

import ast
from collections.abc import Iterator
from pathlib import Path

import rashpa

PACKAGE = Path(rashpa.__file__).parent
MOST_LINES = 60
TABLES = {"telegram_samples.py"}  # values and nothing else


def lengths(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) and len(node.body) > 1 else node.body
            yield node.name, (node.end_lineno or 0) - body[0].lineno + 1


def test_no_function_is_long() -> None:
    found = {path: dict(lengths(path)) for path in sorted(PACKAGE.rglob("*.py")) if path.name not in TABLES}
    assert sum(map(len, found.values())) > 3000
    long = [
        f"{path.relative_to(PACKAGE)}: {name}() has {lines} lines; split it by what it does"
        for path, functions in found.items()
        for name, lines in functions.items()
        if lines > MOST_LINES
    ]
    assert long == []
