# SPDX-License-Identifier: Apache-2.0
"""Prints the result of commands that read or make data: their books as text or JSON, and the exit code that follows from the books."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console

from rashpa.data.base.books import DataBooks
from rashpa.data.base.exit_code import ExitCode

AsJson = Annotated[
    bool,
    typer.Option("--json", help="Say books and files as one JSON document on standard output, and nothing else there."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Only complaints, no other lines.")]
OutputBefore = Annotated[Path | None, typer.Argument(hidden=True, metavar="OUT")]
"""The place among the arguments where an output stood before `--output`."""
Follow = Annotated[
    list[Path] | None,
    typer.Option(
        "--follow",
        metavar="DIR",
        help="A folder to which files may lead besides their own: by links, virtual datasets, external storage. May be given several times.",
    ),
]


@dataclass(frozen=True)
class Teller:
    """Prints the output of the command `name`. With `as_json`, standard output has one document and nothing else; with `quiet`, only complaints are
    printed. `hints` are lines on renamed options, printed when the command ends."""

    name: str
    as_json: bool = False
    quiet: bool = False
    hints: list[str] = field(default_factory=list)

    def say(self, text: str) -> None:
        """Print a line for people; print nothing with `as_json` or `quiet`."""
        if text and not self.as_json and not self.quiet:
            Console().print(text, markup=False, highlight=False, soft_wrap=True)

    def complain(self, text: str) -> None:
        """Print each line of `text` on standard error."""
        errors = Console(stderr=True)
        for line in text.splitlines():
            errors.print(f"rashpa {self.name}: {line}", style="red", markup=False, highlight=False, soft_wrap=True)

    def answer(self, text: str, **facts: Any) -> None:
        """Print the result of an order: `text`, or with `as_json` a document with `text` and `facts`."""
        self._document([], None, {"text": text, **facts})
        self.say(text)

    def refuse(self, text: str) -> NoReturn:
        """End the command for bad input, before anything was made, with exit code 2."""
        self._document([], None, {"problem": text})
        self.complain(text)
        raise typer.Exit(ExitCode.BAD_INPUT) from None

    def fail(self, text: str) -> NoReturn:
        """End the command with exit code 1, for a fault of this process or machine that does not concern the input."""
        self._document([], None, {"problem": text})
        self.complain(text)
        raise typer.Exit(ExitCode.FAILED) from None

    def end(
        self, text: str, books: DataBooks, files: Sequence[Path | str] = (), *, code: int | None = None, **facts: Any
    ) -> NoReturn:
        """End the command with its results. `code` replaces the exit code of the books; `facts` are further keys of the document."""
        self._document(files, books, facts)
        self.say(text)
        for trouble in (*self.hints, *books.troubles):
            self.complain(trouble)
        if not books.whole:
            self.complain(f"the books are not whole: {books.text()}")
        raise typer.Exit(books.exit_code if code is None else code)

    def _document(self, files: Sequence[Path | str], books: DataBooks | None, facts: dict[str, Any]) -> None:
        if not self.as_json:
            return
        said = {
            "command": self.name,
            "files": [str(file) for file in files],
            "books": None if books is None else books.as_json(),
            "problem": "",
        }
        sys.stdout.write(json.dumps(said | facts, default=str) + "\n")
        sys.stdout.flush()


def output_of(tell: Teller, output: Path | None, before: Path | None) -> Path:
    """Return the output path from `--output`, or from `before`, the argument that named it in former versions. Refuse when neither or both are given."""
    if output is not None and before is not None:
        tell.refuse(f"--output {output}: {before} is given as an argument, too; give one of them")
    if output is not None:
        return output
    if before is None:
        tell.refuse("--output: it is missing; say what to write: -o OUT")
    tell.hints.append(f"the output is an option now: --output {before}, or -o {before}")
    return before
