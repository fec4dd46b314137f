#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the assertions of the tests, so that a change that makes tests faster can show that none was lost.

Usage: count_assertions.py [REVISION]. Prints the counts of Python (assert, pytest.raises, pytest.warns, numpy.testing, eventually, good_run) and of C++
(EXPECT_…, ASSERT_…) in the working tree, and beside them those in the git REVISION, if given.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CPP = re.compile(r"\b(?:EXPECT|ASSERT)_[A-Z_]+\(|\b(?:FAIL|ADD_FAILURE)\(\)")
_CALLS = ("pytest.raises", "pytest.warns", "eventually", "eventually_in_loop", "good_run")


def of_python(text: str) -> int:
    """Return the number of assertions in a Python file."""
    count = 0
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Assert):
            count += 1
        elif isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            count += name in _CALLS or name.endswith(".good_run") or ".testing.assert_" in name
    return count


def of_cpp(text: str) -> int:
    """Return the number of assertions in a C++ file."""
    return len(CPP.findall(text))


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout  # noqa: S603, S607


def counts(revision: str | None) -> dict[str, int]:
    """Return the counts by language, in `revision` or in the working tree."""
    listing = (
        _git("ls-tree", "-r", "--name-only", revision) if revision else _git("ls-files", "-co", "--exclude-standard")
    )
    found = {"Python": 0, "C++": 0}
    for name in listing.splitlines():
        python = name.endswith(".py") and name.startswith(("python/tests/", "tests/"))
        cpp = name.endswith((".cpp", ".hpp", ".cu", ".cuh")) and name.startswith(("src/", "sim/", "tests/"))
        if not (python or cpp) or not (revision or (ROOT / name).is_file()):
            continue
        text = _git("show", f"{revision}:{name}") if revision else (ROOT / name).read_text(encoding="utf-8")
        found["Python" if python else "C++"] += of_python(text) if python else of_cpp(text)
    return found


def main() -> int:
    """Print the counts; return the exit status, 1 when there are fewer than in the revision."""
    now = counts(None)
    before = counts(sys.argv[1]) if len(sys.argv) > 1 else None
    for language, count in now.items():
        print(f"{language}: {count} assertions" + (f", {before[language]} in {sys.argv[1]}" if before else ""))
    return 1 if before and any(now[language] < before[language] for language in now) else 0


if __name__ == "__main__":
    sys.exit(main())
