# SPDX-License-Identifier: Apache-2.0
"""Draws pictures of a stored run as PNG: one image, or the hit curve."""

import io
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import ListedColormap, LogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import NDArray

from rashpa.data.base.pixels import bad_pixels
from rashpa.data.figures.image_values import MASKED_COLOUR, blocks, bounds_of, largest_of_blocks, unit_of
from rashpa.data.files.regular_file import write_named
from rashpa.data.stored.joined_run import JoinedRun
from rashpa.data.stored.reader import Run
from rashpa.data.stored.run_facts import COMPLETENESS, DECISIONS

_DPI = 100
_LARGEST = 1100  # pixels of the longer side of the picture of an image
_LOST_COLOUR = "#d62728"
# The fate of an image: its colour, in the order of drawing (the last lies on top).
_OUTCOMES = {
    "vetoed: too few": "#9aa5b1",
    "vetoed: dark": "#454d55",
    "vetoed: too many": "#b07aa1",
    "vetoed: partial": "#e69f00",
    "accepted": "#0072b2",
    "errored": "#d62728",
}


def _further_vetoes(outcomes: NDArray[Any]) -> dict[str, str]:
    """Return a colour for each veto reason that only some pipelines have."""
    shades = ("#8c6d31", "#637939", "#7b4173", "#3182bd")
    further = sorted(str(name) for name in np.unique(outcomes) if name.startswith("vetoed: ") and name not in _OUTCOMES)
    return {name: shades[number % len(shades)] for number, name in enumerate(further)}


def draw_image(run: Run | JoinedRun, index: int, path: Path) -> None:
    """Draw stored image `index` in logarithmic colours, with masked pixels grey and lost ones red. Reducing the image keeps every bright spot."""
    row = run.row_of(index)
    pixels = run.image(index)
    lost = run.lost_mask(row)
    masked = _masked(pixels, run.pixel_mask) | np.isin(pixels, list(run.special_values))
    step = -(-max(run.shape) // _LARGEST)
    values = largest_of_blocks(np.where(masked | lost, np.nan, pixels.astype(np.float64)), step)
    covers = np.select([_majority(lost, step), _majority(masked, step)], [2.0, 1.0], np.nan)
    height, width = values.shape
    figure = Figure(figsize=((width + 260) / _DPI, (height + 130) / _DPI), dpi=_DPI, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    extent = (0.0, float(run.shape[1]), float(run.shape[0]), 0.0)
    scale = LogNorm(*bounds_of(values))
    shown = axes.imshow(values, norm=scale, cmap=colours(), extent=extent, interpolation="nearest")
    covered = ListedColormap([MASKED_COLOUR, _LOST_COLOUR])
    axes.imshow(covers, cmap=covered, vmin=1, vmax=2, extent=extent, interpolation="nearest")
    unit = unit_of(pixels.dtype.kind)
    figure.colorbar(shown, ax=axes, label=unit, extend="both", shrink=0.8)
    frame = int(run.frame_numbers[index])
    state = COMPLETENESS[run.tables.completeness[row]]
    column = run.hit_column
    counted = "" if column is None else f", {run.tables.counted(column)[row]:g} {column.replace('_', ' ')}"
    axes.set_title(
        f"{run.path.name}: image {index}, frame {frame}, {state}{counted}",
        fontsize=10,
        loc="left",
    )
    axes.set_xlabel("column (pixels)")
    axes.set_ylabel("row (pixels)")
    keys = [Patch(color=MASKED_COLOUR, label=f"masked ({int((masked & ~lost).sum())} pixels)")]
    if lost.any():
        keys.append(Patch(color=_LOST_COLOUR, label=f"lost on the way ({int(lost.sum())} pixels)"))
    figure.legend(handles=keys, loc="outside lower left", ncols=2, frameon=False, fontsize=9)
    picture = io.BytesIO()
    figure.savefig(picture, format="png")
    write_named(path, picture.getvalue())


def draw_hits(run: Run | JoinedRun, path: Path) -> None:
    """Draw bright pixels (or the pipeline's last counts) over the frame number, coloured by the fate of each image; missing images are marked on the
    axis."""
    tables = run.tables
    figure = Figure(figsize=(11, 5), dpi=_DPI, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    decided = tables.decision != DECISIONS.index("none")
    outcomes = _outcomes(run)
    column = run.hit_column
    # Uncounted images lie on the line of 0.
    bright = tables.counted(column).clip(min=0) if column is not None else np.zeros(len(tables.decision), np.int64)
    for outcome, colour in {**_further_vetoes(outcomes), **_OUTCOMES}.items():
        here = decided & (outcomes == outcome)
        if here.any():
            label = f"{outcome} ({int(here.sum())})"
            axes.plot(tables.frame_number[here], bright[here], ".", ms=5, color=colour, label=label)
    partial = decided & (tables.completeness == COMPLETENESS.index("partial"))
    if partial.any():
        style: dict[str, Any] = {"ms": 9, "mfc": "none", "mec": "#e69f00", "label": f"partial ({int(partial.sum())})"}
        axes.plot(tables.frame_number[partial], bright[partial], "o", **style)
    missing = tables.completeness == COMPLETENESS.index("missing")
    if missing.any():
        ticks = np.zeros(int(missing.sum()))
        label = f"missing ({len(ticks)})"
        axes.plot(tables.frame_number[missing], ticks, "|", ms=16, mew=1.5, color=_LOST_COLOUR, label=label)
    axes.set_yscale("symlog", linthresh=10)
    axes.set_ylim(bottom=-1.5)  # images without a bright pixel lie on a visible line
    axes.set_yticks([tick for tick in axes.get_yticks() if tick >= 0])
    axes.set_xlabel("frame number")
    axes.set_ylabel((column or "").replace("_", " "))
    axes.grid(visible=True, color="#e5e8eb")
    axes.set_axisbelow(True)
    books = run.books
    axes.set_title(
        f"{run.path.name}: {books['accepted']} accepted, {books['vetoed']} vetoed, {books['missing']} missing of {books['expected']}",
        fontsize=10,
        loc="left",
    )
    if axes.get_legend_handles_labels()[0]:
        figure.legend(loc="outside right upper", frameon=False, fontsize=9)
    picture = io.BytesIO()
    figure.savefig(picture, format="png")
    write_named(path, picture.getvalue())


def _masked(pixels: NDArray[Any], mask: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Return True for pixels without a valid value, by the detector's mask or by the fill value of their type."""
    kind = pixels.dtype.kind
    fill = (
        np.isnan(pixels)
        if kind == "f"
        else pixels == (np.iinfo(pixels.dtype).min if kind == "i" else np.iinfo(pixels.dtype).max)
    )
    return np.asarray(fill | bad_pixels(mask), dtype=np.bool_)


def _majority(flags: NDArray[np.bool_], step: int) -> NDArray[np.bool_]:
    return np.asarray(blocks(flags, step, fill=False).mean(axis=2) > 0.5)


def colours() -> Any:
    """Return the colour map of images."""
    return colormaps["inferno"].with_extremes(under="black", over="white", bad="black")


def _outcomes(run: Run | JoinedRun) -> NDArray[np.str_]:
    """Return, for each image, its key in _OUTCOMES."""
    reasons = np.array([f"vetoed: {name.replace('_', ' ')}" for name in run.veto_reasons])
    names = np.array(DECISIONS)[np.minimum(run.tables.decision, len(DECISIONS) - 1)]
    known = reasons[np.minimum(run.tables.veto_reason, len(reasons) - 1)]
    return np.asarray(np.where(names == "vetoed", known, names))
