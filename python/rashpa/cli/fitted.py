# SPDX-License-Identifier: Apache-2.0
"""Draws tables that fit a terminal of any width: first with fewer columns, then with several lines for each row. No text is cut, and no word is
broken."""

import copy
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text

_WIDEST = 1000
_ZEROS = ("", "0")
_BETWEEN = "   "


class Fitted(Table):
    """A table that, where it is wider than the terminal, leaves out columns of zeros and names them below. If that is not enough, each row takes
    several lines of names and values. `heads`: the number of columns that name a row."""

    def __init__(self, *headers: Column | str, heads: int = 1, **options: Any) -> None:
        super().__init__(*headers, **options)
        self._heads = heads

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Any]:
        """Render the widest form that fits."""
        if self._wanted(console, options) <= options.max_width:
            yield from super().__rich_console__(console, options)
            return
        shorter, zeros = self._without_zeros()
        if shorter._wanted(console, options) <= options.max_width:
            yield from Table.__rich_console__(shorter, console, options)
        else:
            yield from shorter._records(console, options.max_width)
        if zeros:
            yield Text(f"0 everywhere: {', '.join(zeros)}", style="dim")

    def _wanted(self, console: Console, options: ConsoleOptions) -> int:
        return Measurement.get(console, options.update(max_width=_WIDEST), self).maximum

    def _without_zeros(self) -> tuple["Fitted", list[str]]:
        """Return the table without columns of zeros or empty cells, and the names of the columns that held zeros."""
        texts = [[_plain(cell) for cell in column.cells] for column in self.columns]
        kept = [
            number
            for number, cells in enumerate(texts)
            if number < self._heads or any(text not in _ZEROS for text in cells)
        ]
        zeros = [
            _plain(column.header)
            for number, column in enumerate(self.columns)
            if number not in kept and "0" in texts[number]
        ]
        made = copy.copy(self)
        made.columns = [replace(self.columns[number], _index=place) for place, number in enumerate(kept)]
        return made, zeros

    def _records(self, console: Console, width: int) -> Iterator[RenderableType]:
        """Yield the lines of each row: first its heads, then as many pairs of name and value as fit a line."""
        if self.title:
            yield Text.from_markup(str(self.title), style="bold") if isinstance(self.title, str) else self.title
        columns = [[_text(console, cell) for cell in column.cells] for column in self.columns]
        for row in range(len(self.rows)):
            heads = [
                Text.assemble(f"{_plain(head.header)} " if column[row].plain.isdecimal() else "", column[row])
                for head, column in zip(self.columns, columns[: self._heads], strict=False)
                if column[row].plain
            ]
            if heads:
                yield Text("  ").join([Text.assemble(head, style="bold") for head in heads])
            pairs = [
                Text.assemble((f"{_plain(column.header)} ", "dim"), cells[row])
                for column, cells in zip(self.columns[self._heads :], columns[self._heads :], strict=True)
                if cells[row].plain
            ]
            yield from _lines(pairs, width)
        if self.caption:
            yield Text(str(self.caption), style="dim")


def print_table(console: Console, table: Table) -> None:
    """Print a table, in full width when the output is a file and COLUMNS is not set."""
    if console.is_terminal or "COLUMNS" in os.environ:
        console.print(table)
        return
    wanted = Measurement.get(console, console.options.update(max_width=_WIDEST), table).maximum
    Console(file=console.file, width=max(console.width, wanted)).print(table)


def _lines(pairs: Sequence[Text], width: int) -> Iterator[Text]:
    """Yield indented lines, each with as many pairs as fit in `width`."""
    line: list[Text] = []
    for pair in pairs:
        if line and sum(one.cell_len + len(_BETWEEN) for one in (*line, pair)) > width:
            yield Text.assemble("  ", Text(_BETWEEN).join(line))
            line = []
        line.append(pair)
    if line:
        yield Text.assemble("  ", Text(_BETWEEN).join(line))


def _text(console: Console, cell: RenderableType) -> Text:
    return cell if isinstance(cell, Text) else console.render_str(str(cell))


def _plain(cell: RenderableType) -> str:
    return cell.plain if isinstance(cell, Text) else str(cell)
