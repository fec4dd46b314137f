# SPDX-License-Identifier: Apache-2.0
"""Checks commands without running them: their names and options exist, and so do the files, targets and extras that they name."""

import re
import shlex
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import typer
import typer.main

from rashpa.cli.main import app

ROOT = Path(__file__).resolve().parents[3]
_ASSIGNMENT = re.compile(r"[A-Z_]+=")
_SEPARATORS = re.compile(r"[;&|<>]+")
_PROMPTED = ("sudo", "env")
_SCRIPTS = re.compile(r"(?:bench|tools|tests|examples|python|packaging)/[\w./-]+\.(?:py|sh|toml|c)\Z")


def commands(script: str) -> Iterator[list[str]]:
    """Yield each command of a script as words, without assignments before it and without comments."""
    joined = re.sub(r"\\\n\s*", " ", script)
    for line in joined.splitlines():
        words = shlex.shlex(re.sub(r"\$\([^)]*\)", "X", line), posix=True, punctuation_chars=";&|<>")
        words.whitespace_split = True
        command: list[str] = []
        for word in [*words, ";"]:
            if not _SEPARATORS.fullmatch(word):
                command.append(word)
                continue
            while command and (_ASSIGNMENT.match(command[0]) or command[0] in _PROMPTED):
                command = command[1:]
            if command:
                yield command
            command = []


def problems(words: list[str]) -> list[str]:
    """Return the faults of a command as typed."""
    program = Path(words[0]).name
    known = {"rashpa": _rashpa, "make": _make, "pip": _pip, "python": _python}
    found = known[program](words[1:]) if program in known else []
    return found + [
        f"{word} is not in the repository"
        for word in words
        if _SCRIPTS.match(word) and not (ROOT / word).is_file() and program != "cc"
    ]


def commands_of_the_program() -> list[str]:
    """Return the names of all commands of `rashpa`."""
    command, context = _root()
    return list(command.list_commands(context))


def span_problems(span: str) -> list[str]:
    """Return the faults of code in a sentence, which may be a part of a command, or name several: `rashpa dataset make|info`."""
    if not re.match(r"rashpa [a-z]", span) or ":" in span.split(" ")[1]:
        return []
    words = span.replace("…", " ").split()[1:]
    found: list[str] = []
    for name in words[0].split("|"):
        found += _known(name, words[1:])
    return found


def _known(name: str, words: list[str]) -> list[str]:
    command, context = _root()
    part = command.get_command(context, name.strip(","))
    if part is None:
        return [f"there is no command rashpa {name}"]
    if not hasattr(part, "list_commands") or not words or words[0].startswith("-"):
        return _without_option(part, f"rashpa {name}", words)
    found = []
    for inner_name in words[0].split("|"):
        inner = part.get_command(context, inner_name)
        if inner is None:
            found.append(f"rashpa {name} has no command {inner_name}")
        else:
            found += _without_option(inner, f"rashpa {name} {inner_name}", words[1:])
    return found


def _without_option(command: Any, name: str, words: list[str]) -> list[str]:
    return [f"{name} has no option {word}" for word in _options(words) if not _takes(command, word)]


def _takes(command: Any, option: str) -> bool:
    """Return True when the command accepts the option. Benchmarks pass unknown options to a program, and name them in their help."""
    options = {text for one in command.params for text in (*one.opts, *one.secondary_opts)} | {"--help"}
    handed_on = command.context_settings.get("ignore_unknown_options", False)
    return option in options or (handed_on and re.search(rf"{option}(?![\w-])", command.help) is not None)


def _options(words: list[str]) -> list[str]:
    return [match[0] for word in words if (match := re.match(r"--?[a-z][a-z-]*", word))]


@cache
def _root() -> tuple[Any, Any]:
    command = typer.main.get_command(app)
    return command, typer.Context(command, info_name="rashpa")


def _rashpa(words: list[str]) -> list[str]:
    """Return the faults that the command's own parser finds; values are not checked, because readers choose them."""
    if words in (["--version"], ["--version", "--long"], ["--help"]):
        return []
    command, context = _root()
    name = "rashpa"
    while hasattr(command, "list_commands"):
        if not words or (part := command.get_command(context, words[0])) is None:
            return [f"{name} has no command {words[0] if words else ''}"]
        name, command, words = f"{name} {words[0]}", part, words[1:]
        context = typer.Context(command, info_name=name, **command.context_settings)
    try:
        values, rest, _ = command.make_parser(context).parse_args(list(words))
    except Exception as error:  # noqa: BLE001 (typer's own have no public name)
        return [f"{name}: {getattr(error, 'message', error)}"]
    if "--help" in words:
        return []
    if command.context_settings.get("ignore_unknown_options"):
        return _without_option(command, name, words)
    missing = [one.name for one in command.params if one.required and not given(values.get(one.name))]
    return [f"{name}: {one} is missing" for one in missing] + [f"{name}: takes no {word}" for word in rest]


def given(value: Any) -> bool:
    """Return True when the parser has found a value; it marks missing values specially."""
    return value is not None and value != () and "UNSET" not in repr(value)


@cache
def _targets() -> tuple[set[str], set[str]]:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = {name for line in re.findall(r"^([a-z][a-z -]*):(?!=)", text, re.MULTILINE) for name in line.split()}
    return targets, set(re.findall(r"\b([A-Z_]+)\b", text))


def _make(words: list[str]) -> list[str]:
    targets, variables = _targets()
    found = []
    for word in words:
        name, assigned, _ = word.partition("=")
        if assigned and name not in variables:
            found.append(f"the Makefile knows no {name}")
        if not assigned and word not in targets:
            found.append(f"make has no target {word}")
    return found


def _pip(words: list[str]) -> list[str]:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    named = [extra for word in words for match in re.findall(r"^rashpa\S*\[(.+)\]", word) for extra in match.split(",")]
    return [f"rashpa has no extra {extra}" for extra in named if extra not in extras]


def _python(words: list[str]) -> list[str]:
    """Return the unknown options of a repository script, which has its options in its text; pytest and foreign modules are not checked."""
    if not words or words[0].startswith("-") or not (ROOT / words[0]).is_file():
        return []
    text = (ROOT / words[0]).read_text(encoding="utf-8")
    return [
        f"{words[0]} has no option {word}" for word in _options(words[1:]) if not re.search(rf"{word}(?![\w-])", text)
    ]
