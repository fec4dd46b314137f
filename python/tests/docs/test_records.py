# SPDX-License-Identifier: Apache-2.0
"""Decision records: a title that states the decision, a status with its date, and a line in the index under a topic."""

import re
from pathlib import Path

import pytest
from python.tests.docs.pages import ROOT

FOLDER = ROOT / "docs" / "decisions"
VERBS = frozenset((ROOT / "tools" / "prose_verbs.txt").read_text(encoding="utf-8").split())
RECORDS = sorted(path for path in FOLDER.glob("[0-9]*.md") if not path.name.startswith("0000"))
STATUS = re.compile(r"Status: (?:proposed|accepted|replaced by \[?\d{4}\b.*?)\. \d{4}-\d\d-\d\d\.(?: |$)")


def paragraphs(path: Path) -> list[str]:
    return [" ".join(part.split()) for part in path.read_text(encoding="utf-8").split("\n\n")]


def index() -> dict[str, str]:
    """Return the titles in the index, by file name."""
    text = re.sub(r"\n {2}(?=\S)", " ", (FOLDER / "README.md").read_text(encoding="utf-8"))
    return dict(re.findall(r"^- \[\d{4}\]\((\S+)\) (.+)$", text, re.MULTILINE))


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.name[:4])
def test_a_record_has_title_status_and_a_line_in_the_index(path: Path) -> None:
    title, status, *_ = paragraphs(path)
    number, _, decision = title.removeprefix("# ").partition(" ")
    assert number == path.name[:4]
    assert not re.search(r"\b(?:[Ww]hat|[Ww]ho|[Ww]hose)\b", decision)
    assert STATUS.match(status), status
    assert index().get(path.name) == decision


@pytest.mark.parametrize("path", [*RECORDS], ids=lambda path: path.name[:4])
def test_a_record_is_a_decision_with_its_context(path: Path) -> None:
    """Check that a title states the decision as an imperative, like a commit's title."""
    verb = re.match(r"# \d{4} (\w+)", path.read_text(encoding="utf-8"))
    assert verb and verb[1].lower() in VERBS
    headings = re.findall(r"^## (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert headings[:2] == ["Context", "Decision"]


def test_the_index_names_no_record_that_is_gone() -> None:
    assert sorted(set(index()) - {path.name for path in RECORDS}) == []


def test_the_side_bar_has_whole_titles() -> None:
    import sys

    sys.path.insert(0, str(ROOT / "build" / "docs" / "tools"))
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        hooks = pytest.importorskip("docs_hooks", reason="MkDocs is not installed: make docs")
    finally:
        del sys.path[:2]
    entries = {
        name: title
        for part in hooks.decisions()[1:]
        for titles in part.values()
        for one in titles
        for title, name in one.items()
    }
    assert {name.removeprefix("decisions/"): title for name, title in entries.items()} == {
        name: f"{path.name[:4]} {index()[name].replace('`', '')}" for path in RECORDS if (name := path.name)
    }
