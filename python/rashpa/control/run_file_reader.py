"""Reads a run file and says, for everything wrong in it, file, line, key, and what would be right."""

import difflib
import json
import re
import sys
import tomllib
import types
import typing
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from rashpa.control.run_file import RunFile

KeyPath = tuple[str | int, ...]

_TABLE = re.compile(r"^\s*\[(\[?)\s*([^\]\[]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""^\s*((?:[A-Za-z0-9_\-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_\-]+|"[^"]*"|'[^']*'))*)\s*=""")


class RunFileError(ValueError):
    """A run file that cannot be run; one message, a line for each thing that is wrong."""


class KeyLines:
    """On which line of a TOML text a key is written."""

    def __init__(self, text: str) -> None:
        self._lines: dict[KeyPath, int] = {}
        table: KeyPath = ()
        counts: dict[tuple[str, ...], int] = {}
        for number, line in enumerate(text.splitlines(), start=1):
            if found := _TABLE.match(line):
                names = tuple(part.strip().strip("\"'") for part in found[2].split("."))
                if found[1]:
                    counts[names] = counts.get(names, -1) + 1
                    for other in [key for key in counts if len(key) > len(names) and key[: len(names)] == names]:
                        del counts[other]
                table = self._indexed(names, counts)
                self._lines.setdefault(table, number)
            elif found := _KEY.match(line):
                names = tuple(part.strip().strip("\"'") for part in found[1].split("."))
                for end in range(1, len(names) + 1):
                    self._lines.setdefault(table + names[:end], number)

    @staticmethod
    def _indexed(names: tuple[str, ...], counts: dict[tuple[str, ...], int]) -> KeyPath:
        path: list[str | int] = []
        for end in range(1, len(names) + 1):
            path.append(names[end - 1])
            if names[:end] in counts:
                path.append(counts[names[:end]])
        return tuple(path)

    def line(self, path: KeyPath) -> int | None:
        """The line of the key or of the nearest table around it; None for the file as a whole."""
        for end in range(len(path), 0, -1):
            if path[:end] in self._lines:
                return self._lines[path[:end]]
        return None


class RunFileSource:
    """The file that a RunFile came from, for messages."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self._keys = KeyLines(text)

    def where(self, path: KeyPath) -> str:
        """`file:line: key`, as far as it is known."""
        line = self._keys.line(path)
        return f"{self.path}{f':{line}' if line else ''}: {key_text(path)}"


def key_text(path: KeyPath) -> str:
    """buffer[0].kernel[1].name"""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f"{'.' if text else ''}{part}"
    return text or "the file"


def read_run_file(path: Path) -> tuple[RunFile, RunFileSource]:
    """The run file at `path`. RunFileError names file, line and key of everything that is wrong."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        others = sorted(str(other) for other in path.parent.glob("*.toml")) if path.parent.is_dir() else []
        hint = f"; there are {', '.join(others[:5])}" if others else ""
        raise RunFileError(f"{path}: no such file{hint}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise RunFileError(f"{path}: cannot be read as UTF-8 text: {error}") from None
    source = RunFileSource(path, text)
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RunFileError(f"{path}: not TOML: {error}") from None
    try:
        return RunFile.model_validate(raw), source
    except ValidationError as error:
        raise RunFileError("\n".join(_explain(item, raw, source) for item in error.errors())) from None


def _explain(item: Any, raw: Any, source: RunFileSource) -> str:
    location: KeyPath = item["loc"]
    path = _path_in_file(location, raw, missing_last=item["type"] == "missing")
    if item["type"] == "extra_forbidden":
        known = _known_keys(location[:-1])
        near = difflib.get_close_matches(str(location[-1]), known, n=1, cutoff=0.6)
        hint = f'did you mean "{near[0]}"?' if near else f"known here: {', '.join(known)}"
        return f"{source.where(path)}: no such key; {hint}"
    if item["type"] == "missing":
        return f"{source.where(path)}: this key is needed and not there"
    if item["type"].startswith("union_tag"):
        tag = str(item["ctx"]["discriminator"]).strip("'")
        choices = [str(choice) for member in _members(_kind_at(location)) for choice in _tags(member, tag)]
        given = item["ctx"].get("tag")
        near = difflib.get_close_matches(str(given), choices, n=1)
        hint = f'did you mean "{near[0]}"?' if near else f"one of {', '.join(choices)}"
        said = f'"{given}" is not known' if given is not None else "is needed and not there"
        return f"{source.where((*path, tag))}: {said}; {hint}"
    message = item["msg"].removeprefix("Value error, ")
    return (
        f"{source.where(path)}: {message[0].lower()}{message[1:]} (it is {json.dumps(item['input'], default=str)[:80]})"
    )


def _path_in_file(location: KeyPath, raw: Any, missing_last: bool) -> KeyPath:
    """pydantic's location without the tags of unions, which are not keys of the file."""
    path: list[str | int] = []
    value = raw
    for position, part in enumerate(location):
        children: dict[str | int, Any] = dict(enumerate(value)) if isinstance(value, list) else {}
        children = value if isinstance(value, dict) else children
        if part in children:
            value = children[part]
        elif not (missing_last and position == len(location) - 1):
            continue
        path.append(part)
    return tuple(path)


def _known_keys(location: KeyPath) -> list[str]:
    """The keys that the table at pydantic's location may have."""
    return sorted({name for member in _members(_kind_at(location)) for name in member.model_fields})


def _kind_at(location: KeyPath) -> Any:
    """The type of the value at pydantic's location."""
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
    """What the literal fields of a union's member may be; `key`: that one alone."""
    fields = [info.annotation for name, info in member.model_fields.items() if not key or name == key]
    return [tag for kind in fields if get_origin(kind) is typing.Literal for tag in get_args(kind)]


def run_schema() -> dict[str, Any]:
    """schema/run.schema.json: `python -m rashpa.control.run_file_reader > schema/run.schema.json` writes it anew."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **RunFile.model_json_schema()}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run_schema(), indent=2, ensure_ascii=False) + "\n")
