# SPDX-License-Identifier: Apache-2.0
"""Reads a run file and reports each fault with file, line, key, and a remedy."""

import difflib
import hashlib
import json
import re
import sys
import tomllib
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from rashpa.control.runfile.key_types import KeyPath
from rashpa.control.runfile.reading.older_places import PlacedTwiceError, as_placed_now, caution_of
from rashpa.control.runfile.reading.refused_values import reason_against
from rashpa.control.runfile.reading.toml_bounds import beyond_bounds
from rashpa.control.runfile.run_file import RunFile
from rashpa.data.base.rashpa_error import RashpaError
from rashpa.data.base.value_words import said_of_short_list, said_of_value
from rashpa.data.files.file_names import HDF5, IMAGES, absent, is_file
from rashpa.data.files.regular_file import read_regular, reason, text_of

AbsentTables = Callable[[Mapping[str, Any]], Mapping[str, Mapping[str, Any]]]
MOST_BYTES = 1 << 20
"""The most bytes of a run file."""
_MOST_PROBLEMS = 20  # each is a line; a file of another kind would have thousands
_LONGEST_NAME = 80  # of a quotation in a message

# Possessive: a line that does not match is given up at once, however long it is.
_PART = r"""(?:[A-Za-z0-9_\-]++|"[^"]*+"|'[^']*+')"""
_TABLE = re.compile(r"^\s*+\[(\[?+)([^\]\[]++)\]\]?+\s*+(?:#.*)?$")
_KEY = re.compile(rf"^\s*+({_PART}(?:\s*+\.\s*+{_PART})*+)\s*+=")


class RunFileError(RashpaError, ValueError):
    """Reports a run file that cannot be run; the text has a line for each fault."""


@dataclass
class _Table:
    """Describes one name in the tree of tables. `count`: the number of elements so far of an array of tables, 0 for another table."""

    count: int = 0
    children: "dict[str, _Table]" = field(default_factory=dict)


class KeyLines:
    """Finds the line of a TOML text that has a key."""

    def __init__(self, text: str) -> None:
        self._lines: dict[KeyPath, int] = {}
        table: KeyPath = ()
        root = _Table()
        for number, line in enumerate(text.split("\n"), start=1):
            if found := _TABLE.match(line):
                names = tuple(part.strip().strip("\"'") for part in found[2].split("."))
                table = self._indexed(names, root, element=bool(found[1]))
                self._lines.setdefault(table, number)
            elif found := _KEY.match(line):
                names = tuple(part.strip().strip("\"'") for part in found[1].split("."))
                for end in range(1, len(names) + 1):
                    self._lines.setdefault(table + names[:end], number)

    @staticmethod
    def _indexed(names: tuple[str, ...], node: _Table, *, element: bool) -> KeyPath:
        """Return the path of a table with the index of each array's element. `element`: True when the line begins a new element of the last name's
        array."""
        path: list[str | int] = []
        for position, name in enumerate(names):
            node = node.children.setdefault(name, _Table())
            if element and position == len(names) - 1:
                node.count += 1
                node.children.clear()
            path.append(name)
            if node.count:
                path.append(node.count - 1)
        return tuple(path)

    def line(self, path: KeyPath) -> int | None:
        """Return the line of the key, or of the nearest table around it; None when neither has a line."""
        for end in range(len(path), 0, -1):
            if path[:end] in self._lines:
                return self._lines[path[:end]]
        return None


class RunFileSource:
    """Describes the file of a RunFile, for messages and for later readers. `text`: TOML, or JSON of tables in memory."""

    def __init__(self, path: Path, text: str, sha256: str = "", *, is_toml: bool = True) -> None:
        self.path = path
        self.text = text
        self.is_toml = is_toml
        self.sha256 = sha256  # of the file's bytes
        self.older: dict[KeyPath, KeyPath] = {}  # of keys that stand where an older version had them: where
        self.cautions: tuple[str, ...] = ()  # of keys at older places
        self._keys = KeyLines(text if is_toml else "")

    def where(self, path: KeyPath) -> str:
        """Return `file:line: key`, with the parts that are known."""
        path = next((at + path[len(now) :] for now, at in self.older.items() if path[: len(now)] == now), path)
        line = self._keys.line(path)
        return f"{self.path}{f':{line}' if line else ''}: {key_text(path)}"


