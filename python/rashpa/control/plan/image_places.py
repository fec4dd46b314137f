# SPDX-License-Identifier: Apache-2.0
"""Computes the places of a buffer's pixels in the laboratory, for telegrams, files and streams."""

from collections import Counter
from collections.abc import Iterator

from rashpa.control.plan.model import Plan, PlannedBuffer, PlannedDtp
from rashpa.control.plan.rectangle import Rectangle
from rashpa.control.plan.reduction import bins_of, fits
from rashpa.control.plan.run_plan import assembled_size, module_rectangles
from rashpa.control.runfile.kernels import parameters_of
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.control.telegrams.part_orders import MOST_PLACES
from rashpa.data.geometry.laboratory import PanelPlace, Plane, Vector, beam_on

_CHIP = 256  # pixels of a chip of JUNGFRAU, both ways


def beam_center(plan: Plan, buffer: PlannedBuffer) -> tuple[float, float]:
    """Return the point where the beam hits the buffer's image, in pixels from its corner; the image's centre when none is given."""
    detector = plan.file.detector
    if buffer.origin is None:  # by hand: no part lies where it does in the assembled image
        exact = beam_on([((place.x, place.y), plane) for place, _, plane in _parts(plan, buffer)])
        if exact is not None:
            return exact
    left, top = buffer.origin or (0, 0)
    width, height = _made_size(plan, buffer)
    x, y = detector.beam_center_x, detector.beam_center_y
    across, down = bins_of(buffer.section)
    return ((x if x is not None else width / 2) - left) / across, ((y if y is not None else height / 2) - top) / down


def module_entries(plan: Plan, buffer: PlannedBuffer) -> list[dict[str, object]]:
    """Return the buffer's part of each module: one rectangle, or one for each panel that a geometry places. Positions are in the buffer's image.
    Raise RunFileError when there are too many."""
    pitch = plan.file.detector.pixel_size_m
    parts = _parts(plan, buffer)
    if not parts:
        return [_entry(f"m{module}", _around(buffer, module)) for module in sorted({dtp.module for dtp in buffer.dtps})]
    if _assembles(buffer):  # which moves the panels of a module, and not the module
        parts = [next(part for part in parts if part[1] == module) for module in dict.fromkeys(one[1] for one in parts)]
        parts = [
            (around := _around(buffer, module), module, plane.starting((around.x - place.x, around.y - place.y)))
            for place, module, plane in parts
        ]
    if len(parts) > MOST_PLACES:
        where = plan.source.where(("detector", "geometry"))
        raise RunFileError(
            f"{where}: buffer {buffer.section.name} has parts of {len(parts)} panels, and a file at most {MOST_PLACES}; divide it"
        )
    counts = Counter(module for _, module, _ in parts)
    numbers: Counter[int] = Counter()
    entries = []
    for place, module, plane in parts:
        name = f"m{module}" if counts[module] == 1 else f"m{module}_{numbers[module]}"
        numbers[module] += 1
        lies = plane.scaled(pitch)
        vectors = {key: _text(getattr(lies, key)) for key in ("corner", "fast", "slow")}
        entries.append(_entry(name, place) | vectors)
    return entries


def _parts(plan: Plan, buffer: PlannedBuffer) -> list[tuple[Rectangle, int, Plane]]:
    """Return, for each panel with pixels in the buffer, its rectangle in the image, the module, and the grid that begins there, in pixels."""
    panels: dict[int, list[PanelPlace]] = {}
    for panel in plan.placed.panels:
        panels.setdefault(panel.module, []).append(panel)
    found: list[tuple[Rectangle, int, Plane]] = []
    merged: dict[tuple[int, int, int, int], int] = {}  # bands of a panel that lie as one
    for dtp in buffer.dtps:
        for number, panel in enumerate(panels.get(dtp.module, ())):
            part = _part(plan, dtp, panel)
            if part is None:
                continue
            key = (dtp.module, number, dtp.x * dtp.bins[0] - dtp.region.x, dtp.y * dtp.bins[1] - dtp.region.y)
            if key in merged:
                place, module, plane = found[merged[key]]
                around = _around_both(place, part[0])
                found[merged[key]] = (around, module, plane.starting((around.x - place.x, around.y - place.y)))
            else:
                merged[key] = len(found)
                found.append((part[0], dtp.module, part[1]))
    return found


