# SPDX-License-Identifier: Apache-2.0
"""Makes a page for each command of `rashpa`, as Markdown and as a man page, from its parser and tools/command_notes.toml."""

import copy
import re
import textwrap
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer.main

from rashpa.cli.commands import COMMANDS, GROUPS
from rashpa.cli.main import app

NOTES = Path(__file__).with_name("command_notes.toml")
MADE = "Made by tools/make_reference.py from the command's parser and tools/command_notes.toml; do not edit."


@dataclass(frozen=True)
class Form:
    """A command as it is typed: a single one, or one of a group such as `rashpa node status`."""

    name: str
    synopsis: str
    text: str
    arguments: list[tuple[str, str]]
    options: list[tuple[str, str]]


@dataclass(frozen=True)
class Page:
    """Holds the content of a page."""

    name: str
    summary: str
    forms: list[Form]
    notes: dict[str, Any]
    exits: list[tuple[str, str]]
    environment: list[tuple[str, str]]


def pages() -> list[Page]:
    """Return the pages of all commands, in the order of `rashpa --help`. Raise KeyError when one has no notes."""
    notes = tomllib.loads(NOTES.read_text(encoding="utf-8"))
    root: Any = typer.main.get_command(app)
    context = typer.Context(root, info_name="rashpa")
    names = root.list_commands(context)
    if unknown := set(notes) - set(names) - {"common"}:
        raise KeyError(f"{NOTES.name}: there is no command {', '.join(sorted(unknown))}")
    return [_page(name, root.get_command(context, name), notes["common"], notes[name]) for name in names]


def _page(name: str, command: Any, common: dict[str, Any], notes: dict[str, Any]) -> Page:
    environment = notes.get("environment", {}) | common["environment"]
    return Page(
        name,
        _paragraphs(command.help)[0].partition(". ")[0].rstrip("."),
        list(_forms(f"rashpa {name}", command)),
        notes,
        [(str(int(code)), text) for code, text in COMMANDS[name].exits.items()],
        list(environment.items()),
    )


def _forms(name: str, command: Any) -> Iterator[Form]:
    context = typer.Context(command, info_name=name)
    if hasattr(command, "list_commands"):
        for inner in command.list_commands(context):
            yield from _forms(f"{name} {inner}", command.get_command(context, inner))
        return
    records = [(one.param_type_name, one.get_help_record(context)) for one in command.params if not one.hidden]
    shown = copy.copy(command)
    shown.params = [one for one in command.params if not one.hidden]
    usage = " ".join(_upper(piece) for piece in shown.collect_usage_pieces(context))
    yield Form(
        name,
        f"{name} {usage}".strip(),
        command.help or "",
        [(_upper(record[0]), record[1]) for kind, record in records if kind == "argument" and record],
        [(record[0], _bounds(record[1])) for kind, record in records if kind == "option" and record],
    )


def _bounds(text: str) -> str:
    """Return the help of an option, with a comma between its default and its bounds in place of Click's semicolon."""
    return re.sub(r"\[[^\]]*\]$", lambda found: found[0].replace("; ", ", "), text)


def _upper(piece: str) -> str:
    """Return an argument's name in the form of synopses."""
    return re.sub(r"\{([\w-]+)\}|^([a-z_-]+) <", lambda found: (found[1] or f"{found[2]} <").upper(), piece)


def _paragraphs(text: str) -> list[str]:
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", text.strip())]


# Markdown


def index() -> str:
    """Return the page that links to all command pages."""
    known = pages()
    parts = [
        f"# Commands\n\n<!-- {MADE} -->\n\n`rashpa COMMAND --help` says at a terminal what its page says here; where the package is installed, `man rashpa-COMMAND`, too. "
        "`rashpa --version` says which one it is. Each command stands in a group, too: `rashpa file inspect` is `rashpa inspect`. "
        "`rashpa --install-completion` lets your shell complete commands, run files, kernels and links.\n"
    ]
    for group, text in GROUPS.items():
        rows = "".join(
            f"| [`rashpa {page.name}`](commands/{page.name}.md) | {_cell(page.summary)} |\n"
            for page in known
            if COMMANDS[page.name].group == group
        )
        parts.append(f"\n## {group}: {text}\n\n| command | does |\n|---|---|\n{rows}")
    return "".join(parts)


