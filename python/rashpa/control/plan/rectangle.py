# SPDX-License-Identifier: Apache-2.0
"""Defines rectangles of pixels, and collections of them that can be searched by place."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Rectangle:
    """Describes a rectangle of pixels: x, y, width, height."""

    x: int
    y: int
    width: int
    height: int

    @property
    def right(self) -> int:
        return self.x + self.width

    @property
    def bottom(self) -> int:
        return self.y + self.height

    def common(self, other: "Rectangle") -> "Rectangle | None":
        """Return the area that both rectangles cover, None when they do not overlap."""
        x, y = max(self.x, other.x), max(self.y, other.y)
        width, height = min(self.right, other.right) - x, min(self.bottom, other.bottom) - y
        return Rectangle(x, y, width, height) if width > 0 and height > 0 else None

    def holds(self, other: "Rectangle") -> bool:
        return self.common(other) == other

    def __str__(self) -> str:
        return f"[{self.x}, {self.y}, {self.width}, {self.height}]"


class Rectangles:
    """Finds, among rectangles of similar size, those that overlap a place, with few comparisons. The collection is not empty."""

    def __init__(self, rectangles: Sequence[Rectangle]) -> None:
        self.all = tuple(rectangles)
        self._cell = max(max(one.width, one.height) for one in self.all)
        self._cells: dict[tuple[int, int], list[int]] = {}
        for number, one in enumerate(self.all):
            for cell in self._cells_of(one):
                self._cells.setdefault(cell, []).append(number)
        self.width = max(one.right for one in self.all)
        self.height = max(one.bottom for one in self.all)

    def meeting(self, place: Rectangle) -> list[int]:
        """Return the numbers of the rectangles that overlap `place`, in order."""
        near: Iterable[int] = range(len(self.all))
        if (place.width // self._cell + 2) * (place.height // self._cell + 2) < len(self.all):
            near = {number for cell in self._cells_of(place) for number in self._cells.get(cell, ())}
        return sorted(number for number in near if self.all[number].common(place))

    def _cells_of(self, one: Rectangle) -> Iterator[tuple[int, int]]:
        for row in range(one.y // self._cell, (one.bottom - 1) // self._cell + 1):
            for column in range(one.x // self._cell, (one.right - 1) // self._cell + 1):
                yield row, column