def key_text(path: KeyPath) -> str:
    """Return a key as text: buffer[0].kernel[1].name."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f"{'.' if text else ''}{_short(part)}"
    return text or "the file"


def read_run_file(path: Path, absent_tables: AbsentTables | None = None) -> tuple[RunFile, RunFileSource]:
    """Read the run file at `path`. `absent_tables`: returns, from the present tables, the keys of tables that may be absent. Raise RunFileError that
    names file, line and key of each fault."""
    try:
        data = read_regular(path, MOST_BYTES)
    except FileNotFoundError:
        raise RunFileError(f"{path}: {absent(path, ('.toml',))}") from None
    except (OSError, ValueError) as error:
        why = _kind_by_name(path) or (reason(error) if isinstance(error, OSError) else str(error))
        raise RunFileError(f"{path}: cannot be read: {why}; give a run file (TOML)") from None
    return parse_run_file(path, data, absent_tables)


def _kind_by_name(path: Path) -> str:
    """Return a text for a file that its name shows to be of another kind, empty for others."""
    if not is_file(path):
        return ""
    if path.suffix.lower() in HDF5:
        return f"it is an HDF5 file, which `rashpa inspect {path}` shows"
    return f"it is a file of images by its name ({path.suffix})" if path.suffix.lower() in IMAGES else ""


def parse_run_file(path: Path, data: bytes, absent_tables: AbsentTables | None = None) -> tuple[RunFile, RunFileSource]:
    """Parse the run file in `data`, which may be foreign; `path` is its name in messages. Raise only RunFileError."""
    if why := _kind_by_name(path):
        raise RunFileError(f"{path}: cannot be read: {why}; give a run file (TOML)")
    try:
        text = text_of(data).replace("\r\n", "\n")
    except ValueError as error:
        raise RunFileError(f"{path}: cannot be read as UTF-8 text: {error}") from None
    if beyond := beyond_bounds(text):
        raise RunFileError(f"{path}:{beyond[0]}: {beyond[1]}; a run file has no such thing")
    try:
        raw = tomllib.loads(text)
    except ValueError as error:  # a number of thousands of digits is one, too
        raise RunFileError(_no_toml(path, text, str(error))) from None
    for name, keys in (absent_tables(raw) if absent_tables else {}).items():
        there = raw.setdefault(name, {})
        if isinstance(there, dict):
            raw[name] = {**keys, **there}
    return _validated(path, raw, RunFileSource(path, text, hashlib.sha256(data).hexdigest()))


def run_file_of(values: Mapping[str, Any]) -> tuple[RunFile, RunFileSource]:
    """Make a run file from tables in memory, in the form that TOML gives. Raise RunFileError that names the wrong keys."""
    text = json.dumps(values, default=str, sort_keys=True)
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    return _validated(Path("run"), dict(values), RunFileSource(Path("run"), text, sha256, is_toml=False))


def _as_placed_now(raw: dict[str, Any], source: RunFileSource) -> dict[str, Any]:
    """Return the tables with keys moved from older places. Raise RunFileError when a key is given at both places."""
    try:
        tables, moves = as_placed_now(raw)
    except PlacedTwiceError as twice:
        here = source.where(twice.older)
        raise RunFileError(
            f"{here}: and [{key_text(twice.now)}], which is the place for it; leave [{key_text(twice.older)}] out"
        ) from None
    source.older |= {move.now: move.older for move in moves if move.now}
    if caution := caution_of(moves):
        source.cautions = (f"{source.where(('link',))}: {caution}",)
    return tables


def _validated(path: Path, raw: dict[str, Any], source: RunFileSource) -> tuple[RunFile, RunFileSource]:
    raw = _as_placed_now(raw, source)
    try:
        return RunFile.model_validate(raw), source
    except ValidationError as error:
        found = error.errors(include_url=False)
        problems = [_explain(item, raw, source) for item in found[:_MOST_PROBLEMS]]
        if len(found) > _MOST_PROBLEMS:
            problems.append(f"{path}: and {len(found) - _MOST_PROBLEMS} more of this kind")
        raise RunFileError("\n".join(problems)) from None


_TOML_HINTS = {
    "Cannot declare": "a table stands once in a file; write [[…]] for one of several, or put both together",
    "Cannot overwrite": "this key is there already; keep one",
    "Invalid value": "a text stands in quotes; numbers, true and false do not",
    "Expected '=' after": "write key = value",
    "Expected newline or end": "a line has one key; look for a quote or comma that is missing",
    "Unclosed array": "add the missing ]",
    "Unterminated string": "add the missing quote",
    "Unclosed inline table": "add the missing }",
    "Unescaped": "write two backslashes for one, or the text in single quotes",
    "Invalid initial character": "write key = value, or [table]",
    "Expected ']": "close the brackets of the table's name",
}
_NO_END = "Illegal character '\\n'"  # of a text that ends with its line


def _no_toml(path: Path, text: str, said: str) -> str:
    """Return the parser's message with the line number before it, which the message lacks at the end of the file."""
    what, _, place = said[:200].rpartition(" (at ")
    found = re.fullmatch(r"line (\d+), column (\d+)\)", place)
    line, column = (int(found[1]), f", column {found[2]}") if found else (text.rstrip("\n").count("\n") + 1, "")
    hint = next((f"; {hint}" for begin, hint in _TOML_HINTS.items() if what.startswith(begin)), "")
    if what == _NO_END:
        what, hint = "a text has no end on this line", "; add the missing quote"
    named = re.sub(r"\('(.+?)',?\)", lambda match: f"[{match[1]}]", what.replace("', '", ".")) if what else said[:200]
    return f"{path}{f':{line}' if what else ''}: not TOML: {named}{column}{hint}"


