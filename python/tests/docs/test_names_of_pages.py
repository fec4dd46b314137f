# SPDX-License-Identifier: Apache-2.0
"""Code names in sentences of pages (functions, classes, counters, columns) occur in the source, or name one of its files."""

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from python.tests.docs.pages import ROOT, developer_pages, pages, spans_of

NAME = re.compile(r"[A-Za-z_]\w*(?:(?:::|\.|->)\w+)*(?:\(\))?")
# Files of an example's run, names with a part of the reader's, and names of other programs.
EXAMPLES = re.compile(
    r"\w+_(?:master|frames)\.h5|\w+_attach\.json|vVERSION|manylinux_\d_\d+|r_\w+|mask0_data|x_formal\.sv|_[dioq]"
    r"|rx_(?:roi)?|udp_dstport2?|CUDA_VISIBLE_DEVICES|POCL_CACHE_DIR|completer_retry_err"
)
PROGRAM = re.compile(r"rashpa_(\w+?)(?:_test|_bench|_fuzz)?")
WRITTEN = (".png", ".webp", ".h5", ".npz", ".npy", ".svg", ".md")


@cache
def words() -> frozenset[str]:
    """Return the names in the source, and those of its files and folders."""
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    found = {part for name in names for part in re.split(r"[/.]", name)}
    for name in names:
        if (
            not name.startswith(("docs/", "changes/", "CHANGELOG"))
            and not name.endswith(WRITTEN)
            and (ROOT / name).is_file()
        ):
            found |= set(re.findall(r"[A-Za-z_]\w*", (ROOT / name).read_text(encoding="utf-8", errors="replace")))
    return frozenset(found)


def is_a_name(span: str) -> bool:
    """Return True when a span looks like a code name, and not like an English word."""
    return bool(NAME.fullmatch(span)) and ("_" in span or "::" in span or bool(re.search(r"[a-z][A-Z]", span)))


def unknown(span: str) -> Iterator[str]:
    """Yield the parts of a name that the source does not have."""
    known = words()
    if EXAMPLES.fullmatch(span):
        return
    if (program := PROGRAM.fullmatch(span)) and any(program[1] in word for word in known):
        return
    yield from (part for part in re.findall(r"[A-Za-z_]\w*", span) if part not in known)


@pytest.mark.parametrize("path", [*pages(), *developer_pages()], ids=lambda path: str(path.relative_to(ROOT)))
def test_names_of_code_on_a_page_are_in_the_source(path: Path) -> None:
    spans = spans_of(re.sub(r"(?<=\S)\n(?=\S)", " ", path.read_text(encoding="utf-8")))
    assert {span: missing for span in spans if is_a_name(span) if (missing := list(unknown(span)))} == {}


def test_a_name_that_is_gone_is_found() -> None:
    gone = "_".join(("frobnicate", "every", "gasket"))
    assert list(unknown(f"Lane::{gone}()")) == [gone]
    assert not list(unknown("Stack::intact"))
    assert not is_a_name("credits")
