# SPDX-License-Identifier: Apache-2.0
"""Every command of every page exists, with its options."""

from pathlib import Path

import pytest

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from python.tests.docs import typed
from python.tests.docs.pages import (
    COMMANDS,
    LANGUAGES,
    REASONS,
    ROOT,
    blocks_of,
    developer_pages,
    indented_lines,
    pages,
    spans_of,
)

pytestmark = pytest.mark.whole

ALL = [*pages(), *developer_pages()]


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", ALL, ids=named)
def test_what_a_page_types_exists(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    wrong = [
        f"{block.where}: {problem}"
        for block in blocks_of(named(path), text)
        if block.language in COMMANDS
        for words in typed.commands(block.script)
        for problem in typed.problems(words)
    ]
    wrong += [f"{named(path)}: `{span}`: {problem}" for span in spans_of(text) for problem in typed.span_problems(span)]
    assert wrong == []


@pytest.mark.parametrize("path", pages(), ids=named)
def test_blocks_say_what_they_are(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    wrong = [f"{named(path)}:{line}: code needs a fence and a language" for line in indented_lines(text)]
    for block in blocks_of(named(path), text):
        if block.language not in LANGUAGES:
            wrong.append(f"{block.where}: language {block.language!r} is none of {sorted(LANGUAGES)}")
        if block.reason is not None and block.reason not in REASONS:
            wrong.append(f"{block.where}: {block.reason!r} is none of REASONS of pages.py")
    assert wrong == []


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("rashpa run FILE --reprot DIR", "No such option"),
        ("rashpa runs FILE", "no command runs"),
        ("rashpa run", "file is missing"),
        ("rashpa run a.toml b.toml", "takes no b.toml"),
        ("RASHPA_TOKEN=$(cat token) rashpa node state URL", "no command state"),
        ("make demos", "no target demos"),
        ("make fuzz FUZZ_SECOND=3", "no FUZZ_SECOND"),
        ("cd x && .venv/bin/python bench/soak.py --minute 6", "no option --minute"),
        ("rashpa run examples/01_first_lite.toml", "01_first_lite.toml is not in"),
        ("pip install 'rashpa[blue]'", "no extra blue"),
    ],
)
def test_what_is_wrong_is_found(command: str, says: str) -> None:
    found = [problem for words in typed.commands(command) for problem in typed.problems(words)]
    assert len(found) == 1
    assert says in found[0]


def test_a_wrong_option_within_a_sentence_is_found() -> None:
    assert typed.span_problems("rashpa dataset make|infos") == ["rashpa dataset has no command infos"]
    assert typed.span_problems("rashpa run FILE --reprot DIR") == ["rashpa run has no option --reprot"]


def test_code_without_a_language_is_found() -> None:
    assert indented_lines("Text.\n\n    rashpa run\n\nMore.\n\n- list\n\n```sh\n\n    x\n```\n") == [3]
