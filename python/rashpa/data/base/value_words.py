# SPDX-License-Identifier: Apache-2.0
"""Describes values that a model refuses: the key, its fault, and the remedy. The texts replace those of pydantic."""

import difflib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

PATTERNS: Mapping[str, str] = {
    r"^[A-Za-z0-9_.\-]{1,64}$": "1 to 64 letters, digits, _ . or -",
    r"^[A-Za-z][A-Za-z0-9_\-]{0,31}$": "a letter, and then at most 31 letters, digits, _ or -",
    r"^[a-z][a-z0-9_]{0,47}$": "a small letter, and then at most 47 small letters, digits or _",
    r"^[A-Za-z0-9_][A-Za-z0-9_.\-]{0,127}$": "the name of a file without its folder: letters, digits, _ . or -",
    r"^[A-Za-z_][A-Za-z0-9_]{0,63}:[A-Za-z_][A-Za-z0-9_]{0,63}$": "module:function, such as hits:spots",
    r"^(https?://[^\s]+)?$": "the URL of a program that takes alarms, or empty",
    r"^(local|https?://.+)$": '"local", or the URL of a running node such as https://host:4781',
    r"^[A-Za-z0-9][A-Za-z0-9_.\-]{0,63}$": "a letter or digit, and then at most 63 letters, digits, _ . or -",
    r"^[A-Za-z][A-Za-z0-9_.\-]{0,63}$": "a letter, and then at most 63 letters, digits, _ . or -",
    r"^tcp://(\d{1,3}(\.\d{1,3}){3}|\[[0-9A-Fa-f:]{2,39}\]):\d{1,5}$": "an IP address and a port, such as tcp://127.0.0.1:5555 (port 0: any)",
    r"^[^\x00]+$": "a path, without a byte 0",
    r"^auto|off|[0-9]{1,4}$": "auto, off, or the number of a node of NUMA",
}
"""The meanings of the patterns of run files and telegrams."""

LONGEST_SHOWN = 80  # characters of a refused value
_OTHER_NAMES = {"gpu": "cuda", "nvidia": "cuda", "amd": "opencl", "h5": "hdf5", "nxmx": "hdf5", "nexus": "hdf5", "zmq": "stream2", "rdma": "roce"}  # fmt: skip
_KINDS = {
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a shorter whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": "a text in quotes",
    "string_sub_type": "a text in quotes",
    "string_unicode": "a text of characters that UTF-8 has",
    "path_type": "a path in quotes",
    "list_type": "a list in brackets",
    "tuple_type": "a list in brackets",
    "set_type": "a list in brackets",
    "iterable_type": "a list in brackets",
    "dict_type": "a table",
    "mapping_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "dataclass_type": "a table",
    "dataclass_exact_type": "a table",
    "default_factory_not_called": "given, since the key that it follows from is wrong",
}
_BOUNDS = {
    "greater_than_equal": ("at least", "ge"),
    "greater_than": ("more than", "gt"),
    "less_than_equal": ("at most", "le"),
    "less_than": ("less than", "lt"),
    "multiple_of": ("a multiple of", "multiple_of"),
}
_LENGTHS = {"string_too_short": ("at least", "min_length"), "string_too_long": ("at most", "max_length")}
_KIND_OF_UNION = re.compile(
    r"(bool|int|float|str|none|constrained-\w+|(list|tuple|dict|literal|function-\w+|nullable)\[.*)"
)
_NUMBERS = ("int_type", "int_from_float", "float_type")


def faults_of(error: Any, leading: int = 0, within: str = "") -> list[str]:
    """Return all faults of a refused model as `key: it is …; it must be …`. `error`: pydantic's error; `leading`: the number of leading parts of each
    location that are no keys; `within`: the key of the whole model."""
    by_key: dict[str, list[Mapping[str, Any]]] = {}
    for item in error.errors(include_url=False):
        by_key.setdefault(key_of((*filter(None, [within]), *_without_kind(item["loc"][leading:]))), []).append(item)
    return [f"{key}{': ' * bool(key)}{_said_of_union(items)}" for key, items in by_key.items()]


