#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every source file names its licence in its first lines; `--fix` adds a missing line.

Usage: check_spdx.py [--fix]. Prints one line for each file without a licence; exit 1 when there is one.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from git_files import git_files

LINE = "SPDX-License-Identifier: Apache-2.0"
SLASHES = {".cpp", ".hpp", ".h", ".c", ".cu", ".cuh", ".cl"}
HASHES = {".py", ".pyi", ".sh", ".cmake", ".toml", ".yaml", ".yml"}
HASH_NAMES = {"CMakeLists.txt", "Makefile"}
LOOKED_AT = 3  # lines; the first may be for the shell


def comment(path: Path) -> str | None:
    """Return the licence line as a comment of the file's language; None for a file without comments, or with another licence."""
    if path.suffix in SLASHES:
        return f"// {LINE}"
    if path.suffix in HASHES or path.name in HASH_NAMES:
        return f"# {LINE}"
    return None


def sources(root: Path) -> Iterator[Path]:
    """Yield the files that git tracks or would add."""
    for name in git_files(root):
        # Run files and corpora are input, written by a person or a program that tests something.
        if not name.startswith(("tests/fuzz/corpus/", "changes/")):
            yield root / name


def main() -> int:
    """Return the exit status, 0 when every file has the line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fix", action="store_true", help="add the line where it is missing")
    fix = parser.parse_args().fix
    root = Path(__file__).resolve().parent.parent
    missing = 0
    for path in sources(root):
        wanted = comment(path)
        if wanted is None:
            continue
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        if any(LINE in line for line in lines[:LOOKED_AT]):
            continue
        if fix:
            at = 1 if lines and lines[0].startswith("#!") else 0
            lines.insert(at, wanted + "\n")
            path.write_text("".join(lines), encoding="utf-8")
        else:
            print(f"{path.relative_to(root)}: no line '{wanted}'; tools/check_spdx.py --fix adds it")
            missing += 1
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
