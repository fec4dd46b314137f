# SPDX-License-Identifier: Apache-2.0
"""The places of a detector's modules, in whole pixels, by a CrystFEL geometry whose images are the modules one below the other."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rashpa.data.geometry.crystfel_geometry import CrystfelGeometry, Experiment, Panel, read_stacked
from rashpa.data.geometry.laboratory import Axes, Direction, PanelPlace, Plane
from rashpa.data.geometry.orientation import Orientation, Step

_MOST_TURN = 0.05  # rad: a larger turn is no small misalignment
_MOST_STRETCH = 0.01  # of a pixel: a larger stretch makes pixels of another size
_MOST_APART = 1.0  # pixels between panels of one module that are placed as one
_DIRECTIONS: tuple[tuple[Direction, Direction], ...] = (("+x", "-x"), ("+y", "-y"))


@dataclass(frozen=True)
class ModulePlaces:
    """Holds for each module its first pixel (x, y) in the assembled image, and its orientation there; the beam there, and the axes of the image itself.
    `panels`: as the file has them, exactly. `unmasked`: a line for each rule of the file for bad pixels, which places do not hold."""

    places: tuple[tuple[int, int], ...]
    orientations: tuple[Orientation, ...]
    beam: tuple[float, float]
    axes: Axes
    panels: tuple[PanelPlace, ...]
    experiment: Experiment
    unmasked: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Way:
    """Describes the directions of pixels: axis of the laboratory and sign, fast and slow."""

    fast: tuple[int, int]
    slow: tuple[int, int]

    @classmethod
    def of_axes(cls, axes: Axes) -> "_Way":
        """Return the way of an image with these axes."""
        fast, slow = (("xy".index(one[1]), -1 if one[0] == "-" else 1) for one in (axes.fast, axes.slow))
        return cls(fast, slow)

    @property
    def axes(self) -> Axes:
        """Return the axes of an image whose pixels run so."""
        fast, slow = (_DIRECTIONS[axis][sign < 0] for axis, sign in (self.fast, self.slow))
        return Axes(fast, slow)

    @property
    def words(self) -> str:
        return ", ".join(
            f"{name} {'+-'[sign < 0]}{'xy'[axis]}" for name, (axis, sign) in (("fs", self.fast), ("ss", self.slow))
        )

    def within(self, image: "_Way") -> Orientation:
        """Return the orientation in an image whose pixels run `image`."""

        def step(along: tuple[int, int]) -> Step:
            axis, sign = along
            return (sign * image.fast[1], 0) if axis == image.fast[0] else (0, sign * image.slow[1])

        return Orientation.of_steps(step(self.fast), step(self.slow))


def read_module_places(
    key: str, path: str, module: tuple[int, int], most: int, axes: Axes | None = None
) -> ModulePlaces:
    """Read the places of at most `most` modules of (rows, columns). `axes`: of the image; those of most modules when not given. Raise ValueError or OSError
    that begin with key and file."""
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
    unmasked = tuple(_unmasked(geometry))
    return ModulePlaces(places, turns, (-left, -top), image.axes, exact, geometry.experiment, unmasked)


def _unmasked(geometry: CrystfelGeometry) -> Iterator[str]:
    """Yield a caution for each line that makes pixels bad: the mask of a run is that of its calibration, and of the kernels that get the file."""
    advice = "is no part of the mask of files; give it to [detector.calibration] mask, or the geometry to kernels"
    for bad in geometry.bad:
        yield f"line {bad.line}: the bad region {bad.name} {advice}"
    for key, wrong in (("mask_edge_pixels", lambda panel: panel.edge > 0), ("no_index", lambda panel: not panel.used)):
        panels = [panel for panel in geometry.panels if wrong(panel)]
        if panels:
            line, _ = panels[0].values[key]
            yield f"line {line}: {key} of {len(panels)} panels, the first of them {panels[0].name}, {advice}"
    for flag in geometry.flags:
        yield f"line {flag.line}: {flag.key} = {flag.value:g} {advice.replace('[detector.calibration] mask', 'detector.special')}"


def _check_one_size(panels: Sequence[Panel]) -> None:
    """Check that all lengths are in pixels of one size."""
    sized = [(panel.resolution, panel) for panel in panels if panel.resolution]
    for (line, size), panel in sized:
        if size != sized[0][0][1]:
            raise ValueError(
                f"line {line}: res of the panel {panel.name} is not that of the panels before; modules of an image have pixels of one size"
            )


def _exact(panel: Panel, rows: int) -> PanelPlace:
    """Return the place of the panel; `rows`: of a module. Offsets along the beam count from the detector's distance, in pixels like all else."""
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
    """Return the place where the panel's module would begin, in pixels of the image. It follows from the panel's middle, which small turns leave in place.
    `module`: columns, rows."""
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
