# SPDX-License-Identifier: Apache-2.0
"""Wrapping changes only lines of text: tables, code and everything else in which a line end matters stay."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "wrap_prose.py"
LONG = "word " * 40


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    sys.path.insert(0, str(TOOL.parent))
    try:
        spec = importlib.util.spec_from_file_location("wrap_prose", TOOL)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(TOOL.parent))
    return module


@pytest.mark.parametrize(
    "text",
    [
        f"| a | b |\n|---|---|\n| {LONG}| c |\n",
        f"```sh\n{LONG}\n```\n",
        f"- an item:\n\n    ```sh\n    {LONG}\n    ```\n",
        f"---\ntitle: {LONG}\n---\n",
        f"# {LONG}\n",
        f"<!-- {LONG}\n{LONG} -->\n",
        f"<div>\n{LONG}\n</div>\n",
        f"!!! note\n    {LONG}\n\n    {LONG}\n\nText.\n",
        f"> {LONG}\n",
        f"[name]: {LONG}\n",
        f"Text:\n\n    {LONG}\n",
        f"A line  \n{LONG}\n",
        f"<!-- Made by tools/make.py; do not edit. -->\n\n{LONG}\n",
    ],
)
def test_what_is_no_text_stays(tool: ModuleType, text: str) -> None:
    assert tool.wrap(text) == text


@pytest.mark.parametrize(
    "text", [f"{LONG}\n{LONG}\n", f"- {LONG}\n- {LONG}\n", f"1. {LONG}\n   {LONG}\n", f"{LONG}`{LONG}`.\n"]
)
def test_text_is_wrapped_once_and_keeps_its_words(tool: ModuleType, text: str) -> None:
    wrapped = tool.wrap(text)
    assert wrapped.split() == text.split()
    assert tool.wrap(wrapped) == wrapped
    assert all(len(line) <= 100 or "`" in line for line in wrapped.splitlines())


def test_lines_of_an_item_stand_below_its_text(tool: ModuleType) -> None:
    lines = tool.wrap(f"Text.\n\n- {LONG}\n").splitlines()
    assert lines[2].startswith("- word") and lines[3].startswith("  word")


@pytest.mark.parametrize("word", ["-", "+", "1.", "#", ">", "|", "=", "<b>", "`a b`"])
def test_no_line_begins_with_a_word_that_begins_a_block(tool: ModuleType, word: str) -> None:
    for count in range(15, 22):
        lines = tool.wrap(f"{'word ' * count}{word} {LONG}\n").splitlines()
        assert not any(line.startswith(word) for line in lines) or word == "`a b`"
        assert sum(line.count(word) for line in lines) == 1


def test_a_figure_that_a_tool_writes_is_text(tool: ModuleType) -> None:
    text = "It takes\n<!--= a.json; one; .1f -->52.1<!--/--> GB/s.\n"
    assert tool.wrap(text) == "It takes <!--= a.json; one; .1f -->52.1<!--/--> GB/s.\n"
