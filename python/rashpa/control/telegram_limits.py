"""What a telegram may have of everything, counted before the schema sees it: a stranger's document costs time and memory in proportion to its
bytes, and little of them.

The largest telegram there is, the status of a receiver with 256 buffers, has some 6000 elements; the longest, a dataset of many files, is one
attribute.
"""

import itertools
import re
from xml.parsers import expat

MAX_BYTES = 4 << 20
MAX_ELEMENTS = 16384
MAX_ATTRIBUTES = 65536
MAX_DEPTH = 8
_CHUNK_BYTES = 256 << 10  # other threads get their turn after each
_ASSIGNMENT = re.compile(rb"=[ \t\r\n]{0,16}[\"']")


class TelegramError(ValueError):
    """The bytes are no telegram of this version; the text says where and why."""


class _Counter:
    """Counts elements as they come; TelegramError as soon as there are too many, or one lies too deep."""

    def __init__(self) -> None:
        self.root: dict[str, str] = {}
        self._elements = 0
        self._depth = 0

    def start(self, _: str, attributes: dict[str, str]) -> None:
        if not self._elements:
            self.root = attributes
        self._elements += 1
        self._depth += 1
        if self._elements > MAX_ELEMENTS:
            raise TelegramError(f"more than {MAX_ELEMENTS} elements")
        if self._depth > MAX_DEPTH:
            raise TelegramError(f"elements lie more than {MAX_DEPTH} deep")

    def end(self, _: str) -> None:
        self._depth -= 1


def root_attributes(data: bytes) -> dict[str, str]:
    """The attributes of the root. TelegramError when the document is not well-formed or beyond a limit."""
    if next(itertools.islice(_ASSIGNMENT.finditer(data), MAX_ATTRIBUTES, None), None) is not None:
        raise TelegramError(f"more than {MAX_ATTRIBUTES} attributes")
    counter = _Counter()
    parser = expat.ParserCreate("utf-8")
    parser.StartElementHandler = counter.start
    parser.EndElementHandler = counter.end
    parser.StartDoctypeDeclHandler = _refuse_doctype
    try:
        data.decode("utf-8")
        for first in range(0, len(data), _CHUNK_BYTES):
            parser.Parse(data[first : first + _CHUNK_BYTES], False)
        parser.Parse(b"", True)
    except (expat.ExpatError, ValueError) as error:
        if isinstance(error, TelegramError):
            raise
        raise TelegramError(f"not well-formed XML: {error}") from None
    return counter.root


def _refuse_doctype(*_: object) -> None:
    raise TelegramError("a telegram has no DOCTYPE and one root element")
