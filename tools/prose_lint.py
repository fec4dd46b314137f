#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Count the habits that make our texts hard to read, by rule (CONTRIBUTING, "How we write texts"); a count may only fall.

Usage: prose_lint.py [--list] [--update] [RULE…]. Compares the counts with tools/prose_counts.json and prints the places of new findings; exit 1 when a
count has risen. --update stores the counts that have fallen; --list prints every place of the given rules, by default of all.
"""

import argparse
import ast
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from git_files import git_files

ROOT = Path(__file__).resolve().parents[1]
COUNTS = "tools/prose_counts.json"
VERBS = frozenset((Path(__file__).parent / "prose_verbs.txt").read_text(encoding="utf-8").split())
LONGEST_DOCSTRING_SENTENCE = 220  # characters
LONGEST_SENTENCE = 30  # words
LONGEST_CELL = 25  # words of a table's cell
LONGEST_TITLE = 72  # characters of a commit's title
EXCERPT = 120

NO_VERB = "docstring without a verb"
FRAGMENT = "C++ description that begins in the middle of a sentence"
SO_MANY = "so many (or much) in place of a number's name"
NO_ADVICE = "C++ error without an imperative part"
NO_ADVICE_PYTHON = "Python error without an imperative part"
KEY = "description of a key or an option that begins in the middle of a sentence"
LONG_DOCSTRING = "docstring sentence over 220 characters"
LONG_SENTENCE = f"sentence over {LONGEST_SENTENCE} words"
LONG_CELL = f"table cell over {LONGEST_CELL} words"
SEMICOLONS = "sentence with two semicolons"
AFTER_BLOCK = "paragraph behind a block that begins without a subject"
TITLE = "commit title over 72 characters or with a semicolon"

# A class and a module may begin with a noun, never with one of these.
VERBLESS = re.compile(
    r"(?:Of|In|With|As|Until|One|Some|All of|Both|Those|What|Who|Whom|Whose|Whether|For|Where|Which|How|Why|When|By)\b"
)
# A description in C++ begins with a verb or a noun: "Of the pixels of image()" needs the name behind it to be understood. A class "says" nothing:
# it holds, describes or names something.
MIDDLE = re.compile(
    r"/// (?:Of|In|With|As|Until|So|And|For|From|To|When|While|Whether|By|Before|Behind|Into|On|At|Between|Without|Beyond"
    r"|Towards|About|Below|Whatever|Likewise|Then|Once|After|If|Out|Only|Says|True|False|Null|NaN|It|They|Its|Their|That|Those|Nothing|Nobody)\b"
)
# An error says what to do behind a semicolon; a few words before a reason ("kernel {}: {}") are no message of their own.
THROW = re.compile(r'\bthrow (?:\w+::)*\w*Error\(((?:"(?:\\.|[^"\\])*"|[^"])*?)\);')
_LITERAL = re.compile(r'"((?:\\.|[^"\\])*)"')
FEWEST_WORDS = 4
# A key or an option is read alone, in a table or below --help: `noise: of the detector` needs its name to be understood.
WITHOUT_NOUN = re.compile(r"(?:of|for|from|with|in|by|as|to|where|which|when|its|until|those|that)\b", re.IGNORECASE)
# "so many images" is read twice where no "that" follows: of how many?
MEASURE = re.compile(r"\bso (?:many|much)\b(?![^.;:]*\bthat\b)")
# "who" and "whom" stand for a noun unless they follow one for a person, "whose" after a preposition or at the beginning.
_PERSON = r"(?<!people )(?<!person )(?<!user )(?<!users )(?<!reader )(?<!somebody )(?<!anybody )(?<!nobody )(?<!one )(?<!those )"
_BEGINNING = r"(?:^|\n\n|\n[-#*>]+ |[.;:(|] ?|\b(?:of|for|from|to|with|by|in|on|at|than|as|into|and|or|but|beside|behind|after|before|is|are) )"
# An indirect question ("says what is wrong") is none: "what" stands for a noun after a preposition or at the beginning.
NOUN = re.compile(
    rf"{_PERSON}\b(?:[Ww]ho|[Ww]hom|[Ww]hoeve[r])\b(?= [a-z]+)(?! to )(?!\?)"
    rf"|(?:{_BEGINNING}[Ww]hose|(?:{_BEGINNING}|, )[Ww]hat)\b(?! to )(?!\?)"
)
# Lists that a tool makes are counted where their words come from.
CODE = re.compile(r"```.*?```|<!-- files: made by.*?<!-- /files -->|<!--.*?-->", re.DOTALL)
# A paragraph says what its block does: "```\n\nprints the books" begins in the middle of a sentence.
BEHIND = re.compile(r"^```[a-z].*?^```\n\n([a-z][^\n]*)", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`[^`\n]+`")
_ADDRESS = re.compile(r"\]\([^)\n]*\)")
# A sentence ends with a mark before a capital, behind emphasis, with a paragraph, an item of a list, or a cell.
SENTENCES = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*])|(?<=[.!?]\*\*)\s|\n\n|\n[|#]|\n *(?:[-*]|\d+\.) |(?<=\|)\s")


class Finding(NamedTuple):
    """A place that breaks a rule; `excerpt` distinguishes it from others in the same file."""

    rule: str
    file: str
    line: int
    excerpt: str


def begins_with_verb(text: str) -> bool:
    """Return True when the first word of `text` is a verb of prose_verbs.txt, imperative or third person, and is not used as a noun (`Names of …`)."""
    first, _, rest = text.lstrip("`").partition(" ")
    word = first.rstrip(".,:;").lower()
    stems = {word, word.removesuffix("s"), word.removesuffix("es"), re.sub(r"ies$", "y", word)}
    return bool(stems & VERBS) and not re.match(r"of\b", rest)


def excerpt(text: str, at: int = 0) -> str:
    """Return one line of `text` around the character `at`."""
    return " ".join(text[max(0, at - EXCERPT // 3) : at + EXCERPT].split())[:EXCERPT]


def nouns(kind: str, file: str, line: int, text: str) -> Iterator[Finding]:
    """Yield the places that use "who", "whose" or "what" as a noun."""
    for match in NOUN.finditer(text):
        yield Finding(
            f"who/whose/what as a noun ({kind})",
            file,
            line + text.count("\n", 0, match.start()),
            excerpt(text, match.start()),
        )


def measures(file: str, line: int, text: str) -> Iterator[Finding]:
    """Yield the places where "so many" stands for a number that has a name."""
    for match in MEASURE.finditer(text):
        yield Finding(SO_MANY, file, line + text.count("\n", 0, match.start()), excerpt(text, match.start()))


def python_findings(file: str, text: str) -> Iterator[Finding]:
    """Yield the findings in the docstrings, error texts and comments of a Python file."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            yield from _docstring_findings(file, node)
        elif isinstance(node, ast.Raise):
            yield from _raise_findings(file, node)
            for part in ast.walk(node):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield from nouns("messages", file, part.lineno, part.value)
        elif isinstance(node, ast.keyword) and node.arg in ("help", "description", "doc"):
            yield from _key_findings(file, node.value)
    for number, line in enumerate(text.splitlines(), 1):
        if comment := re.search(r"(?:^|\s)# (.*)", line):
            yield from nouns("Python comments", file, number, comment[1])
            yield from measures(file, number, comment[1])


