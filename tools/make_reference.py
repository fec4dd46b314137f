#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/reference/run_file.md and commands.md from the code that checks and obeys them, so that they cannot differ.

Usage: make_reference.py [--check]. With --check nothing is written; exit 1 when a file is out of date.
"""

import sys
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import typer.main
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from typer.cli import get_docs_for_click

from rashpa.cli.main import app
from rashpa.control.run_file import RunFile

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
RUN_FILE_HEAD = """# Run file

<!-- Made by tools/make_reference.py from python/rashpa/control/run_file.py; do not edit. -->

A run is described by one TOML file. It is checked against `schema/run.schema.json` before anything starts; an error names the file, the line or key, and
what would be right. Tables in double brackets may be repeated. Examples that run lie in `examples/`.
"""


def sections(model: type[BaseModel], prefix: str = "", *, repeated: bool = False) -> Iterator[str]:
    """The Markdown of a table of the run file and of those inside it."""
    inner: list[str] = []
    rows: list[str] = []
    for name, field in model.model_fields.items():
        models, many = _models(field.annotation)
        path = f"{prefix}.{name}" if prefix else name
        for member in models:
            inner += sections(member, path, repeated=many)
        if not models:
            rows.append(f"| `{name}` | {_type(field)} | {_default(field)} | {_cell(field.description or '')} |")
    if prefix:
        tag = next((_literal(field) for field in model.model_fields.values() if _literal(field) is not None), None)
        title = f"[[{prefix}]]" if repeated else f"[{prefix}]"
        kind = (
            f" {next(iter(_tag_names(model)))} = {tag}" if tag is not None and (repeated or prefix == "dataset") else ""
        )
        yield f"\n## `{title}`{kind}\n\n{(model.__doc__ or '').strip().partition(chr(10))[0]}\n"
        yield "\n| key | type | default | meaning |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"
    yield from inner


def _models(annotation: Any) -> tuple[list[type[BaseModel]], bool]:
    """The tables an annotation allows, and whether it is a list of them."""
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        return _models(typing.get_args(annotation)[0])
    if origin is list:
        return _models(typing.get_args(annotation)[0])[0], True
    if origin in (typing.Union, types.UnionType):
        found = [_models(part) for part in typing.get_args(annotation)]
        return [model for models, _ in found for model in models], any(many for _, many in found)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation], False
    return [], False


def _tag_names(model: type[BaseModel]) -> Iterator[str]:
    return (name for name, field in model.model_fields.items() if _literal(field) is not None)


def _literal(field: FieldInfo) -> str | None:
    """The only value of a field that has one."""
    values = typing.get_args(field.annotation) if typing.get_origin(field.annotation) is Literal else ()
    return f'"{values[0]}"' if len(values) == 1 and field.is_required() else None


def _type(field: FieldInfo) -> str:
    text = _type_name(field.annotation)
    limits = [
        f"{sign} {_number(value)}"
        for meta in field.metadata
        for attribute, sign in (("ge", "≥"), ("gt", ">"), ("le", "≤"), ("lt", "<"))
        if (value := getattr(meta, attribute, None)) is not None
    ]
    return _cell(" ".join([text, *limits]))


def _type_name(annotation: Any) -> str:
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _type_name(parts[0])
    if origin is Literal:
        return " or ".join(f"`{value!r}`".replace("'", '"') for value in parts)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_type_name(part) for part in parts if part is not type(None))
    if origin is tuple:
        return f"[{', '.join(_type_name(part) for part in parts)}]".replace(", ...", ", …")
    if origin is dict:
        return "table of names and values"
    if origin is list:
        return f"list of {_type_name(parts[0])}"
    names = {int: "integer", float: "number", str: "text", bool: "true or false", Ellipsis: "..."}
    return names.get(annotation, getattr(annotation, "__name__", str(annotation)))


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.default if field.default is not PydanticUndefined else None
    if value is None or value in ([], {}):
        return ""
    return (
        f"`{str(value).lower()}`"
        if isinstance(value, bool)
        else f"`{_number(value)}`"
        if not isinstance(value, str)
        else f'`"{value}"`'
    )


def _number(value: Any) -> str:
    """Large powers of two, and those less one, are easier to read as such."""
    if isinstance(value, int) and value >= (1 << 16) - 1:
        for less, text in ((0, ""), (1, " - 1")):
            if (value + less) & (value + less - 1) == 0:
                return f"2^{(value + less).bit_length() - 1}{text}"
    return str(value)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").strip()


def run_file() -> str:
    """The Markdown of run_file.md."""
    return RUN_FILE_HEAD + "".join(sections(RunFile))


def commands() -> str:
    """The Markdown of commands.md: what every command's --help says."""
    command = typer.main.get_command(app)
    context = typer.Context(command, info_name="rashpa")
    text = get_docs_for_click(obj=command, ctx=context, name="rashpa", title="Commands")
    note = "<!-- Made by tools/make_reference.py from the commands' --help; do not edit. -->"
    return text.replace("# Commands\n", f"# Commands\n\n{note}\n", 1).rstrip() + "\n"


def main() -> int:
    """Exit status."""
    stale = 0
    for name, text in (("run_file.md", run_file()), ("commands.md", commands())):
        path = FOLDER / name
        if "--check" not in sys.argv[1:]:
            path.write_text(text, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != text:
            print(f"{name} is out of date; run `make reference`")
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main())