def _short(text: Any) -> str:
    return str(text) if len(str(text)) <= _LONGEST_NAME else f"{str(text)[:_LONGEST_NAME]}…"


def _explain(item: Any, raw: Any, source: RunFileSource) -> str:
    location: KeyPath = item["loc"]
    path = _path_in_file(location, raw, missing_last=item["type"] == "missing")
    if item["type"] == "extra_forbidden":
        known = _known_keys(location[:-1])
        within = _keys_within(location[:-1])
        near = difflib.get_close_matches(_short(location[-1]), [*known, *within], n=1, cutoff=0.6)
        meant = f'"{near[0]}"' if near and near[0] in known else ", ".join(within[near[0]]) if near else ""
        hint = f"did you mean {meant}?" if near else f"known here: {', '.join(known)}"
        return f"{source.where(path)}: no such key; {hint}"
    if item["type"] == "missing" and isinstance(location[-1], int):  # of a list of a fixed length
        description = _description_at(location[:-1])
        return f"{source.where(path[:-1])}: {said_of_short_list(len(item['input']), description)}"
    if item["type"] == "missing":
        info = _kind_at(location)
        what = f": {info.description}" if isinstance(info, FieldInfo) and info.description else ""
        return f"{source.where(path)}: this key is needed and not there{what}"
    if item["type"].startswith("union_tag"):
        tag = str(item["ctx"]["discriminator"]).strip("'")
        choices = [str(choice) for member in _members(_kind_at(location)) for choice in _tags(member, tag)]
        given = item["ctx"].get("tag")
        near = difflib.get_close_matches(_short(given), choices, n=1)
        hint = f'did you mean "{near[0]}"?' if near else f"one of {', '.join(choices)}"
        said = f'"{_short(given)}" is not known' if given is not None else "is needed and not there"
        return f"{source.where((*path, tag))}: {said}; {hint}"
    reason = reason_against(_table_of(path), item.get("input"))
    return f"{source.where(path)}: {f'{reason}; ' * bool(reason)}{said_of_value(item, _table_of(path))}"


