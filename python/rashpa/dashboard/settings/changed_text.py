# SPDX-License-Identifier: Apache-2.0
"""Changes single keys in a run file's text. All other lines, including comments, stay unchanged."""

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from rashpa.data.base.rashpa_error import RashpaError

_DELETE = "\x7f"  # which JSON leaves as it is, and TOML forbids
Key = tuple[str, str]
"""A table at the top of the file, and a key of it."""


class TextError(RashpaError, ValueError):
    """Reports a text in which a key cannot be changed by changing one line."""


def text_with(text: str, changes: Mapping[Key, str | int | float]) -> str:
    """Return the text with these values. Raise TextError when the text has its tables in a form without a line for a key."""
    wanted = tomllib.loads(text)
    changed = text
    for (table, key), value in changes.items():
        changed = _with_key(changed, table, key, value_text(value))
        there = wanted.setdefault(table, {})
        if not isinstance(there, dict):
            raise TextError(f"[{table}] is no table")
        there[key] = value
    try:
        found: Any = tomllib.loads(changed)
    except ValueError:
        found = None
    if found != wanted:
        tables = ", ".join(dict.fromkeys(f"[{table}]" for table, _ in changes))
        raise TextError(f"the page changes keys that stand alone on a line below {tables}; change the file itself")
    return changed


def value_text(value: str | int | float) -> str:
    """Return a value in TOML."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace(_DELETE, "\\u007f")
    return repr(value)


def _with_key(text: str, table: str, key: str, value: str) -> str:
    lines = text.split("\n")
    header = re.compile(rf"\s*\[\s*{re.escape(table)}\s*\]\s*(#.*)?$")
    written = re.compile(rf"\s*{re.escape(key)}\s*=")
    start = next((number for number, line in enumerate(lines) if header.match(line)), None)
    if start is None:
        return f"{text.rstrip()}\n\n[{table}]\n{key} = {value}\n"
    for number in range(start + 1, len(lines)):
        if written.match(lines[number]):
            lines[number] = f"{key} = {value}"
            return "\n".join(lines)
        if lines[number].lstrip().startswith("["):
            break
    lines.insert(start + 1, f"{key} = {value}")
    return "\n".join(lines)
