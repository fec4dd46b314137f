# SPDX-License-Identifier: Apache-2.0
"""Makes a plan from a run file for each node: the DTPs, the places of their pixels, the number of images of each buffer.

It finds every fault that can be found without asking a machine, before anything starts; `capacity` asks the machines.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from rashpa.control.plan.checks.card_check import card_dtp_problems, card_problems, shared_card_problems
from rashpa.control.plan.checks.dataset_check import calibration_problems, dataset_calibrates, dataset_problems
from rashpa.control.plan.checks.device_images_check import PlacedBuffer, device_images_problems
from rashpa.control.plan.checks.feedback_check import feedback_problems, stream_problems
from rashpa.control.plan.checks.link_check import link_problems, route_problems
from rashpa.control.plan.checks.part_events_check import part_events_problems
from rashpa.control.plan.checks.pipeline_check import kernel_file_problems, pipeline_problems
from rashpa.control.plan.checks.reduction_check import offset_problems, reduced_route_problems, reduction_problems
from rashpa.control.plan.checks.run_check import run_problems
from rashpa.control.plan.checks.sls_check import sls_problems
from rashpa.control.plan.checks.stream2_check import stream2_problems
from rashpa.control.plan.checks.word_trigger_check import word_trigger_problems
from rashpa.control.plan.emulators import (
    emulator_problems,
    idle_problems,
    plan_emulators,
)
from rashpa.control.plan.groups import Joined, group_problems, member_sections, plan_groups, with_joined
from rashpa.control.plan.groups import route_problems as group_route_problems
from rashpa.control.plan.model import Plan, PlannedBuffer, PlannedDtp
from rashpa.control.plan.module_geometry import with_places
from rashpa.control.plan.module_shapes import shape_troubles
from rashpa.control.plan.pixel_words import arriving_units, words_problems
from rashpa.control.plan.planned_node import node_problems
from rashpa.control.plan.receivers import PlannedReceiver, plan_receivers, receiver_problems
from rashpa.control.plan.rectangle import Rectangle, Rectangles
from rashpa.control.plan.reduction import Bins, bins_of, fits
from rashpa.control.runfile import run_file as toml
from rashpa.control.runfile import special_values
from rashpa.control.runfile.dataset_spec import DirectorySpec, StoredSpec
from rashpa.control.runfile.key_types import KeyPath
from rashpa.control.runfile.run_file_reader import RunFileError, RunFileSource, read_run_file

MAX_DTPS = 65536
"""The most DTPs of a run: ids have 16 bits."""
MAX_NODE_DTPS = 256
"""The most DTPs of one emulator or receiver."""


def load_plan(path: Path) -> Plan:
    """Read and plan a run file. Raise RunFileError that names file, line and key of each fault."""
    file, source = read_run_file(path)
    return plan_run(file, source)


def plan_run(file: toml.RunFile, source: RunFileSource, *, plays: bool = True) -> Plan:
    """Return the plan of a run. Raise RunFileError as `load_plan` does. `plays`: True when the dataset is played, so that its files must exist."""
    foreign = file.detector.control is not None
    plays = plays and not foreign
    file, placed = with_places(file, source)
    dealt = member_sections(file)
    problems: list[str] = list(group_problems(file, [section for _, section in dealt], source))
    file = file.model_copy(update={"buffer": [section for _, section in dealt]})
    places = Rectangles(module_rectangles(file.detector))
    problems += _module_problems(places, source)
    problems += _special_problems(file, source)
    receivers = plan_receivers(file)
    emulators = plan_emulators(file)
    problems += node_problems((*receivers, *emulators), source)
    problems += receiver_problems(file, receivers, source)
    problems += emulator_problems(file, emulators, source)
    problems += card_problems(file, emulators, source)
    problems += feedback_problems(file, source)
    buffers, troubles = _plan_buffers(file, dealt, places, source, receivers[0].name)
    problems += troubles
    problems += run_problems(file, source)
    problems += link_problems(file, emulators, receivers, source)
    receives_here = any(receiver.node == "local" for receiver in receivers)
    plays_here = plays and any(emulator.node == "local" for emulator in emulators)
    if not foreign:
        problems += dataset_problems(file, source, plays_here or (receives_here and dataset_calibrates(file)))
    problems += offset_problems(file, source) if plays_here else ()
    problems += calibration_problems(file, source, receives_here)
    brings_files = isinstance(file.dataset, StoredSpec | DirectorySpec)
    if foreign or (plays and not brings_files):  # the pixel facts of such files count
        problems += words_problems(file, source, arriving_units(file))
    if not problems:
        used = frozenset(dtp.module for buffer in buffers for dtp in buffer.dtps)
        problems += idle_problems(file, emulators, used, source)
    plan = Plan(file, source, emulators, receivers, tuple(buffers), plan_groups(file, file.buffer), placed)
    if not problems:
        problems += _plan_problems(plan)
    if problems:
        raise RunFileError("\n".join(dict.fromkeys(problems)))
    if not plays or not brings_files:
        return plan
    from rashpa.control.plan.stored_source import with_source  # it needs plans, and NumPy

    return with_source(plan)


def _plan_buffers(
    file: toml.RunFile,
    sections: Sequence[tuple[int, toml.Buffer]],
    places: Rectangles,
    source: RunFileSource,
    first_receiver: str,
) -> tuple[list[PlannedBuffer], list[str]]:
    """Return the buffers without faults, and the faults of the others. `sections`: the tables of buffers with their positions in the run file."""
    problems: list[str] = []
    buffers: list[PlannedBuffer] = []
    first_id = 0
    for number, (position, section) in enumerate(sections):
        path: KeyPath = ("buffer", position)
        problems += _buffer_problems(file, section, path, source, number)
        try:
            buffer = _plan_buffer(file, places, section, path, source, first_id, first_receiver)
        except RunFileError as error:
            problems.append(str(error))
            continue
        buffers.append(buffer)
        first_id += len(buffer.dtps)
        orientations = [dtp.orientation for dtp in buffer.dtps]
        for kernel, text in shape_troubles(
            buffer.section.kernel, orientations, file.detector.width, file.detector.height
        ):
            problems.append(f"{source.where((*path, 'kernel', kernel, 'borders'))}: {text}")
    if first_id > MAX_DTPS:
        problems.append(
            f"{source.where(('buffer',))}: {first_id} DTPs, but ids are 0 … {MAX_DTPS - 1}; use fewer bands or buffers"
        )
    return buffers, problems


def _plan_problems(plan: Plan) -> Iterator[str]:
    """Yield the contradictions between buffers, nodes and routes that are valid on their own."""
    yield from _count_problems(plan)
    yield from shared_card_problems(plan)
    players = {group.name: plan.emulators_of(group) for group in plan.groups}
    yield from group_route_problems(plan.groups, players, {one.name: one.engine for one in plan.emulators}, plan.source)
    counts = {receiver.name: len(plan.dtps_of(receiver.name)) for receiver in plan.receivers}
    yield from card_dtp_problems(
        plan.emulators, {one.name: plan.dtps_from(one.name) for one in plan.emulators}, plan.source
    )
    yield from route_problems(plan.receivers, counts, plan.routes, plan.file.link, plan.source)
    by_receiver = {
        receiver.name: [
            PlacedBuffer(one.section, plan.positions[one.section.name], len(one.dtps))
            for one in plan.buffers_of(receiver.name)
        ]
        for receiver in plan.receivers
    }
    yield from device_images_problems(plan.file, plan.receivers, by_receiver, plan.source)
    yield from word_trigger_problems(plan.file, plan.receivers, by_receiver, plan.source)
    buffers = {one.name: plan.buffers_of(one.name) for one in plan.receivers}
    yield from part_events_problems(plan.file, plan.emulators, plan.receivers, buffers, plan.source)
    yield from sls_problems(plan.file, plan.receivers, buffers, plan.source)
    yield from stream2_problems(plan.file, plan.receivers, buffers, plan.source)
    yield from reduced_route_problems(plan)


def joined_plan(plan: Plan, joined: Joined) -> Plan:
    """Return the plan with one more member of a group; its DTPs come after all others. Raise RunFileError with the reason when that is impossible."""
    try:
        file = with_joined(plan.file, plan.groups, joined)
    except ValueError as error:
        raise RunFileError(str(error)) from None
    return replace(plan_run(file, plan.source), placed=plan.placed, of_source=plan.of_source)


def _count_problems(plan: Plan) -> Iterator[str]:
    """Yield a line for each node with more DTPs than a node can have."""
    for node in plan.nodes:
        count = len(plan.dtps_of(node.name) if isinstance(node, PlannedReceiver) else plan.dtps_from(node.name))
        if count > MAX_NODE_DTPS:
            yield (
                f"{plan.source.where(('buffer',))}: {count} DTPs {'at' if isinstance(node, PlannedReceiver) else 'of'} {node.label}, which takes "
                f"{MAX_NODE_DTPS}; use fewer bands, modules or buffers, or more {node.role}s"
            )


# ---- geometry -------------------------------------------------------------------------------------------------------------------


def module_rectangles(detector: toml.Detector) -> tuple[Rectangle, ...]:
    """Return the places of the modules in the assembled image."""
    return tuple(
        Rectangle(module.x, module.y, *module.orientation.sides(detector.width, detector.height))
        for module in detector.module
    )


def assembled_size(detector: toml.Detector) -> tuple[int, int]:
    """Return width and height of the assembled image."""
    places = module_rectangles(detector)
    return max(place.right for place in places), max(place.bottom for place in places)


def _bands(region: Rectangle, count: int, rows: int) -> Iterator[Rectangle]:
    """Yield `region` cut into `count` bands of nearly equal height, from top to bottom, each of whole bins of `rows`."""
    for band in range(count):
        top, bottom = (rows * (region.height // rows * one // count) for one in (band, band + 1))
        yield Rectangle(region.x, region.y + top, region.width, bottom - top)


def _plan_buffer(
    file: toml.RunFile,
    places: Rectangles,
    section: toml.Buffer,
    path: KeyPath,
    source: RunFileSource,
    first_id: int,
    first_receiver: str,
) -> PlannedBuffer:
    origin: tuple[int, int] | None
    if section.dtp:
        dtps, width, height = _dtps_by_hand(file.detector, section, path, source, first_id)
        origin = None
    else:
        dtps, width, height, origin = _dtps_by_region(file.detector, places, section, path, source, first_id)
    images = max(0, -(-(file.run.most_frames - section.phase) // section.every))
    receiver = section.receiver or first_receiver
    return PlannedBuffer(section, receiver, width, height, images, origin, tuple(dtps))


def _dtps_by_region(
    detector: toml.Detector,
    places: Rectangles,
    section: toml.Buffer,
    path: KeyPath,
    source: RunFileSource,
    first_id: int,
) -> tuple[list[PlannedDtp], int, int, tuple[int, int]]:
    whole = Rectangle(0, 0, places.width, places.height)
    region = Rectangle(*section.region) if section.region else whole
    where = source.where((*path, "region"))
    if not whole.holds(region):
        raise RunFileError(f"{where}: {region} is not inside the assembled image {whole}; x, y, width, height")
    bins = bins_of(section)
    _check_bins(
        Rectangle(0, 0, region.width, region.height),
        bins,
        f"{where if section.region else source.where((*path, 'reduction'))}: the image",
    )
    dtps: list[PlannedDtp] = []
    for module in places.meeting(region):
        place = places.all[module]
        part = place.common(region)
        if part is None:
            continue
        within = Rectangle(part.x - region.x, part.y - region.y, part.width, part.height)
        _check_bins(within, bins, f"{source.where((*path, 'reduction'))}: module {module} in the image")
        if part.height // bins[1] < section.bands:
            raise RunFileError(
                f"{source.where((*path, 'bands'))}: module {module} has {part.height // bins[1]} rows in this buffer; at most that many bands"
            )
        for band in _bands(part, section.bands, bins[1]):
            own = Rectangle(band.x - place.x, band.y - place.y, band.width, band.height)
            way = detector.module[module].orientation
            x, y = (band.x - region.x) // bins[0], (band.y - region.y) // bins[1]
            dtps.append(PlannedDtp(first_id + len(dtps), module, own, x, y, way, bins))
    if not dtps:
        raise RunFileError(
            f"{where}: {region} covers no module; modules lie at {', '.join(str(place) for place in places.all)}"
        )
    return dtps, region.width // bins[0], region.height // bins[1], (region.x, region.y)


def _check_bins(rectangle: Rectangle, bins: Bins, subject: str) -> None:
    """Raise RunFileError, which begins with `subject`, when bins do not divide a rectangle, or do not begin where it does."""
    if fits(rectangle, bins):
        return
    raise RunFileError(
        f"{subject} at {rectangle} is not made of whole bins of {bins[0]} × {bins[1]} pixels; choose bin_x and bin_y that divide x, y, width and height, or "
        "another region"
    )


def _dtps_by_hand(
    detector: toml.Detector, section: toml.Buffer, path: KeyPath, source: RunFileSource, first_id: int
) -> tuple[list[PlannedDtp], int, int]:
    if section.region is not None or section.bands != 1:
        raise RunFileError(
            f"{source.where((*path, 'dtp'))}: DTPs by hand exclude region and bands; use one or the other"
        )
    bins = bins_of(section)
    dtps: list[PlannedDtp] = []
    for number, dtp in enumerate(section.dtp):
        here = (*path, "dtp", number)
        if dtp.module >= len(detector.module):
            raise RunFileError(
                f"{source.where((*here, 'module'))}: module {dtp.module} does not exist; modules are 0 … {len(detector.module) - 1}"
            )
        way = detector.module[dtp.module].orientation
        frame = Rectangle(0, 0, *way.sides(detector.width, detector.height))
        region = Rectangle(*dtp.region)
        if not frame.holds(region):
            turned = "" if way.upright else f", which is {way}"
            raise RunFileError(
                f"{source.where((*here, 'region'))}: {region} is not inside the module's frame {frame}{turned}; x, y, width, height"
            )
        if min(dtp.place) < 0:
            raise RunFileError(
                f"{source.where((*here, 'place'))}: {list(dtp.place)} lies outside the image; x and y are 0 or more"
            )
        _check_bins(Rectangle(0, 0, region.width, region.height), bins, f"{source.where((*here, 'region'))}: it")
        planned = PlannedDtp(first_id + number, dtp.module, region, *dtp.place, way, bins)
        for other, earlier in enumerate(dtps):
            if planned.target.common(earlier.target):
                raise RunFileError(
                    f"{source.where((*here, 'place'))}: {planned.target} overlaps {earlier.target} of dtp[{other}] in the buffer's image; move one"
                )
        dtps.append(planned)
    return dtps, max(dtp.target.right for dtp in dtps), max(dtp.target.bottom for dtp in dtps)


# ---- checks ---------------------------------------------------------------------------------------------------------------------


def _module_problems(places: Rectangles, source: RunFileSource) -> Iterator[str]:
    for number, place in enumerate(places.all):
        for other in places.meeting(place):
            if other < number:
                yield (
                    f"{source.where(('detector', 'module', number))}: module {number} at {place} overlaps module {other} at {places.all[other]}; "
                    "give each its own x and y"
                )


def _buffer_problems(
    file: toml.RunFile, section: toml.Buffer, path: KeyPath, source: RunFileSource, number: int
) -> Iterator[str]:
    stacks = max(2, section.slots // section.stack)
    if section.slots % section.stack or section.slots < 2 * section.stack:
        yield (
            f"{source.where((*path, 'slots'))}: {section.slots} slots; a multiple of the stack ({section.stack}) and at least 2 stacks, "
            f"for example {stacks * section.stack}"
        )
    if section.phase >= section.every:
        yield f"{source.where((*path, 'phase'))}: {section.phase}; less than every ({section.every})"
    if section.phase >= file.run.most_frames:
        yield f"{source.where((*path, 'phase'))}: no image of this buffer in {file.run.frames} frames; use a smaller phase"
    names = [buffer.name for buffer in file.buffer]
    if names.index(section.name) != number:
        yield f"{source.where((*path, 'name'))}: {section.name} is the name of an earlier buffer; choose another"
    yield from pipeline_problems(file, section, path, source)
    yield from kernel_file_problems(file, section, path, source)
    yield from stream_problems(section, path, source)
    yield from reduction_problems(file, section, path, source)
    kinds = [sink.kind for sink in section.sink]
    for kind in sorted(kind for kind in ("hdf5", "raw") if kinds.count(kind) > 1):
        yield f"{source.where((*path, 'sink'))}: two {kind} sinks would write the same files; keep one"


def _special_problems(file: toml.RunFile, source: RunFileSource) -> Iterator[str]:
    for path, text in special_values.problems_of(file.detector):
        yield f"{source.where(path)}: {text}"