def markdown(page: Page) -> str:
    """Return the command's page of the reference, in Markdown."""
    parts = [f"# rashpa {page.name}\n\n<!-- {MADE} -->\n\n{page.summary}.\n\n## Synopsis\n\n```text\n"]
    parts += [form.synopsis + "\n" for form in page.forms]
    parts.append("```\n")
    for form in page.forms:
        if len(page.forms) > 1:
            parts.append(f"\n## `{form.name}`\n\n")
            level = "###"
        else:
            parts.append("\n## Description\n\n")
            level = "##"
        parts.append("\n\n".join(_prose(paragraph) for paragraph in _paragraphs(form.text)) + "\n")
        parts += _rows(f"{level} Arguments", "argument", form.arguments)
        parts += _rows(f"{level} Options", "option", form.options)
    parts += _rows("## Exit status", "status", page.exits)
    parts += _rows("## Environment", "variable", page.environment)
    parts += _rows("## Files", "file", list(page.notes.get("files", {}).items()))
    examples = "\n".join(page.notes["examples"])
    parts.append(f"\n## Examples\n\n<!-- not run: shape -->\n```sh\n{examples}\n```\n")
    parts.append(f"\n## See also\n\n{', '.join(_link(one) for one in page.notes['see'])}.\n")
    return "".join(parts)


def _rows(title: str, head: str, rows: list[tuple[str, str]]) -> list[str]:
    if not rows:
        return []
    body = "".join(f"| `{name.replace('|', chr(92) + '|')}` | {_cell(text)} |\n" for name, text in rows)
    return [f"\n{title}\n\n| {head} | is |\n|---|---|\n{body}"]


def _prose(text: str) -> str:
    return re.sub(r"<(?=[a-z])", "&lt;", text)


def _cell(text: str) -> str:
    return _prose(" ".join(text.split())).replace("|", "\\|").replace("  [", " [")


def _link(name: str) -> str:
    if not name.endswith(".md"):
        return f"[rashpa {name}]({name}.md)"
    return f"[{Path(name).stem.replace('_', ' ')}]({name})"


# man


def man(page: Page) -> str:
    """Return the command's man page, section 1."""
    lines = [f'.\\" {MADE}', f'.TH "RASHPA-{page.name.upper()}" 1', ".SH NAME"]
    lines += [_roff(f"rashpa-{page.name} - {page.summary}"), ".SH SYNOPSIS"]
    for form in page.forms:
        lines += [".B " + _roff(form.synopsis), ".br"]
    for form in page.forms:
        lines.append(".SH DESCRIPTION" if len(page.forms) == 1 else f'.SH "{form.name.upper()}"')
        for paragraph in _paragraphs(form.text):
            lines += [_roff(paragraph), ".PP"]
        lines += _tagged("", [*form.arguments, *form.options])
    lines += _tagged("EXIT STATUS", page.exits) + _tagged("ENVIRONMENT", page.environment)
    lines += _tagged("FILES", list(page.notes.get("files", {}).items()))
    lines += [".SH EXAMPLES", ".nf", *(_roff(one) for one in page.notes["examples"]), ".fi", ".SH SEE ALSO"]
    lines.append(
        ", ".join(rf"\fBrashpa\-{_roff(one)}\fR(1)" for one in page.notes["see"] if not one.endswith(".md"))
        or "rashpa(1)"
    )
    return "\n".join(lines) + "\n"


def man_index() -> str:
    """Return the man page rashpa(1)."""
    lines = [
        f'.\\" {MADE}',
        '.TH "RASHPA" 1',
        ".SH NAME",
        _roff("rashpa - RDMA data acquisition for 2D X-ray detectors"),
    ]
    lines += [".SH SYNOPSIS", ".B " + _roff("rashpa COMMAND [OPTIONS] …"), ".SH COMMANDS"]
    for page in pages():
        lines += [".TP", rf"\fBrashpa\-{_roff(page.name)}\fR(1)", _roff(page.summary)]
    return "\n".join(lines) + "\n"


def _tagged(title: str, rows: list[tuple[str, str]]) -> list[str]:
    lines = [f'.SH "{title}"'] if title and rows else []
    for name, text in rows:
        lines += [".TP", rf"\fB{_roff(name)}\fR", _roff(" ".join(text.split()))]
    return lines


def _roff(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join(textwrap.wrap(("\\&" if text[:1] in ".'" else "") + text, 100, break_on_hyphens=False)) or text
