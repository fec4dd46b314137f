#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that tests wait for conditions with a deadline, by `EXPECT_EVENTUALLY` (rashpa/core/testing/testing.hpp) or `eventually()`
(rashpa.testing.waiting). They must neither sleep nor loop around a yield: waiting for a fixed time fails on a loaded machine, and a loop without a
deadline can only fail by hanging.

Usage: check_waits.py [ROOT]. Prints one line for each place; exit 1 when there is one. Where time itself is tested, a comment on the same line allows
it: `// wait: <reason>`, `# wait: <reason>`.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from git_files import git_files

# The helpers, and the test of this check.
EXEMPT = {"src/rashpa/core/testing/testing.hpp", "python/rashpa/testing/waiting.py", "python/tests/test_waits.py"}
CPP = re.compile(r"\b(?:yield\(\)|sleep_for\(|sleep_until\(|usleep\(|nanosleep\(|sched_yield\()")
PYTHON = re.compile(r"\bsleep\(")
REASON = re.compile(r"(?://|#) wait: \S")
CPP_TESTS = re.compile(
    r"(_test\.(cpp|cu)|testing\.hpp|_contract\.hpp)$|^(src|sim)/.*/(contract|testing)/|^tests/(?!simulation/)"
)  # its clock is virtual: waiting for a time costs none


def pattern_of(name: str) -> re.Pattern[str] | None:
    """Return the pattern that must not occur in the file of this name, None when it is no test."""
    if name in EXEMPT:
        return None
    if name.endswith((".cpp", ".hpp", ".cu", ".cuh")):
        return CPP if CPP_TESTS.search(name) else None
    if name.endswith(".py") and name.startswith(("python/tests/", "tests/", "python/rashpa/testing/")):
        return PYTHON
    return None


def places(name: str, text: str) -> Iterator[int]:
    """Yield the numbers of the lines of the file `name` that wait for a fixed time."""
    pattern = pattern_of(name)
    if pattern is None:
        return
    for number, line in enumerate(text.splitlines(), 1):
        if pattern.search(line) and not REASON.search(line):
            yield number


def main() -> int:
    """Return the exit status, 0 when no test waits for a fixed time."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    found = 0
    for name in git_files(root):
        if pattern_of(name) is None:
            continue
        for number in places(name, (root / name).read_text(encoding="utf-8")):
            print(
                f"{name}:{number}: a test waits for a condition (EXPECT_EVENTUALLY, eventually()), or says `wait: why`"
            )
            found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