def _table_of(path: KeyPath) -> str:
    return ".".join(_short(part) for part in path if not isinstance(part, int))


def _description_at(location: KeyPath) -> str:
    """Return the description of the key at pydantic's location, empty when it has none."""
    kind = _kind_at(location)
    return str(kind.description or "") if isinstance(kind, FieldInfo) else ""


def _path_in_file(location: KeyPath, raw: Any, missing_last: bool) -> KeyPath:
    """Return pydantic's location as a path in the file, without the tags of unions."""
    path: list[str | int] = []
    value = raw
    for position, part in enumerate(location):
        children: dict[str | int, Any] = dict(enumerate(value)) if isinstance(value, list) else {}
        children = value if isinstance(value, dict) else children
        # `kind = "files"` has a key `files`, too
        if part in children and not (part in children.values() and _is_tag(location[:position], part)):
            value = children[part]
        elif not (missing_last and position == len(location) - 1):
            continue
        path.append(part)
    return tuple(path)


def _is_tag(location: KeyPath, part: str | int) -> bool:
    members = _members(_kind_at(location))
    return len(members) > 1 and any(part in _tags(member) for member in members)


def _known_keys(location: KeyPath) -> list[str]:
    """Return the keys that the table at pydantic's location may have."""
    return sorted({name for member in _members(_kind_at(location)) for name in member.model_fields})


def _keys_within(location: KeyPath) -> dict[str, list[str]]:
    """Return the keys of single tables inside the table at pydantic's location, each with its places as text: [link.roce] pmtu."""
    found: dict[str, list[str]] = {}
    for name in _known_keys(location):
        kind = _kind_at((*location, name))
        for member in _members(kind) if get_origin(_plain(kind)) is None else ():
            for key in member.model_fields:
                found.setdefault(key, []).append(f"[{key_text((*location, name))}] {key}")
    return found


def _kind_at(location: KeyPath) -> Any:
    """Return the type of the value at pydantic's location."""
    kind: Any = RunFile
    for part in location:
        if isinstance(part, int):
            kind = get_args(_plain(kind))[0]
            continue
        members = _members(kind)
        if len(members) == 1 and part in members[0].model_fields:
            kind = members[0].model_fields[part]
        else:  # the tag of a union
            kind = next((member for member in members if part in _tags(member)), kind)
    return kind


def _plain(kind: Any) -> Any:
    if isinstance(kind, FieldInfo):
        return _plain(kind.annotation)
    if get_origin(kind) is typing.Annotated:
        return _plain(get_args(kind)[0])
    return kind


def _members(kind: Any) -> list[type[BaseModel]]:
    kind = _plain(kind)
    if get_origin(kind) in (types.UnionType, typing.Union):
        return [member for argument in get_args(kind) for member in _members(argument)]
    return [kind] if isinstance(kind, type) and issubclass(kind, BaseModel) else []


def _tags(member: type[BaseModel], key: str = "") -> list[Any]:
    """Return the possible values of the literal fields of a union's member; with `key`, only those of that field."""
    fields = [info.annotation for name, info in member.model_fields.items() if not key or name == key]
    return [tag for kind in fields if get_origin(kind) is typing.Literal for tag in get_args(kind)]


def run_schema() -> dict[str, Any]:
    """Return the content of schema/run.schema.json; `python -m rashpa.control.runfile.run_file_reader > schema/run.schema.json` writes it again."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **RunFile.model_json_schema()}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run_schema(), indent=2, ensure_ascii=False) + "\n")