def _raise_findings(file: str, node: ast.Raise) -> Iterator[Finding]:
    """Yield a finding for an error text without advice, except for a reason that its caller puts into a message."""
    texts = [one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    message = "".join(texts)
    named = sum(any(letter.isalpha() for letter in word) for word in message.split())
    if file.startswith("python/rashpa/") and named >= FEWEST_WORDS and ";" not in message:
        yield Finding(NO_ADVICE_PYTHON, file, node.lineno, excerpt(message))


def _key_findings(file: str, value: ast.expr) -> Iterator[Finding]:
    first = value.values[0] if isinstance(value, ast.JoinedStr) and value.values else value
    if isinstance(first, ast.Constant) and isinstance(first.value, str) and WITHOUT_NOUN.match(first.value):
        yield Finding(KEY, file, value.lineno, excerpt(first.value))


def _docstring_findings(
    file: str, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module
) -> Iterator[Finding]:
    docstring = ast.get_docstring(node)
    if not docstring:
        return
    line = node.body[0].lineno
    function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    if not begins_with_verb(docstring) if function else VERBLESS.match(docstring):
        yield Finding(NO_VERB, file, line, excerpt(docstring))
    for sentence in re.split(r"(?<=[.;:])\s", docstring):
        if len(sentence) > LONGEST_DOCSTRING_SENTENCE:
            yield Finding(LONG_DOCSTRING, file, line, excerpt(sentence))
    yield from nouns("docstrings", file, line, docstring)
    yield from measures(file, line, docstring)


def cpp_findings(file: str, text: str) -> Iterator[Finding]:
    """Yield the findings in the comments and errors of a C++ file."""
    before = ""
    for number, line in enumerate(text.splitlines(), 1):
        if MIDDLE.match(line.strip()) and not before.startswith("///"):
            yield Finding(FRAGMENT, file, number, excerpt(line))
        before = line.strip()
        if comment := re.search(r"(?<!:)//[/!<]* ?(.*)", line):
            yield from nouns("C++ comments", file, number, comment[1])
            yield from measures(file, number, comment[1])
    if "test" not in file:
        yield from _error_findings(file, text)


def _error_findings(file: str, text: str) -> Iterator[Finding]:
    for error in THROW.finditer(text):
        message = "".join(_LITERAL.findall(error[1]))
        named = sum(any(letter.isalpha() for letter in word) for word in re.sub(r"\{[^{}]*\}", "", message).split())
        passed_on = ".what()" in error[1]  # an error that says so itself
        if named >= FEWEST_WORDS and ";" not in message and not passed_on:
            yield Finding(NO_ADVICE, file, text.count("\n", 0, error.start()) + 1, excerpt(message))


def words(sentence: str) -> int:
    """Return the number of words of a sentence: a code span counts as one, the address of a link and a sign as none."""
    text = _ADDRESS.sub("]", _SPAN.sub("code", sentence))
    return sum(any(letter.isalnum() for letter in word) for word in text.split())


def markdown_findings(file: str, text: str) -> Iterator[Finding]:
    """Yield the findings in the sentences and table cells of a page."""
    for behind in BEHIND.finditer(text):
        yield Finding(AFTER_BLOCK, file, text.count("\n", 0, behind.start(1)) + 1, excerpt(behind[1]))
    text = CODE.sub(lambda block: "\n" * block[0].count("\n"), text)
    start = 0
    for match in [*SENTENCES.finditer(text), None]:
        sentence = text[start : match.start() if match else len(text)]
        line = text.count("\n", 0, start) + 1
        cell = sentence.rstrip().endswith("|")
        if words(sentence) > (LONGEST_CELL if cell else LONGEST_SENTENCE):
            yield Finding(LONG_CELL if cell else LONG_SENTENCE, file, line, excerpt(sentence))
        prose = _SPAN.sub("`code`", " ".join(sentence.lstrip("#-*>| \n").split()))
        if prose.count(";") >= 2:
            yield Finding(SEMICOLONS, file, line, excerpt(sentence))
        yield from nouns("docs", file, line, prose)
        start = match.end() if match else 0
    for number, row in enumerate(text.splitlines(), 1):
        if row.lstrip().startswith("|"):
            for part in re.split(r"(?<=[.!?])\s+(?=[A-Z`*])", _SPAN.sub("`code`", row)):
                if part.count(";") >= 2:
                    yield Finding(SEMICOLONS, file, number, excerpt(part))


def findings_of(file: str, text: str) -> list[Finding]:
    """Return the findings in the file of this name, empty when it is no text of ours."""
    if file.endswith(".py") and file.startswith(("python/rashpa/", "tools/")):
        return list(python_findings(file, text))
    if file.endswith((".hpp", ".cpp", ".cu", ".cuh")) and file.startswith("src/"):
        return list(cpp_findings(file, text))
    if file.endswith(".md") and file.startswith(
        ("docs/", "README", "ARCH", "CONTRIB", "bench/results/", "changes/", "schema/", "src/")
    ):
        return list(markdown_findings(file, text))
    return []


def title_findings(root: Path, base: str) -> list[Finding]:
    """Return the titles of commits after `base` that break the rule, empty when the clone lacks `base`."""
    log = _git(root, "log", "--no-merges", "--format=%h %s", f"{base}..HEAD")
    commits = [line.partition(" ") for line in (log or "").splitlines()]
    return [
        Finding(TITLE, f"commit {name}", 1, title)
        for name, _, title in commits
        if len(title) > LONGEST_TITLE or ";" in title
    ]


def new_findings(root: Path, findings: list[Finding]) -> list[Finding]:
    """Return the findings that the files of LINT_BASE, by default of the last commit, do not have."""
    base = os.environ.get("LINT_BASE") or "HEAD"
    changed = (_git(root, "diff", "--name-only", base) or "") + (
        _git(root, "ls-files", "-o", "--exclude-standard") or ""
    )
    new = [finding for finding in findings if finding.rule == TITLE]
    for file in {finding.file for finding in findings} & set(changed.splitlines()):
        before = Counter(
            (old.rule, old.excerpt) for old in findings_of(file, _git(root, "show", f"{base}:{file}") or "")
        )
        for finding in (finding for finding in findings if finding.file == file):
            before[finding.rule, finding.excerpt] -= 1
            if before[finding.rule, finding.excerpt] < 0:
                new.append(finding)
    return new


def _git(root: Path, *words: str) -> str | None:
    done = subprocess.run(["git", *words], cwd=root, check=False, capture_output=True, text=True)  # noqa: S603, S607
    return done.stdout if done.returncode == 0 else None


def _show(findings: list[Finding]) -> None:
    for finding in sorted(findings):
        print(f"{finding.file}:{finding.line}: {finding.rule}: {finding.excerpt}")


def main() -> int:
    """Print the counts; return the exit status, 1 when one has risen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="print every place of the given rules")
    parser.add_argument("--update", action="store_true", help="store the counts that have fallen")
    parser.add_argument("--root", type=Path, default=ROOT, help="the tree to check")
    parser.add_argument("rules", nargs="*", help="beginnings of rules")
    options = parser.parse_args()
    root: Path = options.root
    stored = json.loads((root / COUNTS).read_text(encoding="utf-8"))
    findings = title_findings(root, stored["commits_after"])
    for file in git_files(root):
        if file.endswith((".py", ".md", ".hpp", ".cpp", ".cu", ".cuh")):
            findings += findings_of(file, (root / file).read_text(encoding="utf-8"))
    if options.list:
        _show([finding for finding in findings if finding.rule.startswith(tuple(options.rules) or "")])
    counts = Counter(finding.rule for finding in findings)
    limits: dict[str, int] = stored["counts"]
    for rule in sorted(counts | limits):
        print(f"{counts[rule]:6d}  {rule} (at most {limits.get(rule, 0)})")
    risen = {rule for rule in counts if counts[rule] > limits.get(rule, 0)}
    worse = [finding for finding in findings if finding.rule in risen]
    if options.update:
        stored["counts"] = {rule: min(limit, counts[rule]) for rule, limit in limits.items()}
        (root / COUNTS).write_text(json.dumps(stored, indent=2) + "\n", encoding="utf-8")
    _show(new_findings(root, worse) or worse)
    return 1 if risen else 0


if __name__ == "__main__":
    sys.exit(main())
