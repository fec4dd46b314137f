# SPDX-License-Identifier: Apache-2.0
"""Computes the places of a detector's modules, in whole pixels, from a CrystFEL geometry for images with the modules stacked from top to bottom."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rashpa.data.geometry.crystfel_geometry import CrystfelGeometry, Experiment, Panel, read_stacked
from rashpa.data.geometry.crystfel_keys import ValueFlag, number_of
from rashpa.data.geometry.laboratory import Axes, Direction, ModulePart, PanelPlace, Plane
from rashpa.data.geometry.orientation import Orientation, Step

_MOST_TURN = 0.05  # rad: a larger turn is no small misalignment
_MOST_STRETCH = 0.01  # of a pixel: a larger stretch makes pixels of another size
_MOST_BAD = 16_384  # rectangles, of which a receiver is told
_MOST_APART = 1.0  # pixels between panels of one module that are placed as one
_DIRECTIONS: tuple[tuple[Direction, Direction], ...] = (("+x", "-x"), ("+y", "-y"))


@dataclass(frozen=True)
class ModulePlaces:
    """Holds, for each module, its first pixel (x, y) and its orientation in the assembled image; also the beam in that image, and the image's axes.
    `panels`: the exact places from the file. `bad`: pixels that are bad by their place, `flags`: pixels that are bad by their value. `saturation`:
    the value above which pixels are saturated, 0 when the file gives none."""

    places: tuple[tuple[int, int], ...]
    orientations: tuple[Orientation, ...]
    beam: tuple[float, float]
    axes: Axes
    panels: tuple[PanelPlace, ...]
    experiment: Experiment
    bad: tuple[ModulePart, ...] = ()
    flags: tuple[ValueFlag, ...] = ()
    saturation: float = 0.0


@dataclass(frozen=True)
class _Way:
    """Describes the fast and the slow direction of pixels, each as laboratory axis and sign."""

    fast: tuple[int, int]
    slow: tuple[int, int]

    @classmethod
    def of_axes(cls, axes: Axes) -> "_Way":
        """Return the directions of an image with these axes."""
        fast, slow = (("xy".index(one[1]), -1 if one[0] == "-" else 1) for one in (axes.fast, axes.slow))
        return cls(fast, slow)

    @property
    def axes(self) -> Axes:
        """Return the axes of an image with these directions."""
        fast, slow = (_DIRECTIONS[axis][sign < 0] for axis, sign in (self.fast, self.slow))
        return Axes(fast, slow)

    @property
    def words(self) -> str:
        return ", ".join(
            f"{name} {'+-'[sign < 0]}{'xy'[axis]}" for name, (axis, sign) in (("fs", self.fast), ("ss", self.slow))
        )

    def within(self, image: "_Way") -> Orientation:
        """Return the orientation of these directions in an image with the directions `image`."""

        def step(along: tuple[int, int]) -> Step:
            axis, sign = along
            return (sign * image.fast[1], 0) if axis == image.fast[0] else (0, sign * image.slow[1])

        return Orientation.of_steps(step(self.fast), step(self.slow))


def read_module_places(
    key: str, path: str, module: tuple[int, int], most: int, axes: Axes | None = None
) -> ModulePlaces:
    """Read the places of at most `most` modules of (rows, columns). `axes`: the image's axes, by default those of most modules. Raise ValueError or
    OSError with a text that begins with key and file."""
    geometry = read_stacked(key, path, module, most)
    try:
        return _places_of(geometry, module, axes)
    except ValueError as error:
        raise ValueError(f"{key}: {path}: {error}") from None


def _places_of(geometry: CrystfelGeometry, module: tuple[int, int], axes: Axes | None) -> ModulePlaces:
    height, width = module
    panels = geometry.panels
    _check_one_size(panels)
    ways = [_way_of(panel) for panel in panels]
    owners: dict[int, int] = {}  # by module, its first panel
    for position, panel in enumerate(panels):
        number = panel.top // height
        if panel.bottom > (number + 1) * height:
            raise ValueError(
                f"line {panel.line}: the panel {panel.name} is of rows {panel.top} … {panel.bottom - 1}, beyond the {height} rows of module {number}"
            )
        first = owners.setdefault(number, position)
        if ways[position] != ways[first]:
            raise ValueError(
                f"line {panel.line}: the panel {panel.name} runs {ways[position].words}, the panel {panels[first].name} of the same module "
                f"{ways[first].words}; a module is turned as a whole: give each part of it a module of its own"
            )
    most = Counter(ways[first] for _, first in sorted(owners.items())).most_common(1)[0][0]
    image = most if axes is None else _Way.of_axes(axes)
    orientations = {number: ways[first].within(image) for number, first in owners.items()}
    corners: list[list[tuple[float, float]]] = [[] for _ in range(max(panel.bottom for panel in panels) // height)]
    for panel in panels:
        number = panel.top // height
        corners[number].append(_corner(panel, image, number * height, orientations[number], (width, height)))
    means = [_mean(number, own) for number, own in enumerate(corners)]
    left, top = (min(mean[axis] for mean in means) for axis in (0, 1))
    places = tuple((round(x - left), round(y - top)) for x, y in means)
    exact = tuple(_exact(panel, height) for panel in panels)
    turns = tuple(orientations[number] for number in range(len(places)))
    bad = tuple(_bad_parts(geometry, (len(means) * height, width), height))
    beam = (-left, -top)
    return ModulePlaces(
        places, turns, beam, image.axes, exact, geometry.experiment, bad, geometry.flags, _saturation(panels)
    )


def _bad_parts(geometry: CrystfelGeometry, shape: tuple[int, int], rows: int) -> Iterator[ModulePart]:
    """Yield the bad pixels of modules with `rows` rows each. `shape`: the shape of all modules, stacked from top to bottom. Raise ValueError for too
    many rectangles."""
    bad = geometry.bad_pixels(shape)
    count = 0
    for number in range(-(-shape[0] // rows)):
        for left, top, width, height in rectangles_of(bad[number * rows : (number + 1) * rows]):
            count += 1
            if count > _MOST_BAD:
                raise ValueError(
                    f"its bad pixels are more than {_MOST_BAD} rectangles; give them as a mask, in [detector.calibration]"
                )
            yield ModulePart(number, left, top, width, height)


def rectangles_of(pixels: NDArray[np.bool_]) -> Iterator[tuple[int, int, int, int]]:
    """Yield left, top, width and height of rectangles that cover these pixels, each once: runs within a row, joined with equal runs of the rows
    below."""
    edges = np.diff(np.pad(pixels, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    begun: dict[tuple[int, int], int] = {}
    for row in range(len(pixels) + 1):
        here = edges[row] if row < len(pixels) else edges[:0]
        runs = set(zip(np.flatnonzero(here == 1).tolist(), np.flatnonzero(here == -1).tolist(), strict=True))
        for left, right in sorted(begun.keys() - runs):
            top = begun.pop((left, right))
            yield left, top, right - left, row - top
        begun |= dict.fromkeys(runs - begun.keys(), row)


def _saturation(panels: Sequence[Panel]) -> float:
    """Return the value from which pixels are saturated, 0 when the file gives none. Raise ValueError when it gives several."""
    found: float | None = None
    for panel in panels:
        at = panel.values.get("max_adu")
        value = number_of("max_adu", at) if at else 0.0
        if found not in (None, value):
            raise ValueError(
                f"line {at[0] if at else panel.line}: max_adu of the panel {panel.name} is not that of the panels before; files have one: leave it out"
            )
        found = value
    return found or 0.0


def _check_one_size(panels: Sequence[Panel]) -> None:
    """Check that all lengths are in pixels of one size. Raise ValueError."""
    sized = [(panel.resolution, panel) for panel in panels if panel.resolution]
    for (line, size), panel in sized:
        if size != sized[0][0][1]:
            raise ValueError(
                f"line {line}: res of the panel {panel.name} is not that of the panels before; modules of an image have pixels of one size"
            )


def _exact(panel: Panel, rows: int) -> PanelPlace:
    """Return the exact place of the panel; `rows`: rows of a module. Offsets along the beam are relative to the detector's distance, in pixels."""
    plane = Plane((*panel.corner, panel.offset), panel.fs, panel.ss)
    number = panel.top // rows
    return PanelPlace(
        number,
        panel.left,
        panel.top - number * rows,
        panel.right - panel.left,
        panel.bottom - panel.top,
        plane,
    )


