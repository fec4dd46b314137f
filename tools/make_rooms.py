#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the list of files into the README of each source folder, from the first words of each file.

Only READMEs with the two comments BEGIN and END have such a list. The text around the comments is written by hand.

Usage: make_rooms.py [--check]. With --check nothing is written; exit 1 when a list is out of date: a file was added or removed, or its first words
have changed.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- files: made by tools/make_rooms.py -->", "<!-- /files -->"
MOST_WORDS = 25
_CXX = {".hpp": 0, ".h": 1, ".cpp": 2, ".cu": 3, ".cuh": 4, ".cl": 5}
_ASIDE = re.compile(r"(?:_test|_fuzz|_bench|_simd|_cuda|_opencl|-inl)+\Z")
_LISTED = re.compile(r"^\| `([^`]+)` \|", re.MULTILINE)


def rooms() -> Iterator[Path]:
    """Yield the folders with a README that lists their files."""
    for top in ("python", "src"):
        for readme in sorted((ROOT / top).rglob("README.md")):
            if BEGIN in readme.read_text(encoding="utf-8"):
                yield readme.parent


def described(room: Path) -> dict[str, str]:
    """Return the files of a folder with a few words on each; a C++ class is one entry, even with several files."""
    if any(room.glob("*.py")):
        paths = sorted(path for path in room.glob("*.py") if path.name != "__init__.py")
        return {path.name: short(_docstring(path)) for path in paths}
    found: dict[str, list[Path]] = {}
    for path in room.iterdir():
        if path.suffix in _CXX and not path.stem.endswith("_test"):
            found.setdefault(_ASIDE.sub("", path.stem), []).append(path)
    first = {name: min(paths, key=lambda path: (_CXX[path.suffix], len(path.name))) for name, paths in found.items()}
    return {first[name].name: short(_comment(first[name])) for name in sorted(found)}


def _docstring(path: Path) -> str:
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""


def _comment(path: Path) -> str:
    """Return the comment of the class with the file's name, otherwise the first comment."""
    source = path.read_text(encoding="utf-8")
    name = "".join(word.capitalize() for word in _ASIDE.sub("", path.stem).split("_"))
    declared = (
        rf"((?:^[ ]*///.*\n)+)(?:^[ ]*template.*\n)?^[ ]*(?:class|struct|enum class)\s+(?:\[\[\w+\]\]\s+)?{name}\b"
    )
    named = re.search(declared, source, re.MULTILINE | re.IGNORECASE)
    lines: list[str] = []
    for line in (named[1] if named else source).splitlines():
        text = line.strip()
        if text.startswith("///") and not text.startswith("///<"):
            lines.append(text[3:].strip())
        elif lines:
            break
    return " ".join(lines)


def short(text: str) -> str:
    """Return the first sentence; when it is long, only the part before a colon, a semicolon, a parenthesis or a comma."""
    sentence = re.split(r"(?<=[.])\s+(?=[A-Z`])|\n\n", " ".join(text.split("\n\n")[0].split()))[0]
    for mark in ("; ", ": ", " (", ", "):
        if len(sentence.split()) <= MOST_WORDS:
            break
        sentence = sentence.partition(mark)[0]
    return sentence.rstrip(".").replace("|", "\\|") or "–"


def listed(text: str) -> set[str]:
    """Return the names in the list of a README."""
    return set(_LISTED.findall(text[text.index(BEGIN) : text.index(END)]))


def renewed(room: Path) -> str:
    """Return the README of a folder with the list made from its files."""
    rows = "".join(f"| `{name}` | {words} |\n" for name, words in described(room).items())
    table = f"| file | holds |\n|---|---|\n{rows}" if rows else "No files of its own.\n"
    block = f"{BEGIN}\n\n{table}\n{END}"
    return re.sub(f"(?s){BEGIN}.*?{END}", lambda _: block, (room / "README.md").read_text(encoding="utf-8"))


def problems(room: Path) -> list[str]:
    """Return the faults in the list of a folder: missing files, names of removed files, and outdated lines."""
    name = (room / "README.md").relative_to(ROOT)
    old, new = (room / "README.md").read_text(encoding="utf-8"), renewed(room)
    found = [f"lacks {one}" for one in sorted(listed(new) - listed(old))]
    found += [f"names {one}, which is gone" for one in sorted(listed(old) - listed(new))]
    stale = [line for line in old.splitlines() if line not in new.splitlines()]
    if old != new and not found:
        found = [f"is older than its files: {line}" for line in stale] or ["is in another order than its files"]
    return [f"{name}: {one}; run tools/make_rooms.py" for one in found]


def write(room: Path) -> None:
    """Write the list of a folder."""
    (room / "README.md").write_text(renewed(room), encoding="utf-8")


def main() -> int:
    """Return the exit status."""
    if "--check" not in sys.argv[1:]:
        for room in rooms():
            write(room)
        return 0
    found = [problem for room in rooms() for problem in problems(room)]
    print("\n".join(found)) if found else None
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
