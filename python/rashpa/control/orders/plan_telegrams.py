# SPDX-License-Identifier: Apache-2.0
"""Makes the Configure telegrams of receivers and emulators from a plan."""

import json
from collections.abc import Mapping
from typing import Any

from rashpa.control.plan.checks.dataset_check import resolved_calibration, resolved_dataset
from rashpa.control.plan.emulators import SIMULATED, PlannedEmulator
from rashpa.control.plan.groups import PlannedGroup
from rashpa.control.plan.image_places import bad_regions, beam_center, module_entries
from rashpa.control.plan.model import Plan, PlannedBuffer, PlannedDtp
from rashpa.control.plan.patience import patience_s
from rashpa.control.plan.pixel_words import arriving_units, units_behind
from rashpa.control.plan.receivers import PlannedReceiver
from rashpa.control.plan.reduction import bins_of, offset_name
from rashpa.control.plan.series import images_of_series
from rashpa.control.plan.source_plan import makes_pixels
from rashpa.control.runfile import special_values
from rashpa.control.runfile.engine_keys import BufferKeys, FaultsKeys, ReductionKeys, RunKeys, keys_of
from rashpa.control.runfile.kernels import Kernel, declaration, files_of
from rashpa.control.runfile.pipeline import PIXEL_BYTES
from rashpa.control.runfile.run_file import MOST_PATIENCE_S, Feedback
from rashpa.control.runfile.sink_sections import Hdf5Sink, RawSink, Sink, Stream2Sink
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.part_orders import ENDINGS, Hdf5Order, RawOrder, SinkOrder, Stream2Order
from rashpa.data.files.file_names import located
from rashpa.data.geometry.laboratory import HC_KEV_ANGSTROM

SYNTHETIC = ("pattern", "jungfrau")  # datasets that are computed
_BEAM = "detector.beam_center_"
_LONGEST_QUIET_MS = 2**32 - 1  # of a telegram
STANDSTILL_MS = 7000.0  # so long may all processes of a run stand still without loss


def _dataset(plan: Plan, node: str) -> telegram.Dataset:
    values = resolved_dataset(plan.file, plan.source, node).model_dump(mode="json")
    kind = values.pop("kind")
    return telegram.Dataset(kind=kind, parameters=_parameters(values))


def _calibration(plan: Plan, node: str) -> telegram.Calibration | None:
    spec = resolved_calibration(plan.file, plan.source, node)
    return (
        None
        if spec is None
        else telegram.Calibration(parameters=_parameters(spec.model_dump(mode="json", exclude_defaults=True)))
    )


def _parameters(values: Mapping[str, object]) -> tuple[telegram.Parameter, ...]:
    return tuple(telegram.Parameter(name=name, value=json.dumps(value)) for name, value in values.items())


def _kernel(kernel: Kernel, plan: Plan, buffer: PlannedBuffer, node: str) -> Kernel:
    """Return the kernel with parameters that come from other parts of the run file. The beam is in pixels of the buffer's image, and at its centre
    when it is not given. For a node of this machine, relative paths start at the run file's folder; a remote node resolves them from its working
    folder."""
    file = plan.file
    taken: dict[str, object] = {}
    if node == "local":
        folder = plan.source.path.resolve().parent
        taken |= {parameter: located(name, folder) for parameter, name in files_of(kernel).items()}
    for parameter in declaration(kernel.name).parameters:
        if parameter.taken_from and getattr(kernel, parameter.name) is None:
            found: Any = file
            for key in parameter.taken_from.split("."):
                found = getattr(found, key)
            if parameter.taken_from.startswith(_BEAM):
                found = beam_center(plan, buffer)["xy".index(parameter.taken_from.removeprefix(_BEAM))]
            taken[parameter.name] = found
    return kernel.model_copy(update=taken)


