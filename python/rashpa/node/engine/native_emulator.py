# SPDX-License-Identifier: Apache-2.0
"""Makes the native configuration of an emulator from its Configure telegram: dataset, DTPs with their links, faults. Its functions for links and
endpoints serve receivers, too."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rashpa import _native
from rashpa.control.runfile.links import LinkOptions, parameters_of
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram import Endpoint
from rashpa.data.base.books import DataBooks
from rashpa.data.datasets.calibration_reference import file_of
from rashpa.data.files.file_names import located
from rashpa.data.files.regular_file import reason
from rashpa.node.engine.dataset_parts import spec_of
from rashpa.node.engine.engine import EngineError
from rashpa.node.engine.folders import Folders
from rashpa.node.engine.native_groups import native_group
from rashpa.node.host.machine_memory import available_memory_bytes

if TYPE_CHECKING:
    from rashpa.data.datasets.datasets import LoadedDataset


def emulator_config(
    order: telegram.Source, run: int, folders: Folders, making: _native.Making | None
) -> tuple[_native.EmulatorConfig, DataBooks | None]:
    """Return the configuration without a card, and the books of a dataset that is a stored run. Raise EngineError when the dataset cannot be loaded,
    or does not fit the order."""
    config = _native.EmulatorConfig()
    loaded = _dataset_of(order, folders, making)
    config.dataset = loaded.dataset
    _check_memory(order, config.dataset)
    options = {one.kind: link_options(one) for one in order.options}
    links = [link_of(dtp, options) for dtp in order.dtps]
    shape = order.height, order.width
    config.dtps = [source_dtp(dtp, run, shape, order.pixel, folders) for dtp in order.dtps]
    first = order.dtps[0] if order.dtps else None
    if first is not None:
        config.link, config.destination_link = links[0], first.peer_link
    for made, dtp, link in zip(config.dtps, order.dtps, links, strict=True):
        if first is not None and (dtp.link, dtp.peer_link) != (first.link, first.peer_link):
            made.set_link(link, dtp.peer_link)
    config.bind_address = order.bind_address
    config.frames = order.frames
    config.end = order.end
    config.trigger = order.trigger
    config.rate_hz = order.rate_hz
    if loaded.times is not None:
        config.set_times(loaded.times.due_ns.tolist(), loaded.times.period_ns)
        config.rate_hz = len(loaded.times.due_ns) * 1e9 / loaded.times.period_ns  # on average
    config.flow = order.flow
    config.on_full = order.on_full
    config.first_processor = order.first_processor
    config.run = _native.RunKeys(order.run.model_dump(mode="json"))
    config.faults = _fault_plan(order.faults)
    config.groups = [native_group(group) for group in order.groups]
    return config, loaded.books


def link_of(dtp: telegram.SourceDtp, links: Mapping[str, _native.LinkOptions]) -> _native.LinkOptions:
    """Return the options of a DTP's link; `links` has them by kind of link. Raise EngineError when it has none for this kind."""
    if dtp.link not in links:
        raise EngineError(
            "config", f"DTP {dtp.id} takes the link {dtp.link}, and the order has options of {', '.join(links)}"
        )
    return links[dtp.link]


def _fault_plan(faults: telegram.Faults) -> _native.FaultPlan:
    plan = _native.FaultPlan(faults.keys.model_dump(mode="json"))
    plan.seed = faults.seed
    plan.dead_modules = [(dead.module, dead.from_frame) for dead in faults.dead_modules]
    return plan


def _dataset_of(order: telegram.Source, folders: Folders, making: _native.Making | None) -> "LoadedDataset":
    from rashpa.data.datasets.datasets import dataset_from_spec

    asked = spec_of(order.dataset)
    folders.check_read(asked, Path.cwd())
    spec = asked.resolved(Path.cwd())  # the names of patterns, before they are checked
    folders.check_read(spec, Path.cwd())
    loaded = dataset_from_spec(spec, Path.cwd(), making, folders.readable)
    _check_shape(order, loaded.dataset)
    return loaded


def look_at_dataset(order: telegram.Source, folders: Folders) -> None:
    """Check a few frames of the dataset. Raise EngineError when it cannot be loaded, or does not fit the order."""
    from rashpa.data.datasets.datasets import glance_at_dataset

    asked = spec_of(order.dataset)
    folders.check_read(asked, Path.cwd())
    spec = asked.resolved(Path.cwd())  # the names of patterns, before they are checked
    folders.check_read(spec, Path.cwd())
    if (seen := glance_at_dataset(spec, Path.cwd(), folders.readable)) is not None:
        _check_shape(order, seen)


