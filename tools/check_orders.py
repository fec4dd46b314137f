#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that each atomic of src/ that is used with a memory order has a comment on the two threads and the ordering between them.

The comment is at the atomic's declaration (on its line, or above it), or above the use, in the same function. It has one of the words of `ORDER`.

Usage: check_orders.py [ROOT]. Prints one line for each use without a comment; exit 1 when there is one.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from git_files import git_files

ROOT = Path(__file__).resolve().parents[1]
ORDER = re.compile(
    r"\b(acquir\w*|release\w*|releasing|acq_rel|relaxed|seq_cst|sequential\w*|order\w*|fence\w*|happens[- ]before)\b",
    re.IGNORECASE,
)
_USE = re.compile(r"\bmemory_order_\w+")
_NAME = re.compile(
    r"([A-Za-z_]\w*)(?:\[[^\]]*\]|\([^()]*\))?\s*(?:\.|->)\s*"
    r"(?:load|store|exchange|fetch_\w+|compare_exchange_\w+|wait|test_and_set|test|clear)\s*\("
)
_DECLARED = re.compile(r"\b(?:std::atomic|PageArray)<[^;=(&]*?>+\s*([A-Za-z_]\w*)\s*(?:[;{=,\[]|$)")
_BEGIN = re.compile(
    r"^(?:[A-Za-z}].*\{|\S.*\)\s*(?:const|noexcept|override|\s)*\{)\s*$|^  (?! ).*\)\s*(?:const|noexcept|override|\s)*\{\s*(?://.*)?$"
)
_NEAR = 12  # lines of a function before a use in which its comment stands
SUFFIXES = (".hpp", ".cpp", ".cu", ".cuh")


def _comment(line: str) -> str:
    return line.partition("//")[2]


def _above(lines: list[str], number: int) -> str:
    """Return the comment on a line, on the comment lines directly above it, and on atomics declared directly above."""
    text = _comment(lines[number])
    while number > 0 and (lines[number - 1].lstrip().startswith("//") or "std::atomic<" in lines[number - 1]):
        number -= 1
        text += _comment(lines[number])
    return text


def declared(lines: list[str]) -> Iterator[tuple[str, bool]]:
    """Yield the atomics that a file declares, each with True when a comment at the declaration names its ordering."""
    for number, line in enumerate(lines):
        code = line.partition("//")[0]
        if found := _DECLARED.search(code):
            names = [found[1], *re.findall(r",\s*(\w+)\s*\{", code[found.end(1) :])]
            good = ORDER.search(_above(lines, number)) is not None
            yield from ((name, good) for name in names)


def _in_function(lines: list[str], number: int) -> str:
    """Return the comments of the lines before a use, back to the beginning of its function."""
    text = _above(lines, number)
    for back in range(number - 1, max(-1, number - _NEAR), -1):
        text += _comment(lines[back])
        if _BEGIN.match(lines[back].partition("//")[0]):
            return text + _above(lines, back)
    return text


def _family(folder: Path) -> set[str]:
    """Return the folder, its parent and its subfolders, because a class and its helper are at most so far apart."""
    return {str(folder), str(folder.parent)}


def uncommented(files: dict[str, list[str]]) -> Iterator[str]:
    """Yield `file:line: name` for each use of a memory order without a comment."""
    places = [
        (str(Path(name).parent), one.rstrip("_"), good)
        for name, lines in files.items()
        for one, good in declared(lines)
    ]
    everywhere = {one for _, one, good in places if good}
    for name, lines in files.items():
        family = _family(Path(name).parent)
        near = [
            (one, good)
            for folder, one, good in places
            if folder in family or str(Path(folder).parent) == str(Path(name).parent)
        ]
        known = {one for one, good in near if good} | (everywhere - {one for one, good in near if not good})
        for number, line in enumerate(lines):
            code = line.partition("//")[0]
            if not _USE.search(code):
                continue
            statement = lines[number - 1].partition("//")[0] + code if number and not _NAME.search(code) else code
            atomics = {one.rstrip("_") for one in _NAME.findall(statement)}
            if (not atomics or atomics - known) and not ORDER.search(_in_function(lines, number)):
                yield f"{name}:{number + 1}: {', '.join(sorted(atomics)) or 'a fence'}: no comment on its order"


def main() -> int:
    """Print the uses without a comment; return the exit status."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT
    names = [name for name in git_files(root) if name.startswith("src/rashpa/") and name.endswith(SUFFIXES)]
    files = {
        name: (root / name).read_text(encoding="utf-8").splitlines() for name in names if not name.endswith("_test.cpp")
    }
    found = list(uncommented(files))
    print("\n".join(found) if found else "orders: each atomic that is used with a memory order has a comment on it")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