def _sink(sink: Sink, plan: Plan, buffer: PlannedBuffer, run_id: str) -> SinkOrder:
    """Return the order to a sink, with the plan's facts about its files and streams."""
    if not isinstance(sink, Hdf5Sink | RawSink | Stream2Sink):
        return sink
    file = plan.file
    receiver = plan.receiver(buffer.receiver)
    metadata = {
        **metadata_of(plan, buffer),
        "receiver": receiver.shown_name,
        "run_file": str(plan.source.path)[-4096:],
        "run_file_sha256": plan.source.sha256,
        "run_id": run_id,
    }
    if isinstance(sink, Stream2Sink):
        return Stream2Order.model_validate({**sink.model_dump(), "metadata": metadata})
    order = RawOrder if isinstance(sink, RawSink) else Hdf5Order
    return order.model_validate(
        {
            **sink.model_dump(),
            "prefix": f"{file.run.output}/{file.run.name}_{buffer.section.name}{ENDINGS[sink.kind]}",
            "existing": file.run.existing,
            "series_images": images_of_series(file, buffer.section),
            "metadata": metadata,
        }
    )


def metadata_of(plan: Plan, buffer: PlannedBuffer) -> dict[str, object]:
    """Return the description of the experiment for the output file, with names and units as in src/rashpa/sink/nxmx_metadata.hpp. Positions are in
    the buffer's image."""
    file = plan.file
    detector = file.detector
    beam = beam_center(plan, buffer)
    across, down = bins_of(buffer.section)
    return {
        "run_number": file.run.number,
        "run_name": file.run.name,
        "detector_name": detector.name,
        "description": detector.description or detector.name,
        "instrument_name": file.run.instrument,
        "source_name": file.run.source,
        "sample_name": file.run.sample,
        "distance_m": detector.distance_m,
        "beam_center_x": beam[0],
        "beam_center_y": beam[1],
        "energy_kev": detector.energy_kev,
        "wavelength_angstrom": HC_KEV_ANGSTROM / detector.energy_kev,
        "pixel_size_m": detector.pixel_size_m * across,
        "pixel_size_y_m": 0.0 if across == down else detector.pixel_size_m * down,
        "sensor_material": detector.sensor_material,
        "sensor_thickness_m": detector.sensor_thickness_m,
        "count_time_s": detector.count_time_s,
        "frame_time_s": buffer.section.every / detector.rate_hz if detector.rate_hz > 0 else 0.0,
        "bit_depth_readout": 8 * PIXEL_BYTES[detector.pixel],
        "labels": ["synthetic data"] if file.dataset.kind in SYNTHETIC else [*plan.of_source.labels],
        "saturation_value": _saturation(plan, buffer),
        "pixel_units": units_behind(buffer.section.kernel, arriving_units(file, plan.of_source.units)),
        "image_fast": plan.placed.axes.fast,
        "image_slow": plan.placed.axes.slow,
        "modules": module_entries(plan, buffer),
        "dtps": [
            {"id": dtp.id, "module": dtp.module, **vars(dtp.target), **vars(dtp.orientation)} for dtp in buffer.dtps
        ],
    }


def _saturation(plan: Plan, buffer: PlannedBuffer) -> float:
    """Return the value above which stored pixels are saturated, from the dataset or the geometry; 0 when unknown."""
    made = makes_pixels(buffer.section.kernel) or buffer.section.reduction is not None
    return 0.0 if made else plan.of_source.saturation_value or plan.placed.saturation


def _quiet_ms(plan: Plan, buffer: PlannedBuffer) -> int:
    """Return the time in ms that a stack waits for images that no source has announced. Only where sources wait for free slots may such images have
    been sent and lost. Then it is two deadlines longer than the rate explains, and longer than an emulator may be stopped. Otherwise it is 0, because
    something always arrives."""
    file = plan.file
    waits = file.link.flow == "credits" and file.link.on_full == "pause"
    if not waits or file.detector.trigger != "internal":
        return 0
    period_ms = 1000.0 * buffer.section.every / file.detector.rate_hz if file.detector.rate_hz > 0 else 0.0
    quiet_ms = max(2.0 * (buffer.section.deadline_ms + period_ms), STANDSTILL_MS)
    return round(quiet_ms) if quiet_ms <= _LONGEST_QUIET_MS else 0


