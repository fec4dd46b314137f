# SPDX-License-Identifier: Apache-2.0
"""Limits TOML text so that parsing takes linear time and little stack.

The parser of the standard library recurses into arrays and inline tables, and its time grows with the square of the length of a dotted key.
"""

import re

DEEPEST = 32
"""Arrays and inline tables in each other; parts of a dotted key."""

_SPECIAL = re.compile(r'"""|\'\'\'|["\'#\[\]{}.=,\n]')
_ENDS = {
    '"""': re.compile(r'(?:[^\\"]|\\.|"(?!""))*+"""', re.DOTALL),
    "'''": re.compile(r"(?:[^']|'(?!''))*+'''"),
    '"': re.compile(r'(?:[^"\\\n]|\\.)*+"'),
    "'": re.compile(r"[^'\n]*+'"),
    "#": re.compile(r"[^\n]*+"),
}


def beyond_bounds(text: str) -> tuple[int, str] | None:
    """Return the line and the fault of the first place that exceeds a limit, None without one. Invalid TOML is not reported."""
    depth = parts = at = 0
    while found := _SPECIAL.search(text, at):
        sign, at = found.group(), found.end()
        if sign in _ENDS:
            end = _ENDS[sign].match(text, at)
            if end is None:
                return None  # a string that does not end: the parser will say so
            at = end.end()
            continue
        parts = parts + 1 if sign == "." else 0
        depth = depth + 1 if sign in "[{" else max(0, depth - 1) if sign in "]}" else depth
        if depth > DEEPEST or parts > DEEPEST:
            what = "arrays and tables lie" if depth > DEEPEST else "a key goes"
            return text.count("\n", 0, at) + 1, f"{what} more than {DEEPEST} deep"
    return None
