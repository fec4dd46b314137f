# SPDX-License-Identifier: Apache-2.0
"""The lint of texts finds each habit that it names, and fails when there are more places than stored."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "prose_lint.py"


@pytest.fixture(scope="module")
def lint() -> ModuleType:
    spec = importlib.util.spec_from_file_location("prose_lint", TOOL)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(TOOL.parent)
        spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("text", "verb"),
    [
        ("Return the shape of an image.", True),
        ("Returns the shape of an image.", True),
        ("Carries images; one thread calls it.", True),
        ("Publishes rows.", True),
        ("Of all variables.", False),
        ("The shape of an image.", False),
        ("What an image holds.", False),
        ("Names of the files.", False),
        ("`run`: the folder of a run.", False),
    ],
)
def test_a_docstring_begins_with_a_verb(lint: ModuleType, text: str, verb: bool) -> None:
    assert lint.begins_with_verb(text) is verb


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("What a node says is kept.", 1),
        ("The state of what was read.", 1),
        ("Files, what they hold, and sizes.", 1),
        ("For who looks on.", 1),
        ("Whose file it is.", 1),
        ("An error says what is wrong and what to do.", 0),
        ("A module, whose first pixel lies at 0.", 0),
        ("A user who reads this.", 0),
    ],
)
def test_who_whose_and_what_as_nouns_are_found(lint: ModuleType, text: str, count: int) -> None:
    assert len(list(lint.nouns("docs", "a.md", 1, text))) == count


@pytest.mark.parametrize(
    ("file", "text", "rules"),
    [
        ("python/rashpa/a.py", '"""Read."""\n\n\ndef f():\n    """The sum."""\n', {("docstring without a verb", 5)}),
        ("python/rashpa/a.py", '"""What is read."""\n', {("docstring without a verb", 1), ("who/whose/what as a noun (docstrings)", 1)}),
        ("python/rashpa/a.py", f'"""Read {"long " * 50}text."""\n', {("docstring sentence over 220 characters", 1)}),
        ("python/rashpa/a.py", 'raise ValueError("a.h5: no file; what was meant?")\n', {("who/whose/what as a noun (messages)", 1)}),
        ("python/rashpa/a.py", 'raise AError(f"{a}: it holds no frames here")\nraise AError(f"{a}: it holds no frames; give some")\n', {("Python error without an imperative part", 1)}),
        ("python/rashpa/a.py", 'x = Option(help="Of each run.")\n', {("description of a key or an option that begins in the middle of a sentence", 1)}),
        ("python/rashpa/a.py", 'x = Option(help="Duration of each run.")\n', set()),
        ("python/rashpa/a.py", "x = 1  # of what came\n", {("who/whose/what as a noun (Python comments)", 1)}),
        ("src/rashpa/a.hpp", "int a;\n/// The flag for who waits.\n", {("who/whose/what as a noun (C++ comments)", 2)}),
        ("src/rashpa/a.hpp", "/// Of the pixels.\nint a;\n", {("C++ description that begins in the middle of a sentence", 1)}),
        ("src/rashpa/a.hpp", "/// Says how it lies.\nint a;\n", {("C++ description that begins in the middle of a sentence", 1)}),
        ("src/rashpa/a.hpp", "int a;  ///< so many images\n", {("so many (or much) in place of a number's name", 1)}),
        ("src/rashpa/a.hpp", "/// There are so many images that one waits.\nint a;\n", set()),
        ("src/rashpa/a.hpp", "/// Into the sums.\nint a;\n", {("C++ description that begins in the middle of a sentence", 1)}),
        ("src/rashpa/a.hpp", "/// The type\n/// of the pixels.\nint a;\n", set()),
        ("src/rashpa/a.cpp", '\nthrow ConfigError("a: there are\\n"\n "no pixels here");\n', {("C++ error without an imperative part", 2)}),
        ("src/rashpa/a.cpp", 'throw ConfigError("a: there are no pixels here; give some");\nthrow ConfigError(fmt::format("kernel {}: {}", a, b));\n', set()),
        ("src/rashpa/a_test.cpp", 'throw ConfigError("a: there are no pixels here");\n', set()),
        (
            "docs/a.md",
            "```sh\na\n```\n\nprints b.\n",
            {("paragraph behind a block that begins without a subject", 5)},
        ),
        ("docs/a.md", "```sh\na\n```\n\nIt prints b:\n\n```text\nb\n```\n\n`c` is next.\n", set()),
        ("docs/a.md", "# A\n\nOne; two; three.\n", {("sentence with two semicolons", 3)}),
        ("docs/a.md", f"# A\n\n{'word ' * 31}\n", {("sentence over 30 words", 3)}),
        ("docs/a.md", f"# A\n\n{'word ' * 29}. {'word ' * 3} + `of a span` [a](b c)\n", {("sentence over 30 words", 3)}),
        ("docs/a.md", f"# A\n\n- {'word ' * 20}\n- {'word ' * 20}\n", set()),
        ("docs/a.md", f"# A\n\n**{'word ' * 20}end.** {'word ' * 20}\n", set()),
        ("docs/a.md", f"# A\n\n{'word ' * 29}+ `of a span`\n", set()),
        ("docs/a.md", f"# A\n\n| a | {'word ' * 26}|\n|---|---|\n", {("table cell over 25 words", 3)}),
        ("docs/a.md", f"# A\n\n| {'word ' * 24} | {'word ' * 24}|\n|---|---|\n", set()),
        ("docs/a.md", "# A\n\n| a; b | c; d |\n|---|---|\n| a; b | `c; d` |\n", {("sentence with two semicolons", 3)}),
        ("docs/a.md", "```\na; b; c\n```\n", set()),
        ("python/tests/test_a.py", '"""What is tested."""\n', set()),
    ],
)  # fmt: skip
def test_each_habit_is_found_at_its_line(lint: ModuleType, file: str, text: str, rules: set[tuple[str, int]]) -> None:
    assert {(finding.rule, finding.line) for finding in lint.findings_of(file, text)} == rules


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Make a tree with one finding, its only commit and a count that allows it."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("What is read.\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "Begin; it was long ago")
    stored = {
        "commits_after": git(tmp_path, "rev-parse", "HEAD").strip(),
        "counts": {"who/whose/what as a noun (docs)": 1},
    }
    (tmp_path / "tools" / "prose_counts.json").write_text(json.dumps(stored))
    return tmp_path


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    return subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def run(tree: Path, *words: str) -> tuple[int, str]:
    done = subprocess.run([sys.executable, TOOL, "--root", tree, *words], capture_output=True, text=True, check=False)
    assert not done.stderr
    return done.returncode, done.stdout


def test_a_count_that_rises_fails_and_names_the_new_place_alone(tree: Path) -> None:
    assert run(tree)[0] == 0
    (tree / "docs" / "a.md").write_text("New words.\n\nWhat is new.\n\nWhat is read.\n")
    status, output = run(tree)
    assert status == 1
    assert "docs/a.md:3:" in output and "docs/a.md:5:" not in output


def test_a_count_that_fell_is_stored_and_may_not_rise_again(tree: Path) -> None:
    (tree / "docs" / "a.md").write_text("It is read.\n")
    assert run(tree, "--update")[0] == 0
    (tree / "docs" / "a.md").write_text("What is read.\n")
    status, output = run(tree, "--update")
    assert status == 1 and "(at most 0)" in output


def test_titles_of_later_commits_are_looked_at(tree: Path) -> None:
    git(tree, "commit", "-q", "--allow-empty", "-m", "Read files; write files")
    status, output = run(tree)
    assert status == 1 and "Read files; write files" in output and "Begin" not in output
