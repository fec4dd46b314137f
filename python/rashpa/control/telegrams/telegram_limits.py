# SPDX-License-Identifier: Apache-2.0
"""Checks the limits of a telegram before it is parsed, so that a foreign document costs little time and memory, in proportion to its bytes.

The largest telegram is the status of a receiver with 256 buffers, with six sinks each: some 12000 elements and 55000 attributes. The longest one, a
dataset of many files, is one attribute. The depth of elements needs no limit: the schema stops the parser at the first unexpected element.
"""

import itertools
import re
from xml.parsers import expat

from rashpa.data.base.rashpa_error import RashpaError

MAX_BYTES = 4 << 20
MAX_ELEMENTS = 16384
MAX_ATTRIBUTES = 65536
_HEAD_BYTES = 4096  # a root that is not complete in this number of bytes is none of ours
_ASSIGNMENT = re.compile(rb"=[ \t\r\n]{0,16}[\"']")


class TelegramError(RashpaError, ValueError):
    """Reports bytes that are no telegram of this version; the text gives place and reason. `code`: the code of the Fault in the answer, "config" for
    a Configure with an impossible content."""

    def __init__(self, text: str, code: str = "telegram") -> None:
        super().__init__(text)
        self.code = code


class _RootFoundError(Exception):
    """Stops the parser when the root is found."""


def check_limits(data: bytes) -> None:
    """Raise TelegramError when a limit is exceeded, or when the bytes have a construct that no telegram has."""
    if len(data) > MAX_BYTES:
        raise TelegramError(f"{len(data)} bytes; a telegram has at most {MAX_BYTES}")
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        raise TelegramError("a telegram has no DOCTYPE and no entities; send the bare document")
    if data.count(b"<") > 2 * MAX_ELEMENTS:  # which stands nowhere but before a tag, and an element has two at most
        raise TelegramError(f"more than {MAX_ELEMENTS} elements")
    if next(itertools.islice(_ASSIGNMENT.finditer(data), MAX_ATTRIBUTES, None), None) is not None:
        raise TelegramError(f"more than {MAX_ATTRIBUTES} attributes")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TelegramError(f"not well-formed XML: {error}") from None


def root_of(data: bytes) -> tuple[str, str | None]:
    """Return the root's name, without its prefix, and its version, None without one. Raise TelegramError when there is no root."""
    found: list[tuple[str, str | None]] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        found.append((name.rpartition(":")[2], attributes.get("version")))
        raise _RootFoundError

    parser = expat.ParserCreate("utf-8")
    parser.StartElementHandler = start
    try:
        parser.Parse(data[:_HEAD_BYTES], len(data) <= _HEAD_BYTES)
    except _RootFoundError:
        return found[0]
    except expat.ExpatError as error:
        raise TelegramError(f"not well-formed XML: {error}") from None
    return "", None
