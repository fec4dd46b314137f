#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Wraps the paragraphs and list items of Markdown pages at 100 columns; tables, code, quotes, HTML and pages that a tool makes stay as they are.

Usage: wrap_prose.py [--check] [FILE…]; without files all pages of the repository. With --check nothing is written; exit 1 when a page would change.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

from git_files import git_files

ROOT = Path(__file__).resolve().parents[1]
COLUMNS = 100
MADE = re.compile(r"<!-- Made by ")
LEFT_OUT = ("changes/", "CHANGELOG", "CODE_OF_CONDUCT", "LICENSE", "packaging/")
_ITEM = re.compile(r"(\s{0,8}(?:[-*+]|\d+[.)])\s+)(?=\S)")
_FENCE = re.compile(r"\s*(```+|~~~+)")
# Beginnings of blocks that stay: headings, tables, quotes, HTML, admonitions, definitions of links, rules, indented text.
_KEPT = re.compile(r"#{1,6} |\s*\||\s*>|\s*<(?!https?:|!--[=/])|!!!|\?\?\?|\[[^\]]+\]: |---|===|\*\*\*|    ")
# Words that would begin a block at the beginning of a line.
_NO_BEGINNING = re.compile(r"(?:[-*+]|\d+[.)]|#{1,6}|>.*|\|.*|=+|-+|!!!|\?\?\?|<.*|```.*)$")
_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)|<!--.*?-->")
_GLUE = "\0"


def words_of(text: str) -> list[str]:
    """Return the words between which a line may break: never inside a code span or a comment, nor before a word that would begin a block."""
    glued = _CODE.sub(lambda span: span[0].replace(" ", _GLUE), " ".join(text.split()))
    words: list[str] = []
    for word in glued.split(" "):
        if words and _NO_BEGINNING.match(word):
            words[-1] += _GLUE + word
        else:
            words.append(word)
    return [word.replace(_GLUE, " ") for word in words]


def wrapped(text: str, first: str, rest: str) -> Iterator[str]:
    """Yield the lines of a paragraph, the first with the prefix `first`, the others with `rest`."""
    line = ""
    prefix = first
    for word in words_of(text):
        if line and len(prefix) + len(line) + 1 + len(word) > COLUMNS:
            yield prefix + line
            line, prefix = word, rest
        else:
            line = f"{line} {word}" if line else word
    yield prefix + line


def _goes_on(line: str) -> bool:
    """Return True for a line that continues a paragraph."""
    return bool(line.strip()) and not (_ITEM.match(line) or _FENCE.match(line) or _KEPT.match(line.lstrip() or line))


def _verbatim(lines: list[str], at: int) -> int:
    """Return the number of lines of the block at `at` that stay as they are: 0 for a paragraph or a list item."""
    line = lines[at]
    if at == 0 and line == "---":
        return 2 + len(list(takewhile(lambda other: other != "---", lines[1:])))
    if fence := _FENCE.match(line):
        inside = takewhile(lambda other: not other.lstrip().startswith(fence[1]), lines[at + 1 :])
        return 2 + len(list(inside))
    if line.startswith("<!--") and not line.startswith(("<!--=", "<!--/")):  # those of tools/docs_figures.py are text
        return 1 + len(list(takewhile(lambda one: "-->" not in one, lines[at:])))
    if line.startswith(("!!!", "???")):
        return 1 + len(list(takewhile(lambda other: not other or other.startswith("    "), lines[at + 1 :])))
    if line.startswith("<") and not line.startswith("<!--"):
        return max(1, len(list(takewhile(str.strip, lines[at:]))))
    return 1 if not line.strip() or (_KEPT.match(line) and not _ITEM.match(line)) else 0


def wrap(text: str) -> str:
    """Return the page with its paragraphs and list items wrapped."""
    if MADE.search(text):
        return text
    lines = text.split("\n")
    out: list[str] = []
    at = 0
    while at < len(lines):
        if kept := _verbatim(lines, at):
            out += lines[at : at + kept]
            at += kept
            continue
        item = _ITEM.match(lines[at])
        first = item[1] if item else re.match(r"\s*", lines[at])[0]  # type: ignore[index]
        block = [lines[at][len(first) :], *takewhile(_goes_on, lines[at + 1 :])]
        hard = any(line.endswith(("  ", "\\")) for line in block)
        out += lines[at : at + len(block)] if hard else wrapped(" ".join(block), first, " " * len(first))
        at += len(block)
    return "\n".join(out)


def pages() -> Iterator[Path]:
    """Yield the pages that are wrapped."""
    for name in git_files(ROOT):
        if name.endswith(".md") and not name.startswith(LEFT_OUT):
            yield ROOT / name


def main() -> int:
    """Wrap or compare the pages; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a page would change")
    parser.add_argument("files", nargs="*", type=Path, help="the pages")
    options = parser.parse_args()
    changed = 0
    for page in options.files or pages():
        before = page.read_text(encoding="utf-8")
        if (after := wrap(before)) != before:
            changed += 1
            print(f"{page}: {'wrap its text: tools/wrap_prose.py' if options.check else 'wrapped'}")
            if not options.check:
                page.write_text(after, encoding="utf-8")
    return 1 if options.check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