def destination_telegram(plan: Plan, receiver: PlannedReceiver, run_id: str = "") -> telegram.Configure:
    """Return the order to a receiver, with its own buffers. `run_id`: the identifier that all files of the run share."""
    file = plan.file
    destination = telegram.Destination(
        receiver=receiver.name,
        peer_link=receiver.source_kind,
        bind_address=receiver.address,
        port=receiver.port,
        link_threads=receiver.threads,
        flow=file.link.flow,
        poll=receiver.poll,
        memory=receiver.memory,
        first_processor=receiver.processor,
        numa=str(receiver.numa),
        modules=len(file.detector.module),
        module_width=file.detector.width,
        module_height=file.detector.height,
        dataset=_dataset(plan, receiver.node),
        calibration=_calibration(plan, receiver.node),
        buffers=tuple(_buffer(plan, buffer, receiver, run_id) for buffer in plan.buffers_of(receiver.name)),
        options=file.link.options(receiver.destination_kind, receiver.device),
    )
    return telegram.Configure(
        run=file.run.number, name=file.run.name, destination=destination, orphaned=_orphaned(plan)
    )


def _buffer(plan: Plan, buffer: PlannedBuffer, receiver: PlannedReceiver, run_id: str) -> telegram.Buffer:
    file, section = plan.file, buffer.section
    dealt = plan.group_of(receiver.name) is not None
    return telegram.Buffer(
        name=section.name,
        keys=keys_of(section, BufferKeys),
        width=buffer.width,
        height=buffer.height,
        pixel=file.detector.pixel,
        images=buffer.images,
        end="told" if plan.end_told or dealt else "known",
        device=",".join(section.device_names),
        masked=file.detector.masked,
        card=unit_card_of(plan, buffer, receiver.node) if section.unit == "fpga" else "",
        dtps=tuple(map(_destination_dtp, buffer.dtps)),
        kernels=tuple(_kernel(kernel, plan, buffer, receiver.node) for kernel in section.kernel),
        sinks=tuple(_sink(sink, plan, buffer, run_id) for sink in section.sink),
        special=tuple(telegram.SpecialValue(value=one.value, meaning=one.meaning) for one in file.detector.special),
        bad=tuple(telegram.BadRegion(**vars(one)) for one in bad_regions(plan, buffer)),
        feedback=_feedback(section.feedback),
        dealt=dealt,
        quiet_ms=_quiet_ms(plan, buffer),
    )


def _destination_dtp(dtp: PlannedDtp) -> telegram.DestinationDtp:
    return telegram.DestinationDtp(
        id=dtp.id,
        module=dtp.module,
        x=dtp.x,
        y=dtp.y,
        width=dtp.target.width,
        height=dtp.target.height,
        source_x=dtp.region.x // dtp.bins[0],
        source_y=dtp.region.y // dtp.bins[1],
        turn=dtp.orientation.turn,
        flip=dtp.orientation.flip,
    )


def _feedback(section: Feedback | None) -> telegram.Feedback | None:
    return (
        None
        if section is None
        else telegram.Feedback(ring=section.ring or "", zmq=section.zmq or "", images=section.images)
    )


def source_telegram(
    plan: Plan, emulator: PlannedEmulator, ends: Mapping[int, tuple[telegram.Endpoint, telegram.Placement]]
) -> telegram.Configure:
    """Return the order to an emulator, with the DTPs of its own modules. It is made after the receivers have reported their memory. `ends`: by DTP
    id, endpoint and placement."""
    file = plan.file
    dtps = tuple(_source_dtp(plan, dtp, *ends[dtp.id]) for dtp in plan.dtps_from(emulator.name))
    faults = file.faults
    peers = plan.receivers_from(emulator.name)
    source = telegram.Source(
        bind_address=emulator.address,
        frames=file.run.most_frames,
        end="told" if plan.end_told else "known",
        trigger=file.detector.trigger,
        modules=len(file.detector.module),
        width=file.detector.width,
        height=file.detector.height,
        pixel=file.detector.pixel,
        rate_hz=file.detector.rate_hz,
        flow=file.link.flow,
        on_full=file.link.on_full,
        first_processor=emulator.processor,
        numa=str(emulator.numa),
        dataset=_dataset(plan, emulator.node),
        faults=telegram.Faults(
            seed=faults.seed,
            keys=keys_of(faults, FaultsKeys),
            dead_modules=tuple(
                telegram.DeadModule(module=dead.module, from_frame=dead.from_frame) for dead in faults.dead_modules
            ),
        ),
        dtps=dtps,
        options=tuple(
            file.link.options(kind, emulator.device) for kind in dict.fromkeys(peer.source_kind for peer in peers)
        ),
        run=keys_of(file.run, RunKeys),
        emulator=emulator.name,
        card=_card(plan, emulator) if emulator.engine == "fpga" else None,
        groups=tuple(_group(plan, group) for group in plan.groups if emulator.name in plan.emulators_of(group)),
    )
    return telegram.Configure(run=file.run.number, name=file.run.name, source=source, orphaned=_orphaned(plan))


