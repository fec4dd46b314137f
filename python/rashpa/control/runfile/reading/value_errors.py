# SPDX-License-Identifier: Apache-2.0
"""Messages for refused values, in words of the run file, not of the library that found the fault."""

import re
from collections.abc import Mapping
from typing import Any

from rashpa.data.base.value_words import demand_on

PATTERNS: Mapping[str, str] = {
    r"^[A-Za-z0-9_.\-]{1,64}$": "1 to 64 letters, digits, _ . or -",
    r"^[A-Za-z][A-Za-z0-9_\-]{0,31}$": "a letter, and then at most 31 letters, digits, _ or -",
    r"^[a-z][a-z0-9_]{0,47}$": "a small letter, and then at most 47 small letters, digits or _",
    r"^[A-Za-z0-9_][A-Za-z0-9_.\-]{0,127}$": "the name of a file without its folder: letters, digits, _ . or -",
    r"^[A-Za-z_][A-Za-z0-9_]{0,63}:[A-Za-z_][A-Za-z0-9_]{0,63}$": "module:function, such as hits:spots",
    r"^(https?://[^\s]+)?$": "the URL of a program that takes alarms, or empty",
    r"^(local|https?://.+)$": '"local", or the URL of a running node such as https://host:4781',
    r"^[A-Za-z0-9][A-Za-z0-9_.\-]{0,63}$": "a letter or digit, and then at most 63 letters, digits, _ . or -",
    r"^tcp://(\d{1,3}(\.\d{1,3}){3}|\[[0-9A-Fa-f:]{2,39}\]):\d{1,5}$": "an IP address and a port, such as tcp://127.0.0.1:5555 (port 0: any)",
    r"^[^\x00]+$": "a path, without a byte 0",
}
"""The meanings of the run file's patterns."""
_NUMBERS = ("int_type", "int_from_float", "float_type")


def said_of_value(item: Mapping[str, Any], shown: str, table: str = "") -> str:
    """Return one line without the place. `item`: pydantic's; `shown`: the value, as far as it fits; `table`: its key without numbers."""
    kind, context, value = item["type"], item.get("ctx", {}), item["input"]
    if kind == "string_pattern_mismatch":
        return f"it is {shown}; it must be {PATTERNS.get(context['pattern'], 'of another form')}"
    if kind in ("too_long", "too_short") and isinstance(value, list):
        bound = context.get("max_length") if kind == "too_long" else context.get("min_length")
        entries = f"{context['actual_length']} {'entry' if context['actual_length'] == 1 else 'entries'}"
        return f"{entries} given; at {'most' if kind == 'too_long' else 'least'} {bound}"
    if kind in ("list_type", "tuple_type") and isinstance(value, dict):
        return f"it is one table; write [[{table}]] in double brackets, once for each"
    if kind in ("model_type", "model_attributes_type", "dict_type") and isinstance(value, list):
        return f"it is a list; write [{table}] in single brackets, once"
    if kind in ("value_error", "assertion_error"):
        message = item["msg"].removeprefix("Value error, ")
        return f"{message[0].lower()}{message[1:]} (it is {shown})"
    hint = "; write it without quotes" if kind in _NUMBERS and isinstance(value, str) and _is_number(value) else ""
    return f"it is {shown}; {demand_on(item)}{hint}"


def said_of_short_list(given: int, description: str) -> str:
    """Return the message for a list with too few entries."""
    what = f": {description}" if description else ""
    return f"{given} {'entry is' if given == 1 else 'entries are'} given, which is not enough{what}"


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", text.strip()[:40]) is not None
