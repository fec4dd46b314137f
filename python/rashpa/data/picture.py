# SPDX-License-Identifier: Apache-2.0
"""Images of a run as small PNGs for its report: few colours, no larger than they are shown."""

import functools
import io
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import LogFormatter
from numpy.typing import NDArray
from PIL import Image

from rashpa.data import plot
from rashpa.data.reader import Run
from rashpa.data.run_facts import COMPLETENESS

_DPI = 100
_OF_MAP, _OF_GREY = 112, 24  # colours of a picture: of its map, of its axes and words
_PEAK = "#56b4e9"
_LINEAR = (1.0, 99.8)  # percentiles
_LOST = "#ff2a6d"  # on every map, and hatched: never by colour alone
_SMALLEST = 320  # pixels of the longer side as it is drawn, about
_LEFT, _BELOW, _AROUND = (
    60,
    40,
    (190, 70),
)  # pixels of the picture beside its image: axes, colour bar; of all, what is left and below
_BAR = (14, 16)  # pixels: gap, width
_LEAST = (360, 160)  # pixels of a picture


@dataclass(frozen=True)
class Picture:
    """`values`: the largest of each block of `step` × `step` pixels, NaN where no pixel has one; `lost`: x, y, width, height of lines that did not arrive;
    `peaks`: x, y of each."""

    values: NDArray[np.float64]
    step: int
    unit: str
    lost: NDArray[np.float64]
    peaks: NDArray[np.float32] | None = None
    linear: bool = False

    def png(self) -> bytes:
        """As people see it: logarithmic colours unless `linear`, pixels without a value grey, lost lines framed and hatched."""
        rows, columns = self.values.shape
        zoom = max(1, _SMALLEST // max(rows, columns))
        size, image, bar = _places(zoom * columns, zoom * rows)
        figure = Figure(figsize=size, dpi=_DPI)
        canvas: Any = FigureCanvasAgg(figure)  # its methods have no types
        axes = figure.add_axes(image)
        axes.set_facecolor(plot.MASKED_COLOUR)
        extent = (0.0, float(columns * self.step), float(rows * self.step), 0.0)
        colours = plot.colours().with_extremes(under="black", over="white", bad=(0, 0, 0, 0))
        scale = self._scale()
        shown = axes.imshow(
            self._above_nothing(scale), norm=scale, cmap=colours, extent=extent, interpolation="nearest"
        )
        for x, y, width, height in self.lost:
            frame = Rectangle((x, y), width, height, facecolor="none", edgecolor=_LOST, hatch="////", linewidth=1)
            axes.add_patch(frame)
            # a line is thin: something points to it
            axes.plot(x, y + height / 2, ">", markersize=7, color=_LOST, clip_on=False, zorder=5)
        axes.set_xlim(extent[0], extent[1])
        axes.set_ylim(extent[2], extent[3])
        if self.peaks is not None and self.peaks.size:
            style: dict[str, Any] = {"markersize": 9, "markerfacecolor": "none", "markeredgecolor": _PEAK}
            axes.plot(self.peaks[0] + 0.5, self.peaks[1] + 0.5, "s", **style)
        axes.tick_params(labelsize=8)
        bar_axes = figure.add_axes(bar)
        figure.colorbar(shown, cax=bar_axes, label=self.unit, extend="both")
        bar_axes.tick_params(labelsize=8)
        if (
            not self.linear
        ):  # as they are: powers of ten are set by a program for formulas, which takes longer than the picture
            bar_axes.yaxis.set_major_formatter(LogFormatter())
            bar_axes.yaxis.set_minor_formatter(LogFormatter())
        canvas.draw()  # savefig would draw twice
        drawn = Image.fromarray(np.asarray(canvas.buffer_rgba())[:, :, :3])  # on a ground that lets nothing through
        out = io.BytesIO()
        picture = drawn.quantize(palette=_palette(), dither=Image.Dither.NONE)
        picture.save(out, "PNG", optimize=True)
        return out.getvalue()

    def _above_nothing(self, scale: Normalize) -> NDArray[np.float64]:
        """A logarithm has no colour for 0, and a pixel without counts is none without a value."""
        least = float(scale.vmin or 0.0)
        low = np.isfinite(self.values) & (self.values < least)
        return self.values if self.linear else np.where(low, least / 2, self.values)

    def _scale(self) -> Normalize:
        known = self.values[np.isfinite(self.values)]
        if not self.linear or not known.size:
            return plot.scale_of(self.values)
        low, high = np.percentile(known, _LINEAR)
        return Normalize(low, max(high, low + 1))


_Box = tuple[float, float, float, float]


def _places(width: int, height: int) -> tuple[tuple[float, float], _Box, _Box]:
    """Size of a picture in inches, and where its image of so many pixels and its colour bar lie, as shares of it. They are not looked for as
    Matplotlib's layouts do, which draw all words twice."""
    wide, high = (max(of + around, least) for of, around, least in zip((width, height), _AROUND, _LEAST, strict=True))
    bottom = _BELOW + (high - _AROUND[1] - height) / 2
    gap, bar_width = _BAR
    bar_height = max(0.8 * height, _LEAST[1] - _AROUND[1])
    bar_bottom = bottom + (height - bar_height) / 2
    image = (_LEFT / wide, bottom / high, width / wide, height / high)
    bar = ((_LEFT + width + gap) / wide, bar_bottom / high, bar_width / wide, bar_height / high)
    return (wide / _DPI, high / _DPI), image, bar


@functools.cache
def _palette() -> Image.Image:
    """The colours that pictures are drawn in: a file of so few is small."""
    of_map = plot.colours()(np.linspace(0, 1, _OF_MAP), bytes=True)[:, :3].tolist()
    greys = [[level] * 3 for level in np.linspace(0, 255, _OF_GREY).astype(int).tolist()]
    words = [[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in (plot.MASKED_COLOUR, _LOST, _PEAK)]
    palette = Image.new("P", (1, 1))
    palette.putpalette([value for colour in (*of_map, *greys, *words) for value in colour])
    return palette


@dataclass(frozen=True)
class StoredPicture:
    """Of a file, and what it shows in words."""

    picture: Picture
    text: str


def unit_of(kind: str, arriving: bool = False) -> str:
    """Of pixels of this kind of type."""
    return "ADU as they arrived" if arriving else {"i": "photons", "f": "keV", "u": "ADU"}[kind]


def brightest(run: Run, side: int) -> StoredPicture | None:
    """The stored image of which the pipeline has counted most, in `side` values at most; None when none is stored."""
    if len(run) == 0:
        return None
    index = plot.brightest_image(run)
    row = run.row_of(index)
    pixels = run.image(index)
    values = np.where(run.invalid_of(pixels, index), np.nan, pixels.astype(np.float64))
    picture = reduced(values, side, unit_of(pixels.dtype.kind), _rectangles(run.lost_mask(row)))
    column = run.hit_column
    counted = "" if column is None else f", {run.tables.counted(column)[row]:g} {column.replace('_', ' ')}"
    state = COMPLETENESS[run.tables.completeness[row]]
    return StoredPicture(
        picture, f"frame {int(run.frame_numbers[index])}, {state}{counted}: the brightest stored image"
    )


def summed(run: Run, side: int, patience_s: float) -> StoredPicture | None:
    """What a kernel has accumulated, or else the sum of stored images, spread over the run, that can be read in this time."""
    for name, facts in run.accumulation_facts.items():
        quantity = next((known for known in ("sum", "mean") if known in facts.quantities), None)
        if quantity is None or not facts.windows or len(facts.shape) != 2:
            continue
        values = np.asarray(run.accumulated(name, quantity), np.float64)
        values[(run.pixel_mask & plot.GAP_OR_BAD) != 0] = np.nan
        text = f"{quantity} of {facts.windows[-1].images:,} images, by kernel {name}"
        return StoredPicture(reduced(values, side, unit_of(run.dtype.kind)), text)
    if len(run) == 0:
        return None
    total, known, used = np.zeros(run.shape), np.zeros(run.shape, np.bool_), 0
    ends = time.monotonic() + patience_s
    for index in spread(len(run)):
        pixels = run.image(index)
        valid = ~run.invalid_of(pixels, index)
        np.add(total, pixels, out=total, where=valid)
        known |= valid
        used += 1
        if time.monotonic() > ends:
            break
    total[~known] = np.nan
    what = f"all {used:,} stored images" if used == len(run) else f"{used:,} of {len(run):,} stored images"
    return StoredPicture(reduced(total, side, unit_of(run.dtype.kind)), f"sum of {what}")


def spread(count: int) -> list[int]:
    """0 … count - 1 in an order whose every beginning is spread over all."""
    bits = max(1, (count - 1).bit_length())
    turned = (int(f"{number:0{bits}b}"[::-1], 2) for number in range(1 << bits))
    return [number for number in turned if number < count]


def reduced(values: NDArray[np.float64], side: int, unit: str, lost: NDArray[np.float64] | None = None) -> Picture:
    """A picture of [row][column], NaN where there is no value, in `side` values at most; `lost`: rectangles."""
    step = -(-max(values.shape) // side)
    return Picture(plot.largest_of_blocks(values, step), step, unit, np.zeros((0, 4)) if lost is None else lost)


def _rectangles(lost: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Runs of rows that have lost the same columns from the first to the last."""
    found: list[list[int]] = []
    for row in np.flatnonzero(lost.any(axis=1)).tolist():
        columns = np.flatnonzero(lost[row])
        first, width = int(columns[0]), int(columns[-1] - columns[0] + 1)
        if found and found[-1][0] == first and found[-1][2] == width and found[-1][1] + found[-1][3] == row:
            found[-1][3] += 1
        else:
            found.append([first, row, width, 1])
    return np.array(found, np.float64).reshape(-1, 4)
