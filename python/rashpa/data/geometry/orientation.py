# SPDX-License-Identifier: Apache-2.0
"""Describes the orientation of a module in the image: one of eight, as in src/rashpa/core/image/orientation.hpp."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

if TYPE_CHECKING:
    from numpy.typing import NDArray

Turn = Literal[0, 90, 180, 270]
Step = tuple[int, int]
"""Pixels to the right and down."""


@dataclass(frozen=True)
class Orientation:
    """Rotates a frame, with row 0 on top, clockwise by `turn` degrees; then, with `flip`, mirrors it left to right."""

    turn: int = 0
    flip: bool = False

    @classmethod
    def of_steps(cls, column: Step, row: Step) -> Self:
        """Return the orientation that maps a step along the frame's columns to `column`, and a step along its rows to `row`, both in the image."""
        return next(
            way for way in (cls(turn, flip) for turn in _TURNS for flip in (False, True)) if way.steps == (column, row)
        )

    @property
    def steps(self) -> tuple[Step, Step]:
        """Return the step in the image to the next column of the frame, and the step to its next row."""
        quarters = self.turn // 90
        cosine, sine = (1, 0, -1, 0)[quarters], (0, 1, 0, -1)[quarters]
        mirror = -1 if self.flip else 1
        return (cosine * mirror, sine), (-sine * mirror, cosine)

    @property
    def upright(self) -> bool:
        """Return True when the module has its readout orientation in the image."""
        return self.turn == 0 and not self.flip

    def sides(self, width: int, height: int) -> tuple[int, int]:
        """Return width and height of the rotated frame."""
        return (height, width) if self.turn % 180 else (width, height)

    def place_of(self, at: tuple[float, float], width: int, height: int) -> tuple[float, float]:
        """Return the position in the rotated frame of a position in the frame; positions are column and row from its corner."""
        found = []
        for column, row, side in zip(*self.steps, self.sides(width, height), strict=True):
            along = at[0] * column + at[1] * row
            found.append(along if column + row > 0 else side + along)
        return found[0], found[1]

    def turned(self, frames: "NDArray[Any]") -> "NDArray[Any]":
        """Return a view of frames or maps, [...][row][column], in the orientation that they have in the image."""
        found = _quarters(frames, self.turn // 90)
        return found[..., ::-1] if self.flip else found

    def turned_back(self, pixels: "NDArray[Any]") -> "NDArray[Any]":
        """Return a view of pixels of the image in the module's readout orientation."""
        straight = pixels[..., ::-1] if self.flip else pixels
        return _quarters(straight, -self.turn // 90 % 4)

    @property
    def short(self) -> str:
        """Return a short text for tables and pictures."""
        return " ".join([f"{self.turn}°"] * (self.turn > 0) + ["flipped"] * self.flip)

    def __str__(self) -> str:
        words = [f"turned by {self.turn}°"] if self.turn else []
        return " and ".join([*words, "flipped"] if self.flip else words) or "upright"


def _quarters(pixels: "NDArray[Any]", turns: int) -> "NDArray[Any]":
    """Return a view, [...][row][column], rotated clockwise by quarter turns. It does not import NumPy, because reading run files does not need it."""
    backwards = slice(None, None, -1)
    columns, rows = ((slice(None),) * 2, (backwards, slice(None)), (backwards,) * 2, (slice(None), backwards))[turns]
    return (pixels.swapaxes(-2, -1) if turns % 2 else pixels)[..., rows, columns]


_TURNS = (0, 90, 180, 270)
UPRIGHT = Orientation()