def key_of(location: Iterable[str | int]) -> str:
    """Return the key at pydantic's location as text: files[0].sha256."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).removeprefix(".")


def said_of_value(item: Mapping[str, Any], table: str = "") -> str:
    """Return the text of one fault, without its key. `item`: one of pydantic's errors; `table`: the value's key without numbers, if it may be a table
    of a run file."""
    kind, context, value = item["type"], item.get("ctx", {}), item["input"]
    shown = shown_of(value)
    if kind == "missing":
        return "it is needed and not there; give it"
    if kind == "extra_forbidden":
        return "no such key; leave it out"
    if kind == "union_tag_not_found":
        return f"{str(context['discriminator']).strip(chr(39))} is needed and not there; give it"
    if kind == "union_tag_invalid":
        return f"{shown_of(context['tag'])} is not known; {_one_of(str(context['expected_tags']), context['tag'])}"
    if kind == "string_pattern_mismatch":
        return f"it is {shown}; it must be {PATTERNS.get(context['pattern'], 'of another form')}"
    if kind in ("too_long", "too_short") and isinstance(value, list | tuple | dict):
        bound = context.get("max_length") if kind == "too_long" else context.get("min_length")
        entries = f"{context['actual_length']} {'entry' if context['actual_length'] == 1 else 'entries'}"
        return f"{entries} given; at {'most' if kind == 'too_long' else 'least'} {bound}"
    if kind in ("list_type", "tuple_type") and isinstance(value, dict):
        return f"it is one table; write [[{table}]] in double brackets, once for each" if table else _plain(item, shown)
    if kind in ("model_type", "model_attributes_type", "dict_type") and isinstance(value, list):
        return f"it is a list; write [{table}] in single brackets, once" if table else _plain(item, shown)
    if kind in ("value_error", "assertion_error"):
        message = re.sub("^(Value error|Assertion failed), ", "", item["msg"])
        return f"{message[0].lower()}{message[1:]}" + (f" (it is {shown})" if item["loc"] else "")
    hint = "; write it without quotes" if kind in _NUMBERS and isinstance(value, str) and _is_number(value) else ""
    return _plain(item, shown) + hint


def _without_kind(location: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """Return the location without its last part when that is no key but a type, which pydantic adds for unions of plain values."""
    return location[:-1] if location and _KIND_OF_UNION.fullmatch(str(location[-1])) else location


def _said_of_union(items: list[Mapping[str, Any]]) -> str:
    """Return one line for all errors of one value. If some errors are not about the value's type, use only these; otherwise list the demands of all
    types."""
    own = [item for item in items if not item["type"].endswith(("_type", "_parsing"))] or items
    said = list(dict.fromkeys(said_of_value(item) for item in own))
    demands = [text.partition("; it must be ")[2] for text in said]
    if len(said) == 1 or not all(demands):
        return said[0]
    return f"{said[0].partition('; it must be ')[0]}; it must be {', '.join(demands[:-1])} or {demands[-1]}"


def said_of_short_list(given: int, description: str) -> str:
    """Return the message for a list with too few entries."""
    what = f": {description}" if description else ""
    return f"{given} {'entry is' if given == 1 else 'entries are'} given, which is not enough{what}"


def shown_of(value: Any) -> str:
    """Return a value as JSON, cut to fit into a message."""
    if isinstance(value, dict | list) and len(value) > LONGEST_SHOWN:
        return f"{len(value)} entries"
    try:
        return json.dumps(value, default=str)[:LONGEST_SHOWN]
    except (ValueError, RecursionError):
        return f"a number of {value.bit_length()} bits" if isinstance(value, int) else f"a {type(value).__name__}"


def one_of(choices: Iterable[str], value: Any) -> str:
    """Return the advice to use one of the choices; it names the choice that resembles the given text."""
    listed = list(choices)
    return _one_of(", ".join(f"'{one}'" for one in listed[:-1]) + f" or '{listed[-1]}'" * bool(listed), value)


def _plain(item: Mapping[str, Any], shown: str) -> str:
    return f"it is {shown}; {_demand_on(item)}"


def _demand_on(item: Mapping[str, Any]) -> str:
    """Return the demand that a value does not meet, as `it must be …`."""
    kind, context = item["type"], item.get("ctx", {})
    if kind in _KINDS:
        return f"it must be {_KINDS[kind]}"
    if kind in _BOUNDS:
        words, key = _BOUNDS[kind]
        return f"it must be {words} {context[key]}"
    if kind in _LENGTHS:
        words, key = _LENGTHS[kind]
        return f"it must have {words} {context[key]} character{'s' * (context[key] != 1)}"
    if kind in ("literal_error", "enum"):
        return _one_of(str(context["expected"]), item["input"])
    said = re.sub(r"^(Input|List|Tuple|Set|Dictionary|String|Data|Decimal input) should", "it must", item["msg"])
    return f"{said[0].lower()}{said[1:]}".replace(" should ", " must ")


def _one_of(expected: str, value: Any) -> str:
    """Return the choices, and the one that is probably meant. `expected` has them in quotes, with commas."""
    choices = re.findall(r"'([^']*)'", expected)
    shown = expected.replace("'", '"')
    if not isinstance(value, str) or not choices:
        return f"it must be {shown}"
    meant = _OTHER_NAMES.get(value.lower(), "")
    near = [meant] if meant in choices else difflib.get_close_matches(value.lower(), choices, n=1)
    return f"it must be {shown}" + (f'; did you mean "{near[0]}"?' if near else "")


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", text.strip()[:40]) is not None
