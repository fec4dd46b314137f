# SPDX-License-Identifier: Apache-2.0
"""Keys of run files in sentences and tables of pages exist, in the table that the page names, with allowed values."""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from python.tests.docs.pages import ROOT, pages, spans_of

SCHEMA = json.loads((ROOT / "schema" / "run.schema.json").read_text(encoding="utf-8"))
ASSIGNED = re.compile(r"(?:\[+([\w.]+)\]+ )?(\w+) = (.+)")
PLACED = re.compile(r"\[+([\w.]+)\]+ (\w+)")
DOTTED = re.compile(r"(" + "|".join(SCHEMA["properties"]) + r")((?:\.\w+)+)")
# Names that look like keys of a run file and are none: of Python objects, of files and of classes.
OTHERS = re.compile(
    r"run\.(?!frames|output|name|series_frames|orphaned|on_overrun|keep_books_s|existing|number|duration_s)\w+|\w+\.(?:toml|h5|json|hpp|cpp|py|log)|file = true"
)
PAGES_OF_THEIR_OWN = {"protocol.md", "telegrams.md", "card_registers.md", "unit_registers.md"}


def resolved(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the schemas that a node may refer to: those of references, alternatives and lists."""
    if "$ref" in node:
        yield from resolved(SCHEMA["$defs"][node["$ref"].rpartition("/")[2]])
    for part in (*node.get("anyOf", ()), *node.get("oneOf", ())):
        yield from resolved(part)
    if "items" in node:
        yield from resolved(node["items"])
    if not {"$ref", "anyOf", "oneOf", "items"} & set(node):
        yield node


@cache
def keys() -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Return the schemas of keys by table and name; subtables have their full name, and "" has the keys of all tables."""
    found: dict[str, dict[str, list[dict[str, Any]]]] = {"": {}}

    def walk(table: str, node: dict[str, Any]) -> None:
        for one in resolved(node):
            for name, value in one.get("properties", {}).items():
                whole = f"{table}.{name}" if table else name
                options = list(resolved(value))
                found.setdefault(table, {}).setdefault(name, []).extend(options)
                found[""].setdefault(name, []).extend(options)
                if any("properties" in option for option in options) and whole.count(".") < 3:
                    walk(whole, value)

    walk("", SCHEMA)
    return found


def allows(options: list[dict[str, Any]], value: Any) -> bool:
    """Return True when one of the schemas accepts the value; texts and numbers are compared by type only, lists and tables not at all."""
    types: dict[str, type | tuple[type, ...]] = {"string": str, "boolean": bool, "integer": int, "number": (int, float)}
    if isinstance(value, list | dict):
        return True
    for option in options:
        allowed = option.get("enum", [option["const"]] if "const" in option else None)
        if allowed is not None:
            if value in allowed:
                return True
        elif isinstance(value, types.get(option.get("type", "string"), object)):
            return True
    return False


def faults(span: str) -> Iterator[str]:
    """Yield the faults of a code span that looks like keys of a run file."""
    if OTHERS.fullmatch(span):
        return
    if DOTTED.fullmatch(span):
        table, *names = span.split(".")
        place = ".".join([table, *names[:-1]])
        if names[-1] not in keys().get(place, {}):
            yield f"[{place}] has no key {names[-1]}"
    elif placed := PLACED.fullmatch(span):
        if placed[2] not in keys().get(placed[1], {}):
            yield f"[{placed[1]}] has no key {placed[2]}"
    elif assigned := ASSIGNED.fullmatch(span):
        table, name, text = assigned[1] or "", assigned[2], assigned[3]
        if name in keys().get(table, {}):
            try:
                value = json.loads(text)
            except ValueError:
                return
            if not allows(keys()[table][name], value):
                yield f"{name} cannot be {text}"
        elif table:
            yield f"[{table}] has no key {name}"


@pytest.mark.parametrize(
    "path",
    [path for path in pages() if path.name not in PAGES_OF_THEIR_OWN],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_keys_that_a_page_names_are_those_of_run_files(path: Path) -> None:
    text = re.sub(r"`\s*\n\s*`", "` `", path.read_text(encoding="utf-8"))
    found = [f"`{span}`: {fault}" for span in spans_of(re.sub(r"(?<=\S)\n(?=\S)", " ", text)) for fault in faults(span)]
    assert found == []


@pytest.mark.parametrize(
    ("span", "fault"),
    [
        ("link.no_such", "[link] has no key no_such"),
        ("[buffer] colour", "[buffer] has no key colour"),
        ('orphaned = "never"', 'orphaned cannot be "never"'),
        ('orphaned = "finish"', None),
        ("[[buffer]] stack", None),
        ("run.frames", None),
    ],
)
def test_a_wrong_key_or_value_is_found(span: str, fault: str | None) -> None:
    assert list(faults(span)) == ([fault] if fault else [])
