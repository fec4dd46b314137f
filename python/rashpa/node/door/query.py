# SPDX-License-Identifier: Apache-2.0
"""Declares the parameters of a node's HTTP requests. Requests are parsed, and OpenAPI descriptions made, from the same declaration."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, get_args

from rashpa.data.base.value_words import one_of, shown_of
from rashpa.node.engine.preview import Shown

_LONGEST = 18  # digits of a number
_T = TypeVar("_T", bound=str)


@dataclass(frozen=True)
class Number:
    """Declares a parameter that is a whole number, `least` … `most`. `usual`: the default."""

    name: str
    text: str
    least: int
    most: int
    usual: int | None = None

    def read(self, query: Mapping[str, str]) -> int | None:
        """Return the number in a request, the default when it is absent. Raise ValueError when it is no whole number or out of range."""
        text = query.get(self.name)
        if text is None:
            return self.usual
        digits = text.isascii() and text.isdecimal() and len(text) <= _LONGEST
        if not digits or not self.least <= int(text) <= self.most:
            raise ValueError(
                f"{self.name}: it is {shown_of(text)}; it must be a whole number, {self.least} … {self.most}"
            )
        return int(text)

    def described(self) -> dict[str, Any]:
        """Return the parameter's description in OpenAPI."""
        schema: dict[str, Any] = {"type": "integer", "minimum": self.least, "maximum": self.most}
        if self.usual is not None:
            schema["default"] = self.usual
        return _described(self.name, schema, self.text)


@dataclass(frozen=True)
class Choice(Generic[_T]):
    """Declares a parameter that is one of some words. `usual`: the default; without a default the parameter is required."""

    name: str
    text: str
    words: tuple[_T, ...]
    usual: _T | None = None

    def read(self, query: Mapping[str, str]) -> _T:
        """Return the word in a request. Raise ValueError for a word that is not allowed."""
        given = query.get(self.name, self.usual or "")
        for word in self.words:
            if word == given:
                return word
        raise ValueError(f"{self.name}: it is {shown_of(given)}; {one_of(self.words, given)}")

    def described(self) -> dict[str, Any]:
        """Return the parameter's description in OpenAPI."""
        schema: dict[str, Any] = {"type": "string", "enum": list(self.words)}
        if self.usual is not None:
            schema["default"] = self.usual
        return _described(self.name, schema, self.text, required=self.usual is None)


@dataclass(frozen=True)
class Text:
    """Declares a parameter that holds a name, which may be unknown to the node. `pattern`: a regular expression that all valid names match."""

    name: str
    text: str
    pattern: str | None = None

    def read(self, query: Mapping[str, str]) -> str:
        """Return the text of a request, empty when it is not given."""
        return query.get(self.name, "")

    def described(self) -> dict[str, Any]:
        """Return the parameter's description in OpenAPI."""
        schema = {"type": "string"} | ({"pattern": self.pattern} if self.pattern else {})
        return _described(self.name, schema, self.text)


def _described(name: str, schema: dict[str, Any], text: str, *, required: bool = False) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": required, "schema": schema, "description": text}


Parameter = Number | Choice[Any] | Text

_SHOWN: tuple[Shown, ...] = get_args(Shown)
_MOST_PLACE = 1 << 24

LAST = Number("last", "How many.", 1, 1000, 100)
BUFFER = Text("buffer", "Name of the buffer.")
TABLE = Choice("table", "Which.", ("fates", "dealt", "completeness", "decisions"))
DTP = Text("dtp", "Id of the DTP; of fates.", "^[0-9]+$")
OF = Choice(
    "of",
    "A recent accepted image; or of the run the first that a kernel has vetoed, the first that is partial.",
    _SHOWN,
    "accepted",
)
PLACES = (
    Number("x", "First column.", 0, _MOST_PLACE, 0),
    Number("y", "First row.", 0, _MOST_PLACE, 0),
    Number("width", "Columns; 0: to the end.", 0, _MOST_PLACE, 0),
    Number("height", "Rows; 0: to the end.", 0, _MOST_PLACE, 0),
    Number("step", "Side of a block.", 1, 256, 1),
)
"""Of a View, in the order of its fields."""
AFTER = Number("after", "Index of the image that is known: waits a second for another.", 0, 1 << 53)
