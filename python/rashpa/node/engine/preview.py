# SPDX-License-Identifier: Apache-2.0
"""Encodes a recent image for viewers of a run, on request: as PNG for people, as numbers for programs."""

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rashpa.data.figures.view_bytes import ABSENT, bytes_of_view

Rectangle = tuple[int, int, int, int]
"""x, y, width, height: pixels."""
Named = Mapping[str, NDArray[Any]]
Shown = Literal["accepted", "vetoed", "partial"]
"""A recent accepted image, the first of the run that a kernel has vetoed, the first of which lines did not arrive."""


@dataclass(frozen=True)
class Preview:
    """Holds an image and its facts. `vetoed`: the reason of a veto, None without one; `arriving`: True when these are the detector's pixels, before
    the pipeline. `masked`: the pixels without a value; `lost`: rectangles of lines that did not arrive. `columns`: the pipeline's numbers; `tables`:
    its lists, such as peaks, column by column; `profiles`: its curves, as arrays and axes."""

    index: int
    frame: int
    timestamp_ns: int
    partial: bool
    pixels: NDArray[Any]
    masked: "Masked"
    lost: tuple[Rectangle, ...] = ()
    columns: Mapping[str, float] = field(default_factory=dict)
    tables: Mapping[str, Named] = field(default_factory=dict)
    profiles: Mapping[str, tuple[Named, Named]] = field(default_factory=dict)
    vetoed: str | None = None
    arriving: bool = False


@dataclass(frozen=True)
class Masked:
    """Describes the pixels without a value. `delivered`: True when they are negative, as detectors mark them; otherwise they have the least value of
    the type, as kernels mark them. `special`: values that are no measurement; `saturated`: those of them that mean an overflow. `gaps`: True at pixels
    outside of modules, None without any."""

    delivered: bool = False
    special: tuple[int, ...] = ()
    gaps: NDArray[np.bool_] | None = None
    saturated: tuple[int, ...] = ()


@dataclass(frozen=True)
class View:
    """Describes a part of an image, reduced to the largest value of each block of `step` × `step` pixels. `width` and `height` 0: to the image's end."""

    x: int = 0
    y: int = 0
    width: int = 0
    height: int = 0
    step: int = 1

    def within(self, shape: tuple[int, ...]) -> tuple[slice, slice]:
        """Return rows and columns of the view in an image of this shape. Raise ValueError when the view begins outside of the image."""
        rows, columns = shape
        if self.x >= columns or self.y >= rows:
            raise ValueError(f"the image has {columns} × {rows} pixels; none is at {self.x}, {self.y}")
        right = min(columns, self.x + self.width) if self.width else columns
        bottom = min(rows, self.y + self.height) if self.height else rows
        return slice(self.y, bottom), slice(self.x, right)


def viewed(preview: Preview, view: View) -> bytes:
    """Encode a view in the form of `rashpa.data.figures.view_bytes`. Its arrays are `image`, `absent` (the reason for each block without a value, row
    after row), `peaks` (x and y of each, in pixels of the image), and one for each profile: the last axis and the first array. Raise ValueError when
    the view is not in the image."""
    from rashpa import _native  # only a node with images needs compiled code

    where = view.within(preview.pixels.shape)
    corners = (where[1].start, where[0].start, where[1].stop, where[0].stop)
    masked = preview.masked
    image = _native.view_of(preview.pixels, corners, view.step, masked.delivered, masked.special, masked.gaps)
    arrays: dict[str, NDArray[Any]] = {"image": image}
    if (absent := _absent(preview, image, where, view.step)).size:
        arrays["absent"] = absent
    peaks_of = ""
    for name, table in preview.tables.items():
        if "x" in table and "y" in table and "peaks" not in arrays:
            arrays["peaks"] = np.stack([table["x"], table["y"]]).astype(np.float32)
            peaks_of = name
    for name, (values, axes) in preview.profiles.items():
        first, axis = next(iter(values.values())), list(axes.values())[-1]
        if first.ndim == 1:
            arrays[f"profile_{name}"] = np.stack([axis, first])
    facts = {
        "index": preview.index,
        "frame": preview.frame,
        "timestamp_ns": preview.timestamp_ns,
        "partial": preview.partial,
        "vetoed": preview.vetoed,
        "arriving": preview.arriving,
        "size": [preview.pixels.shape[1], preview.pixels.shape[0]],
        "view": [*corners, view.step],
        "kind": preview.pixels.dtype.kind,
        "peaks_of": peaks_of,
        "lost": preview.lost,
        "columns": {name: value if np.isfinite(value) else None for name, value in preview.columns.items()},
        "axes": {name: list(axes)[-1] for name, (_, axes) in preview.profiles.items()},
    }
    return bytes_of_view(facts, arrays)


def _absent(preview: Preview, image: NDArray[Any], where: tuple[slice, slice], step: int) -> NDArray[np.uint8]:
    """Return the reason for each block without a value, row after row: the reason of the block's first pixel."""
    none = np.isnan(image) if image.dtype.kind == "f" else image == _none_of(image.dtype)
    rows, columns = np.nonzero(none)
    if not rows.size:
        return np.empty(0, np.uint8)
    rows, columns = where[0].start + rows * step, where[1].start + columns * step
    found = np.full(rows.size, ABSENT.index("masked"), np.uint8)
    masked = preview.masked
    if masked.saturated:
        found[np.isin(preview.pixels[rows, columns], masked.saturated)] = ABSENT.index("saturated")
    for x, y, width, height in preview.lost:
        inside = (columns >= x) & (columns < x + width) & (rows >= y) & (rows < y + height)
        found[inside] = ABSENT.index("lost")
    if masked.gaps is not None:
        found[masked.gaps[rows, columns]] = ABSENT.index("not written")
    return found


def _none_of(kind: np.dtype[Any]) -> int:
    """Return the value that marks, in a view of integers, a block without a value."""
    limits = np.iinfo(kind)
    return int(limits.min if kind.kind == "i" else limits.max)


def png_of(image: NDArray[Any]) -> bytes:
    """Return a grey PNG on a square-root scale up to the 99.9th percentile. Values that are no measurement (fill values, NaN, negative) are black."""
    from PIL import Image  # of which most nodes make none

    values = image.astype(np.float32)
    if np.issubdtype(image.dtype, np.integer):
        limits = np.iinfo(image.dtype)
        values[(image == limits.max) | ((image == limits.min) & (limits.min < 0))] = 0.0
    values = np.clip(np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0), 0.0, None)
    top = float(np.percentile(values, 99.9)) if values.size else 0.0
    grey = np.sqrt(np.clip(values / max(top, 1e-6), 0.0, 1.0)) * 255.0
    out = io.BytesIO()
    Image.fromarray(grey.astype(np.uint8)).save(out, format="PNG")
    return out.getvalue()
