# SPDX-License-Identifier: Apache-2.0
"""Implements `detector.geometry`: places of modules, the beam, and other facts of the detector come from a geometry file in place of keys of the run
file."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pydantic import ValidationError

from rashpa.control.runfile import run_file as toml
from rashpa.control.runfile import special_values
from rashpa.control.runfile.kernels import declaration, first_looking, label_of
from rashpa.control.runfile.run_file_reader import RunFileError, RunFileSource
from rashpa.data.base.value_words import faults_of
from rashpa.data.files.file_names import located
from rashpa.data.geometry.laboratory import AS_SEEN_FROM_THE_SAMPLE, Axes, ModulePart, PanelPlace

if TYPE_CHECKING:
    from rashpa.data.base.pixels import Masking
    from rashpa.data.geometry.crystfel_geometry import Experiment

_SAME = 1e-3  # relative: digits that people leave out of a file


@dataclass(frozen=True)
class PlacedDetector:
    """Holds the facts of the detector that the plan adds to the run file. `panels`: by module, if a geometry has them; lengths are in pixels, with
    the beam at x = y = 0."""

    axes: Axes = AS_SEEN_FROM_THE_SAMPLE
    panels: tuple[PanelPlace, ...] = ()
    bad: tuple[ModulePart, ...] = ()
    saturation: float = 0.0
    cautions: tuple[str, ...] = ()


UNPLACED = PlacedDetector()
"""The detector of a run file that has only places in the image."""


def with_places(file: toml.RunFile, source: RunFileSource) -> tuple[toml.RunFile, PlacedDetector]:
    """Return the run file with the values of its geometry where it has none of its own, and these facts. Raise RunFileError that names the fault."""
    detector = file.detector
    axes = _axes_of(detector, source)
    if detector.geometry is None:
        return file, PlacedDetector(axes or AS_SEEN_FROM_THE_SAMPLE)
    where = source.where(("detector", "geometry"))
    if "module" in detector.model_fields_set:
        raise RunFileError(f"{where}: the places of modules stand in [[detector.module]], too; keep one of both")
    # with NumPy, for runs that have such a file
    from rashpa.data.base.pixels import counts_of
    from rashpa.data.geometry.crystfel_keys import flag_trouble
    from rashpa.data.geometry.crystfel_modules import read_module_places

    path = located(detector.geometry, source.path.resolve().parent)
    try:
        found = read_module_places("geometry", path, (detector.height, detector.width), toml.MOST_MODULES, axes)
    except (OSError, ValueError) as error:
        raise RunFileError(f"{where}: {str(error).removeprefix('geometry: ')}") from None
    try:
        modules = [
            toml.Module.model_validate({"x": x, "y": y, "turn": way.turn, "flip": way.flip})
            for (x, y), way in zip(found.places, found.orientations, strict=True)
        ]
    except ValidationError as error:
        raise RunFileError(f"{where}: {path}: a module: {faults_of(error)[0]}") from None
    beam = (
        found.beam[0] if detector.beam_center_x is None else detector.beam_center_x,
        found.beam[1] if detector.beam_center_y is None else detector.beam_center_y,
    )
    if trouble := flag_trouble(found.flags, counts_of(detector.pixel, _masking(detector))):
        raise RunFileError(f"{where}: {path}: {trouble}")
    said = found.experiment.said()
    for key, text in found.experiment.elsewhere.items():
        if key not in detector.model_fields_set:
            raise RunFileError(f"{where}: {path}: {text}; give {key} in [detector]")
    taken = {key: value for key, value in said.items() if key not in detector.model_fields_set}
    update = {"module": modules, "geometry": None, "beam_center_x": beam[0], "beam_center_y": beam[1], **taken}
    if found.bad:
        _check_masked(file, source)
    cautions = tuple(_differences(detector, found.experiment, source))
    changed = detector.model_copy(update=update)
    # the axis of the beam may be elsewhere than the file has it
    away = found.axes.plane((beam[0] - found.beam[0], beam[1] - found.beam[1])).corner
    panels = tuple(replace(one, plane=one.plane.moved(away)) for one in found.panels)
    return file.model_copy(update={"detector": changed}), PlacedDetector(
        found.axes, panels, found.bad, found.saturation, cautions
    )


def _masking(detector: toml.Detector) -> "Masking":
    """Return the masking of the detector: its pixel values that are no counts."""
    from rashpa.data.base.pixels import named

    return named(detector.masked, detector.pixel)._replace(largest_count=special_values.largest_count(detector))


def _check_masked(file: toml.RunFile, source: RunFileSource) -> None:
    """Raise RunFileError when a kernel that reads pixels as delivered comes after the first kernel for which bad pixels are masked."""
    for number, buffer in enumerate(file.buffer):
        first = first_looking(buffer.kernel)
        if first is None:
            continue
        for position, kernel in enumerate(buffer.kernel):
            if position > first and declaration(kernel.name).delivered:
                where = source.where(("buffer", number, "kernel", position))
                raise RunFileError(
                    f"{where}: {label_of(kernel)} reads pixels as the detector delivers them, and those that detector.geometry calls bad are masked for "
                    f"{label_of(buffer.kernel[first])}; put it before that"
                )


def _axes_of(detector: toml.Detector, source: RunFileSource) -> Axes | None:
    """Return the axes that the run file requires, None when it requires none."""
    if detector.image_fast is None and detector.image_slow is None:
        return None
    found = Axes(detector.image_fast or "-x", detector.image_slow or "-y")
    if not found.square:
        key = "image_fast" if detector.image_fast is not None else "image_slow"
        where = source.where(("detector", key))
        raise RunFileError(
            f"{where}: columns run along {found.fast} and rows along {found.slow}; one of them runs along x and the other along y: give both keys"
        )
    return found


def _differences(detector: toml.Detector, said: "Experiment", source: RunFileSource) -> Iterator[str]:
    """Yield a line for each key that run file and geometry give with different values. Raise RunFileError when pixel sizes differ."""
    for key, value in said.said().items():
        own = getattr(detector, key)
        if key not in detector.model_fields_set or math.isclose(own, value, rel_tol=_SAME):
            continue
        text = f"{source.where(('detector', key))}: is {own:.6g}, and geometry has {value:.6g} (line {said.lines[key]})"
        if key == "pixel_size_m":
            raise RunFileError(f"{text}; places of modules are in its pixels: leave the key out, or mend one of both")
        yield f"{text}; that of the run file counts"
