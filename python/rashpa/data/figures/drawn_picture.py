# SPDX-License-Identifier: Apache-2.0
"""Draws an image with axes and colour bar into a PNG of few colours, using arrays. For a report's pictures this takes a tenth of the time that
Matplotlib needs."""

import functools
import io
import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from rashpa.data.figures.image_values import MASKED_COLOUR

_MAP: Final = bytes.fromhex(
    "00000300000601010902010e04031405041807051d0a07230d08280f092d130a34160b39190b3e1c0c43200c4a240b4e270b522d0a58300a"
    "5c34095f3909623c0965400966450a69480b6a4b0c6b4f0d6c530e6d570f6d5a116d5f126e62146e65156e6a176e6d186e70196e751b6d78"
    "1c6d7b1d6c7e1e6c83206b86216a8922698e24689125679526669928649c2963a02a62a42c60a72d5fab2e5dae305bb23259b53357b83556"
    "bd3753bf3951c23b4fc73e4cc93f4acc4148cf4446d24742d54940d74b3edb4f3add5238df5436e35832e55b30e65e2de9622aeb6527ed68"
    "25ee6c22f0701ef2741cf37719f57c15f68012f78310f8880cf98c09f99008fa9506fb9906fb9d06fba007fba60bfbaa0efbae12fbb318fb"
    "b71cfabb21fac128f9c52cf8c931f7cf3af6d33ff5d745f4db4bf3e056f2e45df1e864f1ed70f1f079f2f381f4f78df6fa95f9fc9dfcfea4"
)
"""Inferno, in red, green and blue."""
_OF_MAP: Final = len(_MAP) // 3
_GREYS: Final = 24  # from black to white: words are smooth
_BLACK, _WHITE = _OF_MAP, _OF_MAP + _GREYS - 1
_NONE, LOST, PEAK = (_WHITE + 1 + number for number in range(3))
"""Colours by their place in the palette: of a pixel without a value, of lost lines, of peaks."""
_WORDS: Final = (MASKED_COLOUR, "#ff2a6d", "#56b4e9")
_PALETTE: Final = (
    _MAP
    + bytes(level for grey in np.linspace(0, 255, _GREYS).astype(int).tolist() for level in (grey, grey, grey))
    + bytes.fromhex("".join(colour[1:] for colour in _WORDS))
)
_SMALLEST = 320  # pixels of the longer side as it is drawn, about
_LEFT, _BELOW, _ABOVE, _RIGHT = 60, 40, 30, 130  # pixels of the picture beside its image
_LEAST = (360, 160)  # pixels of a picture
_BAR_GAP, _BAR = 14, 16  # pixels: between image and colour bar, and its width
_TICK = 4  # pixels
_APART = 50  # pixels between two ticks, at least
_FONT = 11
_HATCH = 8  # pixels between two lines

_Canvas = NDArray[np.uint8]


