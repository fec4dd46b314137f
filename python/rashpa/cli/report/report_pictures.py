# SPDX-License-Identifier: Apache-2.0
"""Collects the images and curves of a report, from nodes and from files on this machine."""

import base64
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashpa.cli.report.page_parts import Picture as Figure
from rashpa.cli.ways_to_images import planned_file
from rashpa.control.books.outcome import Outcome
from rashpa.control.books.pictures import MOST_BUFFERS, MOST_SIDE
from rashpa.control.plan.model import PlannedBuffer
from rashpa.dashboard.rings import beam_of
from rashpa.data.base.bad_file import BadFileError, blaming
from rashpa.data.figures.image_values import unit_of
from rashpa.data.figures.image_view import ImageView, image_view_of
from rashpa.data.figures.picture import Picture, brightest, spread, summed
from rashpa.data.files.hdf5.tree import Hdf5File
from rashpa.data.stored.reader import Run, open_run

_PATIENCE_S = 1.0  # for the sum of a buffer: some 130 images of a megapixel
Rings = tuple[tuple[float, float, float, str], ...]
"""x, y, radius and name of each."""
_CURVES = 256  # images of which a mean curve is made


@dataclass(frozen=True)
class Curve:
    """Holds a curve: its subject, its axis, and the values."""

    text: str
    name: str
    axis: str
    x: NDArray[np.float64]
    y: NDArray[np.float64]


@dataclass
class Shown:
    """Holds pictures and curves of one buffer."""

    figures: list[Figure] = field(default_factory=list)
    curves: list[Curve] = field(default_factory=list)


def pictures_of(outcome: Outcome) -> dict[str, Shown]:
    """Collect pictures and curves of all buffers that nodes have told of, by name."""
    nodes = {receiver.name: receiver.node for receiver in outcome.plan.receivers}
    told = {buffer.name: buffer.file for buffer in outcome.buffers}
    found: dict[str, Shown] = {}
    for buffer in outcome.plan.buffers:
        name = buffer.section.name
        if name in told:
            here = nodes[buffer.receiver] == "local"
            found[name] = shown_of(buffer, outcome, (told[name] or planned_file(outcome, buffer)) if here else "")
    return found


def shown_of(buffer: PlannedBuffer, outcome: Outcome, file: str) -> Shown:
    """Collect pictures and curves of a buffer. `file`: a file of a receiver on this machine, or empty."""
    name = buffer.section.name
    shown = Shown()
    if buffer not in outcome.plan.buffers[:MOST_BUFFERS]:
        return shown
    seen: dict[str, ImageView] = {}
    for of, content in outcome.pictures.get(name, {}).items():
        try:
            seen[of] = image_view_of(content)
        except (ValueError, KeyError, OSError):  # of a node of another version
            continue
    rings = _rings_of(buffer, outcome)
    stored = _of_file(shown, file, rings, (buffer.height, buffer.width)) if file else set()
    if "accepted" in seen and "accepted" not in stored:
        shown.figures.insert(
            0,
            _figure(
                "accepted",
                replace(
                    _picture_of(seen["accepted"]),
                    rings=rings if seen["accepted"].size == (buffer.width, buffer.height) else (),
                ),
                _text_of(seen["accepted"]),
            ),
        )
    for of in ("vetoed", "partial"):
        if of in seen:
            shown.figures.append(_figure(of, _picture_of(seen[of]), _text_of(seen[of])))
    if not shown.curves and "accepted" in seen:
        of = f"frame {seen['accepted'].frame}"
        shown.curves += [Curve(of, name, axis, x, y) for name, (axis, x, y) in seen["accepted"].curves.items()]
    return shown


def _rings_of(buffer: PlannedBuffer, outcome: Outcome) -> Rings:
    """Return rings of equal resolution around the beam; empty when a kernel has changed the shape of images."""
    beam = beam_of(outcome.plan, buffer.section.name, (buffer.width, buffer.height))
    return tuple((beam.x, beam.y, ring.radius, f"{ring.value:g} Å") for ring in beam.rings["Å"]) if beam else ()


def _of_file(shown: Shown, file: str, rings: Rings, planned: tuple[int, int]) -> set[str]:
    """Add pictures and curves of the file to `shown`; skip parts that cannot be read. Return the kinds of pictures that were found."""
    found: set[str] = set()
    try:
        with open_run(Path(file)) as run, blaming(file):
            for what, stored in (("accepted", brightest(run, MOST_SIDE)), ("sum", summed(run, MOST_SIDE, _PATIENCE_S))):
                if stored is not None:
                    picture = replace(
                        stored.picture, rings=rings if what == "accepted" and run.shape == planned else ()
                    )
                    shown.figures.append(_figure(what, picture, stored.text))
                    found.add(what)
            shown.curves += _curves_of(run)
    except (OSError, BadFileError):
        pass
    return found


def _curves_of(run: Run) -> Iterator[Curve]:
    """Yield the first array of each profile, as the mean over stored images."""
    indices = sorted(spread(len(run))[:_CURVES])
    if not indices:
        return
    for name, facts in run.profile_facts.items():
        array = next(iter(facts.arrays))
        axis, x = list(facts.axes.items())[-1]
        values = np.stack([run.profile(name, index)[array] for index in indices]).reshape(-1, x.size)
        known = np.isfinite(values)
        total = np.where(known, values, 0.0).sum(axis=0)
        y = np.divide(total, known.sum(axis=0), out=np.full(x.size, np.nan), where=known.any(axis=0))
        unit = facts.units.get(axis, "")
        text = f"mean of {len(indices):,} of {len(run):,} stored images"
        yield Curve(text, f"{name}: {array}", f"{axis} ({unit})" if unit else axis, x, y)


def _picture_of(seen: ImageView) -> Picture:
    unit = unit_of(seen.kind, seen.arriving)
    return Picture(seen.values.astype(np.float64), seen.corners[4], unit, seen.lost, seen.peaks, linear=seen.arriving)


def _text_of(seen: ImageView) -> str:
    words = [f"frame {seen.frame}"]
    if seen.vetoed is not None:
        words.append(f"vetoed: {seen.vetoed.replace('_', ' ')}")
    if seen.partial:
        lines = sum(int(line[3]) for line in seen.lost)
        words.append(f"{lines:,} line{'' if lines == 1 else 's'} lost (hatched)")
    counted = [f"{value:g} {name.replace('_', ' ')}" for name, value in seen.columns.items() if value is not None]
    if seen.arriving:
        words.append("as it arrived, before the pipeline")
    return ", ".join(words + counted[-2:])


def _figure(what: str, picture: Picture, text: str) -> Figure:
    return Figure(base64.b64encode(picture.png()).decode(), f"{what}: {text}", what)


def column_of(master: Path, name: str) -> NDArray[Any] | None:
    """Return one of the pipeline's numbers for each image, from the file's tables; None when there is no such file or table."""
    try:
        with Hdf5File(master) as file, blaming(str(master)):
            table = file.get(f"/entry/rashpa/{name}")
            if table is None:
                return None
            values = np.asarray(table[()])
            if "not_counted" in table.attrs:
                values = np.where(values == table.attrs["not_counted"], values.dtype.type(0), values)
            return values
    except (OSError, BadFileError):
        return None
