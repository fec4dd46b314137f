# SPDX-License-Identifier: Apache-2.0
"""The pages of the documentation, and the blocks of code that they have.

A block is fenced, with its language. A comment before it, which readers do not see, says how it is tried:

    <!-- file: first.toml -->       it is this file
    <!-- appended: first.toml -->   it goes to the end of this file
    <!-- stays -->                  typed in a terminal of its own, where it goes on until the end of the page
    <!-- exit: 3 -->                what the last command of the block ends with
    <!-- not run: REASON -->        why it is not run by this test, one of REASONS
"""

import re
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

# What every machine that runs the tests lacks, or what is tried elsewhere.
REASONS = {
    "ci": ".ci/run itself does it",
    "long": "takes longer than all other tests",
    "network": "installs from the package index",
    "root": "changes the machine",
    "two computers": "needs nodes on other machines; addresses and names are those of the reader",
    "gpu": "needs an NVIDIA GPU",
    "slurm": "needs a cluster; make test-slurm runs it with a real Slurm",
    "vm": "starts virtual machines; make test-vm",
    "crystfel": "needs CrystFEL",
    "death": "is for a receiver that has died; tests of groups kill some, and repair their files",
    "shape": "shows the form of a command; values are the reader's",
    "wheel": "tools/test_wheel.sh types it, in a new virtual environment",
}
# Their packages are in build/beamline: python/tests/beamline/test_pages.py types them.
BEAMLINE = {"use_from_bluesky", "use_from_tango", "use_from_epics", "from_bluesky"}
COMMANDS = {"sh", "bash", "console"}
LANGUAGES = COMMANDS | {"python", "toml", "json", "yaml", "text", "xml", "c"}

_MARK = re.compile(r"<!-- (file|appended|stays|exit|not run)(?:: (.+?))? -->")
_COMMENTS = re.compile(r"(?:<!--[^>]*-->\s*)+\Z")
_FENCE = re.compile(r"^( *)```([^\n]*)\n(.*?)^\1```[ ]*$", re.DOTALL | re.MULTILINE)
_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")


@dataclass(frozen=True)
class Block:
    """Holds the text between two fences."""

    page: str
    line: int
    language: str
    text: str
    marks: dict[str, str] = field(default_factory=dict)

    @property
    def where(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def reason(self) -> str | None:
        """Return the reason why the block is not run, None when it is run."""
        return self.marks.get("not run")

    @property
    def script(self) -> str:
        """Return the commands as typed; of a console block, only those after a prompt."""
        if self.language != "console":
            return self.text
        return "".join(line[2:] + "\n" for line in self.text.splitlines() if line.startswith("$ "))


def blocks_of(page: str, text: str) -> list[Block]:
    """Return all fenced blocks of a page, in order."""
    found = []
    for match in _FENCE.finditer(text):
        before = _COMMENTS.search(text[: match.start()])
        marks = {mark[1]: mark[2] or "" for mark in _MARK.finditer(before[0])} if before else {}
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(page, line, match[2].strip(), textwrap.dedent(match[3]), marks))
    return found


def spans_of(text: str) -> list[str]:
    """Return the code spans in sentences and tables."""
    return [span.replace("\\|", "|") for span in _SPAN.findall(_FENCE.sub("", text))]


def indented_lines(text: str) -> list[int]:
    """Return the lines that Markdown treats as code without a language."""
    plain = _FENCE.sub(lambda match: "\n" * match[0].count("\n"), text)
    return [plain.count("\n", 0, match.start(1)) + 1 for match in re.finditer(r"(?:^|\n)[^\S\n]*\n( {4}\S)", plain)]


def pages() -> list[Path]:
    """Return the pages for users. Decision records are left out, because they describe the past."""
    docs = [path for path in sorted((ROOT / "docs").rglob("*.md")) if "decisions" not in path.parts]
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *docs, *sorted((ROOT / "examples").rglob("*.md"))]


def developer_pages() -> list[Path]:
    """Return the pages beside the source."""
    return [ROOT / "ARCHITECTURE.md"] + [
        path
        for top in ("src", "rtl", "sim", "tests", "schema", "packaging")
        for path in sorted((ROOT / top).rglob("*.md"))
    ]
