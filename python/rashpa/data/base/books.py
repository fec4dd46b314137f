# SPDX-License-Identifier: Apache-2.0
"""The account of a command that reads data: one form for all commands, with the exit code that follows from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rashpa.data.base.exit_code import ExitCode

MOST_TROUBLES = 8


@dataclass(frozen=True)
class DataBooks:
    """Counts the result of one command: `expected` items by its input, `made` items in the output or decided. `missing`: items without bytes; `errored`:
    items with wrong bytes. `troubles` names the first of them, in words. `unit` names the items."""

    expected: int
    made: int
    missing: int = 0
    errored: int = 0
    troubles: tuple[str, ...] = ()
    unit: str = "images"

    @classmethod
    def of_json(cls, said: Mapping[str, Any]) -> DataBooks:
        """Take back the output of as_json(), from a process that a stranger's file may have moved. Raise ValueError, TypeError or KeyError when it is impossible."""
        counts = [int(said[name]) for name in ("expected", "made", "missing", "errored")]
        if min(counts) < 0:
            raise ValueError(f"books of {counts} are impossible")
        expected, made, missing, errored = counts
        troubles = tuple(str(text) for text in said["troubles"][:MOST_TROUBLES])
        return cls(expected, made, missing, errored, troubles, str(said["unit"]))

    @property
    def closed(self) -> bool:
        """Return True when each expected item is accounted for."""
        return self.expected == self.made + self.missing + self.errored

    @property
    def whole(self) -> bool:
        """Return True when all expected items were made."""
        return self.closed and not self.missing and not self.errored

    @property
    def exit_code(self) -> int:
        """Return the code with which a command ends, as `rashpa run` does."""
        return ExitCode.GOOD if self.whole else ExitCode.NOT_WHOLE

    def text(self) -> str:
        """Return the counts in one line, without those that are zero where nothing is wrong."""
        if self.whole:
            return f"{self.made} of {self.expected} {self.unit}"
        text = f"{self.made} of {self.expected} {self.unit}, {self.missing} missing, {self.errored} errored"
        unexplained = self.expected - self.made - self.missing - self.errored
        return text + (f", {unexplained} unexplained" if unexplained else "")

    def as_json(self) -> dict[str, Any]:
        """Return the document that `--json` shows under `books`."""
        return {**asdict(self), "troubles": list(self.troubles), "closed": self.closed, "whole": self.whole}


def all_of(books: Iterable[DataBooks]) -> DataBooks:
    """Return the sum of the books of one command's parts: of one unit, with the first troubles."""
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
