# SPDX-License-Identifier: Apache-2.0
"""Holds the books of a command that reads data, in one form for all commands, and derives the exit code from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rashpa.data.base.exit_code import ExitCode

MOST_TROUBLES = 8


@dataclass(frozen=True)
class DataBooks:
    """Counts the results of one command. `expected`: items in its input; `made`: items that it wrote or decided; `missing`: items without bytes;
    `errored`: items with wrong bytes. `troubles`: texts of the first faults; `unit`: the name of an item."""

    expected: int
    made: int
    missing: int = 0
    errored: int = 0
    troubles: tuple[str, ...] = ()
    unit: str = "images"

    @classmethod
    def of_json(cls, said: Mapping[str, Any]) -> DataBooks:
        """Return the books from the output of as_json(), which a process that read a foreign file may have falsified. Raise ValueError, TypeError or
        KeyError when they are impossible."""
        counts = [int(said[name]) for name in ("expected", "made", "missing", "errored")]
        if min(counts) < 0:
            raise ValueError(f"books of {counts} are impossible")
        expected, made, missing, errored = counts
        troubles = tuple(str(text) for text in said["troubles"][:MOST_TROUBLES])
        return cls(expected, made, missing, errored, troubles, str(said["unit"]))

    @property
    def closed(self) -> bool:
        """Return True when each expected item is counted as made, missing or errored."""
        return self.expected == self.made + self.missing + self.errored

    @property
    def whole(self) -> bool:
        """Return True when all expected items were made."""
        return self.closed and not self.missing and not self.errored

    @property
    def exit_code(self) -> int:
        """Return the exit code of a command with these books, as `rashpa run` has it."""
        return ExitCode.GOOD if self.whole else ExitCode.NOT_WHOLE

    def text(self) -> str:
        """Return the counts in one line. When nothing is wrong, leave out zeros."""
        if self.whole:
            return f"{self.made} of {self.expected} {self.unit}"
        text = f"{self.made} of {self.expected} {self.unit}, {self.missing} missing, {self.errored} errored"
        unexplained = self.expected - self.made - self.missing - self.errored
        return text + (f", {unexplained} unexplained" if unexplained else "")

    def as_json(self) -> dict[str, Any]:
        """Return the document that `--json` shows under `books`."""
        return {**asdict(self), "troubles": list(self.troubles), "closed": self.closed, "whole": self.whole}


def all_of(books: Iterable[DataBooks]) -> DataBooks:
    """Return the sum of the books of a command's parts, which have the same unit. It keeps the first troubles."""
    parts = list(books)
    units = {one.unit for one in parts} or {"images"}
    if len(units) > 1:
        raise ValueError(f"books of {', '.join(sorted(units))} have no sum; count one thing")
    return DataBooks(
        sum(one.expected for one in parts),
        sum(one.made for one in parts),
        sum(one.missing for one in parts),
        sum(one.errored for one in parts),
        tuple(text for one in parts for text in one.troubles)[:MOST_TROUBLES],
        units.pop(),
    )