def _check_shape(order: telegram.Source, dataset: _native.Dataset) -> None:
    found = (dataset.modules, dataset.width, dataset.height, dataset.pixel)
    wanted = (order.modules, order.width, order.height, order.pixel)
    if found != wanted:
        described = ["{} modules of {} × {} pixels {}".format(*shape) for shape in (found, wanted)]
        raise EngineError(
            "config", f"the dataset has {described[0]}, the run file's [detector] {described[1]}; make them agree"
        )


def _check_memory(order: telegram.Source, dataset: _native.Dataset) -> None:
    """Raise EngineError when memory does not suffice for rotated copies of modules and for reduced frames."""
    reduced = {
        (dtp.module, dtp.turn, dtp.flip, dtp.x, dtp.y, dtp.placement.line_bytes * dtp.placement.lines, dtp.reduction)
        for dtp in order.dtps
        if dtp.reduction
    }
    turned = {(dtp.module, dtp.turn, dtp.flip) for dtp in order.dtps if (dtp.turn or dtp.flip) and not dtp.reduction}
    frame = dataset.width * dataset.height * np.dtype(dataset.pixel).itemsize
    needed = dataset.frames * (len(turned) * frame + sum(size for *_, size, _ in reduced))
    free = available_memory_bytes()
    reductions = f" and of {len(reduced)} reductions" if reduced else ""
    if needed > free > 0:
        raise EngineError(
            "resource",
            f"copies of {len(turned)} turned modules{reductions}, {dataset.frames} frames each, take {needed / 2**30:,.2f} GiB beside the dataset, and "
            f"{free / 2**30:,.2f} GiB are free; take a dataset of fewer frames, or more emulators",
        )


def source_dtp(
    dtp: telegram.SourceDtp, run: int, shape: tuple[int, int], pixel: str, folders: Folders
) -> _native.SourceDtp:
    """Return the native form of a DTP, without its link. `shape`: (height, width) of the module. Raise EngineError when its offset cannot be read."""
    native_dtp = _native.SourceDtp()
    native_dtp.id = dtp.id
    native_dtp.module = dtp.module
    native_dtp.region = _native.Region(dtp.x, dtp.y, dtp.width, dtp.height)
    native_dtp.slice = _native.Slice(dtp.every, dtp.phase)
    native_dtp.images = dtp.images
    native_dtp.placement = _native_placement(dtp.placement)
    native_dtp.run = run
    native_dtp.orientation = _native.Orientation(dtp.turn, dtp.flip)
    native_dtp.destination = native_endpoint(dtp.destination)
    if dtp.reduction is not None:
        offset = _offset(dtp, shape, pixel, folders)
        values, counts = dtp.reduction.keys.model_dump(mode="json"), dtp.reduction
        native_dtp.reduction = _native.Reduction(values, counts.least, counts.most, counts.saturated, offset)
    return native_dtp


def _offset(dtp: telegram.SourceDtp, shape: tuple[int, int], pixel: str, folders: Folders) -> bytes | None:
    """Return the offset image of a DTP's module, None without one."""
    if dtp.reduction is None or not dtp.reduction.offset:
        return None
    from rashpa.data.datasets.offset_image import read_offset

    name = located(dtp.reduction.offset, Path.cwd())
    folders.check_file(Path(file_of(name)))
    try:
        return read_offset(name, pixel, shape).tobytes()
    except OSError as error:
        raise EngineError("file", f"offset of DTP {dtp.id}: {name}: {reason(error)}") from None
    except ValueError as error:
        raise EngineError("config", f"offset of DTP {dtp.id}: {error}") from None


def _native_placement(place: telegram.Placement) -> _native.Placement:
    placement = _native.Placement()
    placement.pixels_offset = place.pixels_offset
    placement.slot_bytes = place.slot_bytes
    placement.slots = place.slots
    placement.first_line_offset = place.first_line_offset
    placement.pitch = place.pitch
    placement.line_bytes = place.line_bytes
    placement.lines = place.lines
    placement.records_offset = place.records_offset
    placement.event_lines = place.event_lines
    return placement


def link_options(options: LinkOptions) -> _native.LinkOptions:
    """Return the native form of this end's link options."""
    return _native.LinkOptions(options.kind, parameters_of(options))


def native_endpoint(end: Endpoint) -> _native.Endpoint:
    """Return the native form of an end of a link."""
    return _native.Endpoint(
        end.address,
        end.port,
        end.qpn,
        end.rkey,
        end.credit_offset,
        end.window_bytes,
        end.psn,
        end.records_rkey,
        end.word_offset,
    )
