# SPDX-License-Identifier: Apache-2.0
"""Describes a small change of a text, and the words that identify it in a list of reasons."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Change:
    """Holds the place of a change, its new text, and its kind."""

    start: int
    end: int
    to: str
    kind: str

    def applied(self, text: str) -> str:
        """Return the text with the change."""
        return text[: self.start] + self.to + text[self.end :]

    def line(self, text: str) -> int:
        """Return the number of the line where the change begins, from 1 on."""
        return text.count("\n", 0, self.start) + 1

    def words(self, text: str) -> tuple[str, str]:
        """Return the changed lines before and after the change, with single spaces."""
        first = text.rfind("\n", 0, self.start) + 1
        last = text.find("\n", self.end)
        last = len(text) if last < 0 else last
        old = text[first:last]
        new = text[first : self.start] + self.to + text[self.end : last]
        return " ".join(old.split()), " ".join(new.split())
