# SPDX-License-Identifier: Apache-2.0
"""Merges the experiment's description in stored images into a plan, for files that `rashpa process`, or a run that plays these images, makes. The run
file's own value takes precedence, then that of its geometry, then the source's, then the default. A difference between run file and source is a
caution. The file names the origin of each value."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rashpa.control.plan.model import Plan
from rashpa.control.plan.pixel_words import units_behind
from rashpa.control.plan.rectangle import Rectangle
from rashpa.control.plan.run_plan import module_rectangles
from rashpa.control.runfile.kernels import Kernel, declaration_of
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.part_orders import Hdf5Order, RawOrder, Stream2Order
from rashpa.data.geometry.laboratory import PanelPlace, beam_on

if TYPE_CHECKING:
    from rashpa.data.stored.source_facts import SourceFacts  # NumPy, for which no start of a run waits

_SAME = 1e-3  # relative: digits that people leave out of a file
_SAME_BEAM = 0.01  # pixels
_DETECTOR = (
    "name",
    "description",
    "count_time_s",
    "distance_m",
    "beam_center_x",
    "beam_center_y",
    "energy_kev",
    "pixel_size_m",
    "sensor_material",
    "sensor_thickness_m",
)
_RUN = ("sample", "instrument", "source")


@dataclass(frozen=True)
class Merged:
    """Holds a plan with the facts of its source. `origins`: by key, "given", "read" or "default"; `cautions`: lines of text."""

    plan: Plan
    origins: Mapping[str, str] = field(default_factory=dict)
    cautions: tuple[str, ...] = ()


def with_facts(plan: Plan, facts: "SourceFacts", source: Path, *, recorded: bool = True) -> Merged:
    """Add the facts of the source that are given nowhere else to the plan. `recorded`: True when the times of frames come from the source, too; False
    when it is played again."""
    detector, run = plan.file.detector, plan.file.run
    given = {key for key in _DETECTOR if key in detector.model_fields_set and getattr(detector, key) is not None}
    taken = {key: value for key, value in facts.values.items() if key in _DETECTOR and key not in given}
    texts = {key: facts.texts[key] for key in _RUN if key in facts.texts and not getattr(run, key)}
    origins = {key: "given" if key in given else "read" if key in taken else "default" for key in _DETECTOR}
    origins |= {key: "read" if key in texts else "given" if getattr(run, key) else "default" for key in _RUN}
    cautions = [*(f"{source}: {note}" for note in facts.notes), *_differences(plan, facts, given, source)]
    placed = plan.placed
    places_said = bool(given & {"beam_center_x", "beam_center_y"}) or _axes_given(plan) or bool(placed.panels)
    if facts.modules and not places_said:
        pitch = float(str(taken.get("pixel_size_m", detector.pixel_size_m)))
        if panels := tuple(_panels(plan, facts, pitch)):
            placed = replace(placed, panels=panels)
            beam = beam_on([((one.left, one.top), one.plane) for one in facts.modules])
            if beam is not None:
                cautions += _beam_cautions(taken, beam, source)
                taken = {"beam_center_x": beam[0], "beam_center_y": beam[1], **taken}
    rate = facts.values.get("frame_time_s")
    period = {"rate_hz": 1.0 / rate} if recorded and isinstance(rate, float) else {}
    file = plan.file.model_copy(
        update={
            "detector": detector.model_copy(update={**taken, **period}),
            "run": run.model_copy(update=texts),
        }
    )
    return Merged(replace(plan, file=file, placed=placed), origins, tuple(cautions))


def _beam_cautions(taken: Mapping[str, object], beam: tuple[float, float], source: Path) -> Iterator[str]:
    """Yield a caution when the source's beam centre contradicts its axes."""
    said = [float(str(taken.get(f"beam_center_{axis}", at))) for axis, at in zip("xy", beam, strict=True)]
    away = math.hypot(said[0] - beam[0], said[1] - beam[1])
    if away > 1:
        yield (
            f"{source}: its beam centre {said[0]:g}, {said[1]:g} is {away:.1f} pixels from where its axes put it ({beam[0]:.2f}, {beam[1]:.2f}); files say "
            "both as it does: give beam_center_x and beam_center_y in [detector]"
        )


def _axes_given(plan: Plan) -> bool:
    return bool({"image_fast", "image_slow"} & plan.file.detector.model_fields_set)


def _differences(plan: Plan, facts: "SourceFacts", given: set[str], source: Path) -> Iterator[str]:
    for key in sorted(given & set(facts.values)):
        own, said = getattr(plan.file.detector, key), facts.values[key]
        if key.startswith("beam_center"):
            same = math.isclose(own, float(said), abs_tol=_SAME_BEAM)
        elif isinstance(said, float):
            same = math.isclose(own, said, rel_tol=_SAME)
        else:
            same = key in ("name", "description") or own == said
        if not same:
            shown = f"{said:.6g}" if isinstance(said, float) else said
            own_shown = f"{own:.6g}" if isinstance(own, float) else own
            where = plan.source.where(("detector", key))
            yield f"{where}: is {own_shown}, and {source.name} has {shown}; that of the run file counts"


def _panels(plan: Plan, facts: "SourceFacts", pitch: float) -> Iterator[PanelPlace]:
    """Yield the parts of the plan's modules that the source places; nothing when modules are rotated, since a stored image is not."""
    if any(not module.orientation.upright for module in plan.file.detector.module):
        return
    for number, module in enumerate(module_rectangles(plan.file.detector)):
        for one in facts.modules:
            part = module.common(Rectangle(one.left, one.top, one.width, one.height))
            if part is not None:
                plane = one.plane.scaled(1 / pitch).starting((part.x - one.left, part.y - one.top))
                yield PanelPlace(number, part.x - module.x, part.y - module.y, part.width, part.height, plane)


def ordered(destination: telegram.Destination, facts: "SourceFacts") -> telegram.Destination:
    """Return the order with facts for which a run file has no keys: the time of the images, their saturation value, and their units."""
    return replace(destination, buffers=tuple(_buffer(buffer, facts) for buffer in destination.buffers))


def makes_pixels(kernels: Sequence[Kernel]) -> bool:
    """Return True when one of the kernels makes pixels, so that statements on the values of the original pixels no longer hold."""
    return any(any(port.port == "pixels" for port in declaration_of(kernel).makes) for kernel in kernels)


def _buffer(buffer: telegram.Buffer, facts: "SourceFacts") -> telegram.Buffer:
    update: dict[str, object] = {"start_time": facts.texts.get("start_time", "")}
    if not makes_pixels(buffer.kernels):
        update["saturation_value"] = facts.values.get("saturation_value", 0.0)
    update["pixel_units"] = units_behind(buffer.kernels, facts.units)
    sinks = tuple(
        sink.model_copy(update={"metadata": sink.metadata.model_copy(update=update)})
        if isinstance(sink, Hdf5Order | RawOrder | Stream2Order)
        else sink
        for sink in buffer.sinks
    )
    return replace(buffer, sinks=sinks)
