# SPDX-License-Identifier: Apache-2.0
"""Holds the parts of a report's page as data. Jinja2 makes the page from them and escapes every text."""

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

_PAGE = "report_page.html"


@dataclass(frozen=True)
class Heading:
    """Holds the heading of a part of the page. `level`: 2 or 3."""

    kind: ClassVar[str] = "heading"
    text: str
    level: int = 2


@dataclass(frozen=True)
class Note:
    """Holds the text of a paragraph. `mark`: a class of the style sheet."""

    kind: ClassVar[str] = "note"
    text: str
    mark: str = ""


@dataclass(frozen=True)
class Cell:
    """Holds a value of a table as text. `is_text`: the value is a word and is aligned to the left."""

    text: str
    is_text: bool


@dataclass(frozen=True)
class Table:
    """Holds a table. `folded`: rows whose counters are all 0, hidden until the reader opens them."""

    kind: ClassVar[str] = "table"
    head: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]
    folded: tuple[tuple[Cell, ...], ...] = ()


@dataclass(frozen=True)
class Picture:
    """Holds an image. `png`: its bytes in base64; `shows`: the kind of image."""

    kind: ClassVar[str] = "picture"
    png: str
    caption: str
    shows: str


@dataclass(frozen=True)
class Plot:
    """Holds a plot: a drawing inside the page, and the place where the script draws an interactive plot."""

    kind: ClassVar[str] = "plot"
    title: str
    drawing: "Drawing"
    place: str


@dataclass(frozen=True)
class Shape:
    """Holds one line or area of a drawing. `path`: an SVG path."""

    path: str
    colour: str
    filled: bool
    dashes: str = ""


@dataclass(frozen=True)
class Tick:
    """Holds the label of an axis and its position in the drawing."""

    at: float
    text: str


@dataclass(frozen=True)
class Drawing:
    """Holds a plot as a drawing, for readers without scripts and for paper. `legend`: name, colour and dashes of each line."""

    width: int
    height: int
    left: int
    bottom: int
    x_name: str
    y_name: str
    shapes: tuple[Shape, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    legend: tuple[tuple[str, str, str], ...]


Part = Heading | Note | Table | Picture | Plot


def table_of(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> Table:
    """Return a table of values."""
    known = list(rows)
    words = known[0] if known else head
    titles = tuple(Cell(text, isinstance(word, str)) for text, word in zip(head, words, strict=True))
    return Table(titles, tuple(tuple(map(_cell, row)) for row in known))


def pairs_of(values: Iterable[tuple[str, Any]]) -> Table:
    """Return a table of name and value. Counters that are 0 are folded."""
    counted = [(_cell(name.replace("_", " ")), _cell(value), value) for name, value in values]
    zero = [(name, cell) for name, cell, value in counted if _is_zero(value)]
    other = [(name, cell) for name, cell, value in counted if not _is_zero(value)]
    return Table((), tuple(other), tuple(zero))


def _is_zero(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, int | float) and value == 0


def _cell(value: Any) -> Cell:
    return Cell(text_of(value), isinstance(value, str))


def text_of(value: Any) -> str:
    """Return a value as text for people."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "NO", None: "not known"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


@functools.cache
def _template() -> Template:
    folder = FileSystemLoader(Path(__file__).parent)
    made = Environment(loader=folder, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return made.get_template(_PAGE)


def page_of(parts: Sequence[Part], script: str, **facts: Any) -> str:
    """Return the page as HTML. `script`: our own script, which is not escaped; all other text is. `facts`: variables of the template."""
    return _template().render(parts=parts, script=script, **facts)