@dataclass(frozen=True)
class Scale:
    """Maps values to colours: `low` to the first colour, `high`, which is greater, to the last one."""

    low: float
    high: float
    linear: bool

    def shares(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the position of each value on the scale: 0 for `low`, 1 for `high`, NaN where there is no value."""
        if self.linear:
            return (values - self.low) / (self.high - self.low)
        # a lower value has no colour of its own, and a pixel without counts has a value
        above = np.where(values < self.low, self.low / 2, values)
        return np.log(above / self.low) / math.log(self.high / self.low)

    def ticks(self, most: int) -> list[float]:
        """Return at most `most` round values on the scale."""
        if self.linear:
            return _even_ticks(self.low, self.high, most)
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for parts in ((1, 2, 5), (1,)):
            found = [part * 10.0**power for power in powers for part in parts]
            found = [value for value in found if self.low <= value <= self.high]
            if len(found) <= most:
                break
        return found[:: -(-len(found) // most)] if len(found) > 1 else _even_ticks(self.low, self.high, most)


@dataclass(frozen=True)
class Frame:
    """Describes the place of the image in the picture. `zoom`: pixels of the picture for each value; `step`: pixels of the detector for each value."""

    left: int
    top: int
    width: int
    height: int
    zoom: int
    step: int

    def x(self, column: float) -> int:
        """Return the picture's column that shows a column of the detector."""
        return self.left + _within(column * self.zoom / self.step, self.width)

    def y(self, row: float) -> int:
        """Return the picture's row that shows a row of the detector."""
        return self.top + _within(row * self.zoom / self.step, self.height)


class DrawnPicture:
    """Draws a picture of `values` [row][column]; each value is for `step` × `step` pixels of a detector."""

    def __init__(self, values: NDArray[np.float64], step: int, scale: Scale, unit: str) -> None:
        rows, columns = values.shape
        zoom = max(1, _SMALLEST // max(rows, columns))
        width, height = zoom * columns, zoom * rows
        wide, high = max(_LEFT + width + _RIGHT, _LEAST[0]), max(_ABOVE + height + _BELOW, _LEAST[1])
        self._canvas: _Canvas = np.full((high, wide), _WHITE, np.uint8)
        top = _ABOVE + (high - _ABOVE - _BELOW - height) // 2
        self.frame = Frame(_LEFT, top, width, height, zoom, step)
        colours = _colours_of(scale.shares(values))
        self._canvas[top : top + height, _LEFT : _LEFT + width] = colours.repeat(zoom, 0).repeat(zoom, 1)
        self._axes(rows * step, columns * step)
        self._bar(scale, unit)

    def lost(self, x: float, y: float, width: float, height: float) -> None:
        """Draw a hatched frame around a rectangle of the detector, and a pointer to it, because a single line is hard to see."""
        frame = self.frame
        left, right = frame.x(x), max(frame.x(x + width), frame.x(x) + 1)
        top, bottom = frame.y(y), max(frame.y(y + height), frame.y(y) + 1)
        inside = self._canvas[top:bottom, left:right]
        rows, columns = np.indices(inside.shape)
        inside[(rows + columns) % _HATCH == 0] = LOST
        _outline(self._canvas, left, top, right, bottom, LOST)
        middle, size = (top + bottom) // 2, 4
        for number in range(-size, size + 1):
            points = slice(left - 2 * size - 2, left - 2 * abs(number))
            self._canvas[middle + number, points] = LOST

    def peak(self, x: float, y: float) -> None:
        """Draw a frame around a pixel of the detector."""
        column, row = self.frame.x(x), self.frame.y(y)
        for size in (4, 5):
            _outline(self._canvas, column - size, row - size, column + size + 1, row + size + 1, PEAK)

    def ring(self, x: float, y: float, radius: float, name: str) -> None:
        """Draw a dashed circle around a point of the detector, as far as it lies in the image. Write its name where it leaves the image, or at its
        top."""
        frame = self.frame
        turns = np.linspace(0.0, 2.0 * math.pi, max(8, int(8 * radius * frame.zoom / frame.step)), endpoint=False)
        across = np.round((x + radius * np.cos(turns)) * frame.zoom / frame.step).astype(np.int64)
        down = np.round((y + radius * np.sin(turns)) * frame.zoom / frame.step).astype(np.int64)
        inside = (across >= 0) & (across < frame.width) & (down >= 0) & (down < frame.height)
        shown = inside & ((np.arange(turns.size) // (4 * _HATCH)) % 2 == 0)
        self._canvas[frame.top + down[shown], frame.left + across[shown]] = _WHITE
        if inside.any():
            top = int(np.flatnonzero(inside)[np.argmin(down[inside])])
            self._write(name, frame.left + int(across[top]), frame.top + int(down[top]) + 2, across=0.5)

    def png(self) -> bytes:
        """Return the picture as the bytes of a PNG file."""
        drawn = Image.fromarray(self._canvas).convert("P")
        drawn.putpalette(_PALETTE)
        out = io.BytesIO()
        drawn.save(out, "PNG")
        return out.getvalue()

    def _axes(self, rows: int, columns: int) -> None:
        frame = self.frame
        _outline(
            self._canvas,
            frame.left - 1,
            frame.top - 1,
            frame.left + frame.width + 1,
            frame.top + frame.height + 1,
            _BLACK,
        )
        below = frame.top + frame.height + 1
        for column in _ticks_of(columns, frame.width):
            at = min(frame.x(column), frame.left + frame.width - 1)
            self._canvas[below : below + _TICK, at] = _BLACK
            self._write(f"{column:g}", at, below + _TICK + 2, across=0.5)
        for row in _ticks_of(rows, frame.height):
            at = min(frame.y(row), frame.top + frame.height - 1)
            self._canvas[at, frame.left - 1 - _TICK : frame.left - 1] = _BLACK
            self._write(f"{row:g}", frame.left - 1 - _TICK - 3, at, across=1.0, down=0.5)

    def _bar(self, scale: Scale, unit: str) -> None:
        frame = self.frame
        height = max(round(0.8 * frame.height), _LEAST[1] - _ABOVE - _BELOW)
        left, top = frame.left + frame.width + _BAR_GAP, frame.top + (frame.height - height) // 2
        right, bottom = left + _BAR, top + height
        shares = np.linspace(1, 0, height)
        self._canvas[top:bottom, left:right] = _colours_of(shares)[:, np.newaxis]
        _outline(self._canvas, left - 1, top - 1, right + 1, bottom + 1, _BLACK)
        for number in range(_BAR // 2):  # beyond both ends: white above, black below
            row = self._canvas[top - 2 - number, left + number : right - number]
            row[[0, -1]] = _BLACK
            self._canvas[bottom + 1 + number, left + number : right - number] = _BLACK
        widest = 0
        for value in scale.ticks(max(2, height // _APART * 2)):
            at = bottom - 1 - round(float(scale.shares(np.array([value]))[0]) * (height - 1))
            self._canvas[at, right + 1 : right + 1 + _TICK] = _BLACK
            widest = max(widest, self._write(f"{value:g}", right + _TICK + 4, at, down=0.5))
        self._write(
            unit,
            min(right + _TICK + 10 + widest, self._canvas.shape[1] - _FONT - 3),
            (top + bottom) // 2,
            down=0.5,
            turned=True,
        )

    def _write(self, text: str, x: int, y: int, *, across: float = 0.0, down: float = 0.0, turned: bool = False) -> int:
        """Write a text at x and y and return its width. `across`, `down`: the share of the text that lies left of x, and above y."""
        ink = _ink_of(text)
        ink = np.rot90(ink) if turned else ink
        height, width = (int(side) for side in ink.shape)
        top, left = max(round(y - down * height), 0), max(round(x - across * width), 0)
        place = self._canvas[top : top + height, left : left + width]
        ink = ink[: place.shape[0], : place.shape[1]]
        place[ink > 0] = _WHITE - ink[ink > 0]
        return width


@functools.lru_cache(maxsize=256)
def _ink_of(text: str) -> _Canvas:
    """Return the blackness of each pixel of a text, in grey levels."""
    font = ImageFont.load_default(_FONT)
    left, top, right, bottom = (round(side) for side in font.getbbox(text))
    image = Image.new("L", (right - left + 1, bottom - top + 1))
    ImageDraw.Draw(image).text((-left, -top), text, font=font, fill=255)
    return (np.asarray(image).astype(np.uint16) * (_GREYS - 1) // 255).astype(np.uint8)


def _colours_of(shares: NDArray[np.float64]) -> _Canvas:
    """Return indices into the palette for positions from 0 to 1 on a scale."""
    known = np.clip(np.nan_to_num(shares, nan=0.0), -1, 2)
    colours = np.clip(known * _OF_MAP, 0, _OF_MAP - 1).astype(np.uint8)
    colours[known > 1] = _WHITE
    colours[known < 0] = _BLACK
    colours[np.isnan(shares)] = _NONE
    return colours


def _within(place: float, most: int) -> int:
    """Return the nearest position inside an image of this size, since a node may send any position."""
    return round(min(max(place, 0.0), float(most))) if math.isfinite(place) else 0


def _ticks_of(pixels: int, size: int) -> list[float]:
    """Return the ticks of an axis over `pixels` pixels of the detector that is `size` pixels long in the picture."""
    return _even_ticks(0, pixels, size // _APART) if size >= _APART else [0.0]


def _even_ticks(low: float, high: float, most: int) -> list[float]:
    """Return at most `most` multiples of 1, 2 or 5 times a power of ten between `low` and `high`, and at least one if there is one."""
    least = (high - low) / most
    power = 10.0 ** math.floor(math.log10(least))
    step = next(part * power for part in (1, 2, 5, 10) if part * power >= least)
    first = math.ceil(low / step)
    return [number * step for number in range(first, math.floor(high / step) + 1)]


def _outline(canvas: _Canvas, left: int, top: int, right: int, bottom: int, colour: int) -> None:
    """Draw the border of a rectangle, as far as it lies in the picture."""
    rows, columns = canvas.shape
    left, top, right, bottom = max(left, 0), max(top, 0), min(right, columns), min(bottom, rows)
    if left < right and top < bottom:
        canvas[top:bottom, [left, right - 1]] = colour
        canvas[[top, bottom - 1], left:right] = colour