def _part(plan: Plan, dtp: PlannedDtp, panel: PanelPlace) -> tuple[Rectangle, Plane] | None:
    """Return the part of a panel that a DTP sends: its rectangle in the buffer's image, and the grid that begins there; None when they do not
    overlap."""
    detector = plan.file.detector
    sides = detector.width, detector.height
    inside = Rectangle(*panel.rectangle(dtp.orientation, *sides)).common(dtp.region)
    if inside is None:
        return None
    if not fits(Rectangle(inside.x - dtp.region.x, inside.y - dtp.region.y, inside.width, inside.height), dtp.bins):
        where = plan.source.where(("detector", "geometry"))
        raise RunFileError(
            f"{where}: bins of {dtp.bins[0]} × {dtp.bins[1]} pixels cross the border of a panel of module {dtp.module} at {inside}; choose bin_x and bin_y of "
            "[buffer.reduction] that divide its panels"
        )
    lattice = panel.of_module.turned(dtp.orientation, *sides).starting((inside.x, inside.y))
    return dtp.placed(inside), lattice.binned(*dtp.bins)


def bad_regions(plan: Plan, buffer: PlannedBuffer) -> Iterator[Rectangle]:
    """Yield rectangles of pixels, in the buffer's arriving image, that the detector's geometry declares bad."""
    sides = plan.file.detector.width, plan.file.detector.height
    for dtp in buffer.dtps:
        for bad in plan.placed.bad:
            if bad.module != dtp.module:
                continue
            inside = Rectangle(*bad.rectangle(dtp.orientation, *sides)).common(dtp.region)
            if inside is not None:
                yield dtp.placed(inside)


def _made_size(plan: Plan, buffer: PlannedBuffer) -> tuple[int, int]:
    """Return width and height of the whole assembled image after the buffer's kernels."""
    width, height = assembled_size(plan.file.detector)
    if _assembles(buffer):
        places = module_rectangles(plan.file.detector)
        width = max(place.x + _spread(place.width) for place in places)
        height = max(place.y + _spread(place.height) for place in places)
    for kernel in buffer.section.kernel:
        if kernel.name == "unpack":
            own = parameters_of(kernel)
            across, down = own["modules_across"], own["modules_down"]
            width = across * own["module_width"] + (across - 1) * own["gap_x"]
            height = down * own["module_height"] + (down - 1) * own["gap_y"]
    return width, height


def _spread(pixels: int) -> int:
    """Return the side of a module when pixels at borders of chips have double size."""
    return pixels + 2 * ((pixels - 1) // _CHIP)


def _assembles(buffer: PlannedBuffer) -> bool:
    return any(parameters_of(kernel).get("borders", "raw") != "raw" for kernel in buffer.section.kernel)


def _around(buffer: PlannedBuffer, module: int) -> Rectangle:
    """Return the rectangle that encloses the buffer's part of a module."""
    targets = [dtp.target for dtp in buffer.dtps if dtp.module == module]
    found = targets[0]
    for target in targets[1:]:
        found = _around_both(found, target)
    return found


def _around_both(one: Rectangle, other: Rectangle) -> Rectangle:
    x, y = min(one.x, other.x), min(one.y, other.y)
    return Rectangle(x, y, max(one.right, other.right) - x, max(one.bottom, other.bottom) - y)


def _entry(name: str, place: Rectangle) -> dict[str, object]:
    return {"name": name, "x": place.x, "y": place.y, "width": place.width, "height": place.height}


def _text(vector: Vector) -> str:
    return " ".join(f"{value:.12g}" for value in vector)