def _way_of(panel: Panel) -> _Way:
    fast, slow = (_axis(panel, name, direction) for name, direction in (("fs", panel.fs), ("ss", panel.ss)))
    if fast[0] == slow[0]:
        raise ValueError(f"line {panel.line}: fs and ss of the panel {panel.name} are both along {'xy'[fast[0]]}")
    return _Way(fast, slow)


def _axis(panel: Panel, name: str, direction: tuple[float, float, float]) -> tuple[int, int]:
    axis = 0 if abs(direction[0]) >= abs(direction[1]) else 1
    along = direction[axis]
    across = math.hypot(direction[1 - axis], direction[2])
    if across > _MOST_TURN * abs(along):
        turn = math.degrees(math.atan2(across, abs(along)))
        raise ValueError(
            f"line {panel.line}: {name} of the panel {panel.name} is {turn:.1f}° off x and y; whole pixels have no place for more than "
            f"{math.degrees(_MOST_TURN):.1f}°"
        )
    length = math.hypot(along, across)
    if abs(length - 1) > _MOST_STRETCH:
        raise ValueError(
            f"line {panel.line}: {name} of the panel {panel.name} is {length:.3g} pixels long; pixels of an image are square and of one size: mend it, or res"
        )
    return axis, 1 if along > 0 else -1


def _corner(
    panel: Panel, image: _Way, first_row: int, orientation: Orientation, module: tuple[int, int]
) -> tuple[float, float]:
    """Return the place where the panel's module begins, in pixels of the image. It is computed from the panel's centre, which small rotations do not
    move. `module`: columns, rows."""
    width, height = panel.right - panel.left, panel.bottom - panel.top
    middle = [panel.corner[axis] + panel.fs[axis] * width / 2 + panel.ss[axis] * height / 2 for axis in (0, 1)]
    column, row = panel.left + width / 2, panel.top - first_row + height / 2
    x, y = orientation.place_of((column, row), *module)
    return middle[image.fast[0]] * image.fast[1] - x, middle[image.slow[0]] * image.slow[1] - y


def _mean(number: int, corners: Sequence[tuple[float, float]]) -> tuple[float, float]:
    if not corners:
        raise ValueError(f"has no panel of module {number}")
    for axis in (0, 1):
        values = [corner[axis] for corner in corners]
        apart = max(values) - min(values)
        if apart > _MOST_APART:
            raise ValueError(
                f"the panels of module {number} have gaps of up to {apart:.1f} pixels between them; modules are placed as a whole: give their places in "
                "[[detector.module]], and the geometry to the kernels that take one"
            )
    return sum(x for x, _ in corners) / len(corners), sum(y for _, y in corners) / len(corners)
