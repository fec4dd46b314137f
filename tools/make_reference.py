#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/reference/run_file.md, commands.md, commands/, metrics.md, http.md, schema/node_http.json and packaging/man from the code that
implements them, so that they always agree.

Usage: make_reference.py [--check]. With --check nothing is written; exit 1 when a file is out of date.
"""

import json
import sys
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

import command_pages
from rashpa.control.runfile.run_file import RunFile
from rashpa.node.door.http_interface import interface
from rashpa.node.door.metric_list import GROUPS

ROOT = Path(__file__).resolve().parents[1]
RUN_FILE_HEAD = """# Run file

<!-- Made by tools/make_reference.py from python/rashpa/control/runfile/run_file.py; do not edit. -->

A run is described by one TOML file. It is checked against `schema/run.schema.json` before anything starts; an error names the file, the line or key, and
the remedy. Tables in double brackets may be repeated. Examples that run lie in `examples/`.
"""

METRICS_HEAD = """# Metrics

<!-- Made by tools/make_reference.py from python/rashpa/node/door/metric_list.py; do not edit. -->

`/metrics` of a node gives these metrics to Prometheus ([how to scrape it](../how-to/watch_nodes.md)). They are made from the node's counters at each scrape, so that they are those of status telegrams and reports. A metric
of work that a node does not do, or has not seen yet, is absent. Counters of a run begin at 0 with each run. A histogram has `_bucket`, `_sum` and `_count` behind its name; buckets of
latencies are powers of two, 1.024 µs to 17 s, and hold exactly what the engine counted.
"""
HTTP_HEAD = """# The HTTP interface of a node

<!-- Made by tools/make_reference.py from python/rashpa/node/door/http_interface.py; do not edit. -->

"""


def sections(model: type[BaseModel], prefix: str = "", *, repeated: bool = False) -> Iterator[str]:
    """Yield the Markdown of a table of the run file, and of its subtables."""
    inner: list[str] = []
    rows: list[str] = []
    for name, field in model.model_fields.items():
        models, many = _models(field.annotation)
        path = f"{prefix}.{name}" if prefix else name
        for member in _several(models):
            inner += sections(member, path, repeated=many)
        if not models:
            rows.append(f"| `{name}` | {_type(field)} | {_default(field)} | {_cell(field.description or '')} |")
    if prefix:
        tag = next((_literal(field) for field in model.model_fields.values() if _literal(field) is not None), None)
        title = f"[[{prefix}]]" if repeated else f"[{prefix}]"
        title += f"` or `[{prefix}]" if prefix in ("emulator", "receiver") else ""
        kind = (
            f" {next(iter(_tag_names(model)))} = {tag}" if tag is not None and (repeated or prefix == "dataset") else ""
        )
        yield f"\n## `{title}`{kind}\n\n{(model.__doc__ or '').strip().partition(chr(10))[0]}\n"
        yield "\n| key | type | default | meaning |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"
    yield from inner


def _several(models: list[type[BaseModel]]) -> list[type[BaseModel]]:
    """Return the tables without those that have only keys of another one: [receiver] has those of [[receiver]]."""
    return [one for one in models if not any(other in one.__mro__[1:] for other in models)]


def _models(annotation: Any) -> tuple[list[type[BaseModel]], bool]:
    """Return the tables that an annotation allows, and True when it is a list of them."""
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
    """Return the value of a field with only one allowed value, otherwise None."""
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
    """Return a number as text; large powers of two, and these minus one, are written as powers."""
    if isinstance(value, int) and value >= (1 << 16) - 1:
        for less, text in ((0, ""), (1, " - 1")):
            if (value + less) & (value + less - 1) == 0:
                return f"2^{(value + less).bit_length() - 1}{text}"
    return str(value)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").strip()


def run_file() -> str:
    """Return the Markdown of run_file.md."""
    return RUN_FILE_HEAD + "".join(sections(RunFile))


def metrics() -> str:
    """Return the Markdown of metrics.md."""
    parts = [METRICS_HEAD]
    for title, group in GROUPS.items():
        parts.append(f"\n## {title}\n\n| metric | kind | labels | meaning |\n|---|---|---|---|\n")
        for one in group:
            labels = ", ".join(f"`{label}`" for label in one.labels)
            parts.append(f"| `{one.name}` | {one.kind} | {labels} | {_cell(one.text)} |\n")
    return "".join(parts)


def http() -> str:
    """Return the Markdown of http.md."""
    document = interface()
    parts = [
        HTTP_HEAD,
        document["info"]["description"],
        "\n\nThe same for programs, with every field of every answer, is `/openapi.json` of a ",
    ]
    parts.append("node, and [schema/node_http.json](../../schema/node_http.json) (OpenAPI 3.1).\n")
    for path, operations in document["paths"].items():
        for method, one in operations.items():
            parts.append(f"\n## `{method.upper()} {path}`\n\n{one['summary']}\n")
            if one.get("parameters"):
                parts.append("\n| parameter | values | meaning |\n|---|---|---|\n")
                parts += [
                    f"| `{known['name']}` | {_values(known)} | {_cell(known['description'])} |\n"
                    for known in one["parameters"]
                ]
            parts.append("\n| HTTP status | type | when |\n|---|---|---|\n")
            for status, answer in one["responses"].items():
                parts.append(
                    f"| {status} | {', '.join(answer.get('content', ['–']))} | {_cell(answer['description'])} |\n"
                )
    return "".join(parts)


def _values(parameter: dict[str, Any]) -> str:
    schema = parameter["schema"]
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if schema["type"] == "integer":
        usual = f", {schema['default']} when not given" if "default" in schema else ""
        return f"{schema['minimum']} … {schema['maximum']}{usual}"
    return "text" if "pattern" not in schema else "a number"


def main() -> int:
    """Return the exit status."""
    stale = 0
    pages = command_pages.pages()
    made = {f"docs/reference/commands/{page.name}.md": command_pages.markdown(page) for page in pages}
    made |= {f"packaging/man/rashpa-{page.name}.1": command_pages.man(page) for page in pages}
    for folder in ("docs/reference/commands", "packaging/man"):
        for path in (ROOT / folder).glob("*"):
            if f"{folder}/{path.name}" not in made and path.name != "rashpa.1":
                print(f"{folder}/{path.name} is of no command; remove it")
                stale = 1
    for name, text in (
        *made.items(),
        ("packaging/man/rashpa.1", command_pages.man_index()),
        ("docs/reference/run_file.md", run_file()),
        ("docs/reference/commands.md", command_pages.index()),
        ("docs/reference/metrics.md", metrics()),
        ("docs/reference/http.md", http()),
        ("schema/node_http.json", json.dumps(interface(), indent=2, ensure_ascii=False) + "\n"),
    ):
        path = ROOT / name
        if "--check" not in sys.argv[1:]:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != text:
            print(f"{name} is out of date; run `make reference`")
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main())
