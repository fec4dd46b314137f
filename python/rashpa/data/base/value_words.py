# SPDX-License-Identifier: Apache-2.0
"""The demands on a value in plain words, in place of those of the library that checks it."""

import difflib
import re
from collections.abc import Mapping
from typing import Any

_OTHER_NAMES = {"gpu": "cuda", "nvidia": "cuda", "amd": "opencl", "h5": "hdf5", "nxmx": "hdf5", "nexus": "hdf5", "zmq": "stream2", "rdma": "roce"}  # fmt: skip
_KINDS = {
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": "a text in quotes",
    "path_type": "a path in quotes",
    "list_type": "a list in brackets",
    "tuple_type": "a list in brackets",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
}
_BOUNDS = {
    "greater_than_equal": ("at least", "ge"),
    "greater_than": ("more than", "gt"),
    "less_than_equal": ("at most", "le"),
    "less_than": ("less than", "lt"),
    "multiple_of": ("a multiple of", "multiple_of"),
}
_LENGTHS = {"string_too_short": ("at least", "min_length"), "string_too_long": ("at most", "max_length")}


def demand_on(item: Mapping[str, Any]) -> str:
    """Return the demand that a value does not meet, as `it must be …`. `item` is one error of pydantic."""
    kind, context = item["type"], item.get("ctx", {})
    if kind in _KINDS:
        return f"it must be {_KINDS[kind]}"
    if kind in _BOUNDS:
        words, key = _BOUNDS[kind]
        return f"it must be {words} {context[key]}"
    if kind in _LENGTHS:
        words, key = _LENGTHS[kind]
        return f"it must have {words} {context[key]} character{'s' * (context[key] != 1)}"
    if kind == "literal_error":
        return _one_of(str(context["expected"]), item["input"])
    return re.sub(r"^Input should be", "it must be", item["msg"].removeprefix("Value error, "))


def _one_of(expected: str, value: Any) -> str:
    """Return the choices, and the one that may be meant. `expected` has them in quotes, with commas."""
    choices = re.findall(r"'([^']*)'", expected)
    shown = expected.replace("'", '"')
    if not isinstance(value, str) or not choices:
        return f"it must be {shown}"
    meant = _OTHER_NAMES.get(value.lower(), "")
    near = [meant] if meant in choices else difflib.get_close_matches(value.lower(), choices, n=1)
    return f"it must be {shown}" + (f'; did you mean "{near[0]}"?' if near else "")