def _source_dtp(
    plan: Plan, dtp: PlannedDtp, end: telegram.Endpoint, placement: telegram.Placement
) -> telegram.SourceDtp:
    buffer = plan.buffer_of(dtp.id)
    receiver = plan.receiver(buffer.receiver)
    return telegram.SourceDtp(
        id=dtp.id,
        module=dtp.module,
        x=dtp.region.x,
        y=dtp.region.y,
        width=dtp.region.width,
        height=dtp.region.height,
        every=buffer.section.every,
        phase=buffer.section.phase,
        images=buffer.images,
        placement=placement,
        destination=end,
        turn=dtp.orientation.turn,
        flip=dtp.orientation.flip,
        link=receiver.source_kind,
        peer_link=receiver.destination_kind,
        reduction=_reduction(plan, buffer, dtp),
    )


def _reduction(plan: Plan, buffer: PlannedBuffer, dtp: PlannedDtp) -> telegram.Reduction | None:
    section, detector = buffer.section, plan.file.detector
    if section.reduction is None:
        return None
    local = any(one.name == plan.emulator_of(dtp) and one.node == "local" for one in plan.emulators)
    least, most = special_values.counts_of(detector) or (0, 0)
    return telegram.Reduction(
        keys=keys_of(section.reduction, ReductionKeys),
        least=least,
        most=most,
        saturated=special_values.saturated_value(detector) or 0,
        offset=offset_name(section, dtp.module, plan.source.path.resolve().parent if local else None),
    )


def _orphaned(plan: Plan) -> telegram.Orphaned | None:
    run = plan.file.run
    if run.orphaned == "end":
        return None
    return telegram.Orphaned(quiet_s=min(patience_s(plan.file, plan.buffers), MOST_PATIENCE_S), keep_s=run.keep_books_s)


def join_telegram(
    plan: Plan, member: str, ends: Mapping[int, tuple[telegram.Endpoint, telegram.Placement]]
) -> telegram.Join:
    """Return the order to the emulator of a group to add a member. `ends`: endpoints and placements of the member's DTPs."""
    group = plan.membership(member)
    dtps = tuple(_source_dtp(plan, dtp, *ends[dtp.id]) for dtp in plan.dtps_of(member))
    return telegram.Join(group=group.name, member=_member(plan, member), dtps=dtps)


def _member(plan: Plan, member: str) -> telegram.GroupMember:
    stack = plan.buffers_of(member)[0].section.stack
    return telegram.GroupMember(name=member, stack=stack, dtps=tuple(dtp.id for dtp in plan.dtps_of(member)))


def _group(plan: Plan, group: PlannedGroup) -> telegram.Group:
    members = tuple(_member(plan, member) for member in group.members)
    return telegram.Group(name=group.name, replay_frames=group.replay_frames, keys=group.keys, members=members)


def _card(plan: Plan, emulator: PlannedEmulator) -> telegram.Card:
    neighbours = tuple(telegram.Neighbour(address=address, mac=mac) for address, mac in emulator.neighbours.items())
    return telegram.Card(directory=card_of(plan, emulator), mac=emulator.card_mac, neighbours=neighbours)


def card_of(plan: Plan, emulator: PlannedEmulator) -> str:
    """Return the card of the emulator's node. On this machine, relative directories start at the run file's folder."""
    return _card_place(plan, emulator.card, emulator.node)


def unit_card_of(plan: Plan, buffer: PlannedBuffer, node: str) -> str:
    """Return the card of a buffer's unit, for its receiver `node`."""
    return _card_place(plan, buffer.section.card or "", node)


def _card_place(plan: Plan, card: str, node: str) -> str:
    return card if card == SIMULATED or node != "local" else located(card, plan.source.path.resolve().parent)
