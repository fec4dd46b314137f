# SPDX-License-Identifier: Apache-2.0
"""Engines of the native module behind the contract of `engine`: telegram parts in, native configurations out, and back.

Only a node imports this module, and what it needs, rashpa._native: where nothing is compiled there is no node.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashpa import _native
from rashpa.control import telegram
from rashpa.control.kernels import OUTSIDE, parse_declarations
from rashpa.control.links import LinkOptions, parameters_of
from rashpa.control.telegram import (
    Capabilities,
    Configure,
    Configured,
    DestinationStatus,
    Endpoint,
    SourceStatus,
)
from rashpa.data.new_folders import remove_empty
from rashpa.node.dataset_parts import spec_of
from rashpa.node.engine import EngineError, Table
from rashpa.node.folders import EVERYWHERE, Folders
from rashpa.node.interfaces import interfaces
from rashpa.node.log import NativeMessage
from rashpa.node.machine_memory import available_memory_bytes
from rashpa.node.native_groups import group_status, native_group, native_member
from rashpa.node.native_receiver import missing_folders_of, prefixes_of, receiver_config
from rashpa.node.native_status import buffer_status, counts_of, source_dtp_status
from rashpa.node.output_files import release_output
from rashpa.node.simulated_card import SimulatedCard

_PMTUS = (256, 512, 1024, 2048, 4096)
_PIXELS = ("uint8", "uint16", "uint32", "int16", "int32", "float32")
_MAX_DTPS = 256


@contextlib.contextmanager
def native_errors() -> Iterator[None]:
    """Native exceptions as EngineError with the code of the Fault telegram."""
    try:
        yield
    except _native.ConfigError as error:
        raise EngineError("config", str(error)) from None
    except _native.ResourceError as error:
        raise EngineError("resource", str(error)) from None
    except (_native.FileError, OSError) as error:
        raise EngineError("file", str(error)) from None
    except _native.StateError as error:
        raise EngineError("state", str(error)) from None
    except MemoryError:
        raise EngineError(
            "resource",
            "not enough memory; use fewer slots, a smaller region, fewer run.frames (each has a row in tables), or fewer frames in the dataset",
        ) from None
    except (_native.NativeError, ValueError, TypeError) as error:
        raise EngineError("config", str(error)) from None


def _endpoint_of(end: _native.Endpoint) -> Endpoint:
    return Endpoint(end.address, end.port, end.qpn, end.rkey, end.credit_offset, end.window_bytes, end.psn)


def _native_endpoint(end: Endpoint) -> _native.Endpoint:
    return _native.Endpoint(end.address, end.port, end.qpn, end.rkey, end.credit_offset, end.window_bytes, end.psn)


class NativeSource:
    """An emulator."""

    def __init__(self, order: telegram.Source, run: int, folders: Folders) -> None:
        self._emulator = order.emulator
        self._rate_hz = order.rate_hz
        self._trigger = order.trigger
        self._positions = {str(dtp.id): position for position, dtp in enumerate(order.dtps)}
        self._groups = tuple(group.name for group in order.groups)
        self._links = {one.kind: link_options(one) for one in order.options}
        self._run = run
        self._seats = {
            str(dtp): (group.name, member.name)
            for group in order.groups
            for member in group.members
            for dtp in member.dtps
        }
        self._card: SimulatedCard | None = None
        try:
            with native_errors():
                config = _emulator_config(order, run, folders)
                if order.card is not None:
                    config.card = self._card_config(order.card, folders)
                self._engine = _native.Emulator(config)
        except EngineError:
            self._end_card()
            raise

    def __del__(self) -> None:
        # the driver goes before its card
        self.__dict__.pop("_engine", None)
        self._end_card()

    def _card_config(self, card: telegram.Card, folders: Folders) -> _native.CardConfig:
        directory = folders.card_directory(card.directory)
        if directory is None:
            self._card = SimulatedCard()
            directory = self._card.directory
        config = _native.CardConfig()
        config.directory = str(directory)
        config.mac = card.mac
        config.neighbours = {neighbour.address: neighbour.mac for neighbour in card.neighbours}
        return config

    def _end_card(self) -> None:
        card = self.__dict__.pop("_card", None)
        if card is not None:
            card.close()

    def configured(self, node: str) -> Configured:
        return Configured(node, tuple(_endpoint_of(endpoint) for endpoint in self._engine.endpoints()))

    def arm(self, order: telegram.Arm) -> None:
        """Nothing: the destinations came with Configure."""

    def start(self) -> None:
        with native_errors():
            self._engine.start()

    def pause(self, frame: int = 0) -> None:
        with native_errors():
            self._engine.pause(frame)

    def resume(self, rate_hz: float = 0.0) -> None:
        with native_errors():
            self._engine.resume(rate_hz)
        self._rate_hz = rate_hz or self._rate_hz

    def trigger(self, frames: int) -> None:
        with native_errors():
            self._engine.trigger(frames)

    def stop(self, order: telegram.Stop) -> None:
        if order.frames == 0:
            return self.abort()
        with native_errors():
            self._engine.end_at(order.frames)
        return None

    def join(self, order: telegram.Join) -> tuple[Endpoint, ...]:
        dtps = []
        for dtp in order.dtps:
            dtps.append(_source_dtp(dtp, self._run))
            dtps[-1].set_link(_link_of(dtp, self._links), dtp.peer_link)
        with native_errors():
            ends = self._engine.join(order.group, native_member(order.member), dtps)
        first = len(self._positions)
        self._positions |= {str(dtp.id): first + number for number, dtp in enumerate(order.dtps)}
        self._seats |= {str(dtp): (order.group, order.member.name) for dtp in order.member.dtps}
        return tuple(_endpoint_of(end) for end in ends)

    def deal(self, order: telegram.Resend | telegram.Feed) -> None:
        with native_errors():
            if isinstance(order, telegram.Resend):
                self._engine.eject(order.group, order.member, order.image)
            else:
                self._engine.feed(order.group, order.member, order.fed)

    def abort(self) -> None:
        with native_errors():
            self._engine.stop()

    def wait(self, timeout_s: float) -> bool:
        done = self._engine.wait(timeout_s)
        status = self._engine.status()
        if status.error:
            raise EngineError("resource", status.error)
        return done or status.state == "stopped"

    def status(self) -> SourceStatus:
        status = self._engine.status()
        dtps = tuple(source_dtp_status(dtp) for dtp in status.dtps)
        counts = counts_of("injected", self._engine.injected()) + counts_of("card", status.card)
        if self._trigger == "software":
            counts += counts_of("trigger", status.triggers)
        groups = tuple(map(group_status, self._groups, self._engine.groups()))
        begun = self._engine.begun()
        return SourceStatus(status.elapsed_s, counts, dtps, self._emulator, self._rate_hz, begun, groups)

    def table(self, name: str, key: str) -> Table:
        if name == "dealt" and key in self._seats:
            return self._engine.dealt(*self._seats[key]).astype("<u8").view(np.uint8)
        if name != "fates" or key not in self._positions:
            raise KeyError(
                f"an emulator has fates of DTPs {', '.join(self._positions)}; not {name} of {key or 'nothing'}"
            )
        return self._engine.fates(self._positions[key])

    def latest(self, key: str) -> NDArray[Any] | None:
        raise KeyError(f"an emulator has no buffer {key}; ask the receiver")


def _emulator_config(order: telegram.Source, run: int, folders: Folders) -> _native.EmulatorConfig:
    config = _native.EmulatorConfig()
    config.dataset = _dataset_of(order, folders)
    _check_turned(order, config.dataset)
    links = {one.kind: link_options(one) for one in order.options}
    config.dtps = [_source_dtp(dtp, run) for dtp in order.dtps]
    first = order.dtps[0] if order.dtps else None
    if first is not None:
        config.link, config.destination_link = _link_of(first, links), first.peer_link
    for made, dtp in zip(config.dtps, order.dtps, strict=True):
        if first is not None and (dtp.link, dtp.peer_link) != (first.link, first.peer_link):
            made.set_link(_link_of(dtp, links), dtp.peer_link)
    config.bind_address = order.bind_address
    config.frames = order.frames
    config.end = order.end
    config.trigger = order.trigger
    config.rate_hz = order.rate_hz
    config.flow = order.flow
    config.on_full = order.on_full
    config.first_processor = order.first_processor
    config.faults = _fault_plan(order.faults)
    config.groups = [native_group(group) for group in order.groups]
    return config


def _link_of(dtp: telegram.SourceDtp, links: Mapping[str, _native.LinkOptions]) -> _native.LinkOptions:
    if dtp.link not in links:
        raise EngineError(
            "config", f"DTP {dtp.id} takes the link {dtp.link}, and the order has options of {', '.join(links)}"
        )
    return links[dtp.link]


def _fault_plan(faults: telegram.Faults) -> _native.FaultPlan:
    plan = _native.FaultPlan()
    plan.seed = faults.seed
    plan.drop = faults.drop
    plan.duplicate = faults.duplicate
    plan.reorder = faults.reorder
    plan.corrupt = faults.corrupt
    plan.stall = faults.stall
    plan.stall_us = faults.stall_us
    plan.dead_modules = [(dead.module, dead.from_frame) for dead in faults.dead_modules]
    return plan


def _dataset_of(order: telegram.Source, folders: Folders) -> _native.Dataset:
    from rashpa.data.datasets import dataset_from_spec

    spec = spec_of(order.dataset)
    folders.check_read(spec, Path.cwd())
    dataset = dataset_from_spec(spec, Path.cwd()).dataset
    found = (dataset.modules, dataset.width, dataset.height, dataset.pixel)
    wanted = (order.modules, order.width, order.height, order.pixel)
    if found != wanted:
        described = ["{} modules of {} × {} pixels {}".format(*shape) for shape in (found, wanted)]
        raise EngineError(
            "config", f"the dataset has {described[0]}, the run file's [detector] {described[1]}; make them agree"
        )
    return dataset


def _check_turned(order: telegram.Source, dataset: _native.Dataset) -> None:
    """Refuses copies of turned modules for which there is no memory."""
    turned = {(dtp.module, dtp.turn, dtp.flip) for dtp in order.dtps if dtp.turn or dtp.flip}
    pixels = len(turned) * dataset.frames * dataset.width * dataset.height
    needed, free = pixels * np.dtype(dataset.pixel).itemsize, available_memory_bytes()
    if turned and needed > free > 0:
        raise EngineError(
            "resource",
            f"copies of {len(turned)} turned modules, {dataset.frames} frames each, take {needed / 2**30:,.2f} GiB beside the dataset, and "
            f"{free / 2**30:,.2f} GiB are free; take a dataset of fewer frames, or more emulators",
        )


def _source_dtp(dtp: telegram.SourceDtp, run: int) -> _native.SourceDtp:
    native_dtp = _native.SourceDtp()
    native_dtp.id = dtp.id
    native_dtp.module = dtp.module
    native_dtp.region = _native.Region(dtp.x, dtp.y, dtp.width, dtp.height)
    native_dtp.slice = _native.Slice(dtp.every, dtp.phase)
    native_dtp.images = dtp.images
    native_dtp.placement = _native_placement(dtp.placement)
    native_dtp.run = run
    native_dtp.orientation = _native.Orientation(dtp.turn, dtp.flip)
    native_dtp.destination = _native_endpoint(dtp.destination)
    return native_dtp


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
    return placement


def _placement_of(place: _native.Placement) -> telegram.Placement:
    return telegram.Placement(
        pixels_offset=place.pixels_offset,
        slot_bytes=place.slot_bytes,
        slots=place.slots,
        first_line_offset=place.first_line_offset,
        pitch=place.pitch,
        line_bytes=place.line_bytes,
        lines=place.lines,
        records_offset=place.records_offset,
    )


def link_options(options: LinkOptions) -> _native.LinkOptions:
    """The native form of what a telegram says of the link that this end has."""
    return _native.LinkOptions(options.kind, parameters_of(options))


class NativeDestination:
    """A receiver."""

    def __init__(self, order: telegram.Destination, run: int, folders: Folders) -> None:
        self._receiver = order.receiver
        self._positions = {buffer.name: position for position, buffer in enumerate(order.buffers)}
        self._slots = [buffer.slots for buffer in order.buffers]
        self._new_folders = missing_folders_of(order)
        try:
            with native_errors(), contextlib.ExitStack() as at_end:
                for prefix in prefixes_of(order):
                    at_end.callback(release_output, prefix)
                config = receiver_config(order, run, folders)
                config.link = link_options(order.options)
                self._engine = _native.Receiver(config)
        except EngineError:
            remove_empty(self._new_folders)
            raise

    def __del__(self) -> None:
        # a run that never began: its files go with the engine, and then its folders
        self.__dict__.pop("_engine", None)
        remove_empty(self.__dict__.get("_new_folders", []))

    def configured(self, node: str) -> Configured:
        endpoints = tuple(_endpoint_of(endpoint) for endpoint in self._engine.endpoints())
        places = tuple(_placement_of(place) for place in self._engine.placements())
        return Configured(node, endpoints, places)

    def arm(self, order: telegram.Arm) -> None:
        with native_errors():
            self._engine.arm([_native_endpoint(endpoint) for endpoint in order.endpoints])

    def start(self) -> None:
        with native_errors():
            self._engine.start()

    def pause(self, frame: int = 0) -> None:  # noqa: ARG002  as of every engine
        raise EngineError("state", "a receiver takes what comes; pause the emulator")

    def resume(self, rate_hz: float = 0.0) -> None:  # noqa: ARG002  as of every engine
        raise EngineError("state", "a receiver takes what comes; resume the emulator")

    def trigger(self, frames: int) -> None:
        raise EngineError("state", f"a receiver takes what comes; send the trigger of {frames} frames to the emulator")

    def stop(self, order: telegram.Stop) -> None:
        with native_errors():
            self._engine.finish([(end.dtp, end.images) for end in order.ends])

    def join(self, order: telegram.Join) -> tuple[Endpoint, ...]:  # noqa: ARG002
        raise EngineError("state", "a receiver takes what comes; images are dealt by the emulator")

    def deal(self, order: telegram.Resend | telegram.Feed) -> None:  # noqa: ARG002
        raise EngineError("state", "a receiver takes what comes; images are dealt by the emulator")

    def abort(self) -> None:
        with native_errors():
            self._engine.stop()

    def wait(self, timeout_s: float) -> bool:
        if not self._engine.wait(timeout_s):
            return self._engine.status().state == "stopped"
        with native_errors():
            self._engine.stop()  # completes the files; the books stay as they are
        return True

    def status(self) -> DestinationStatus:
        status = self._engine.status()
        buffers = tuple(buffer_status(*known) for known in zip(status.buffers, self._slots, strict=True))
        counts = counts_of("link", status.link)
        return DestinationStatus(
            self._receiver, status.elapsed_s, status.memory, status.first_incomplete, counts, buffers
        )

    def table(self, name: str, key: str) -> Table:
        if name not in ("completeness", "decisions") or key not in self._positions:
            known = ", ".join(self._positions)
            raise KeyError(
                f"a receiver has completeness and decisions of buffers {known}; not {name} of {key or 'nothing'}"
            )
        position = self._positions[key]
        return self._engine.completeness(position) if name == "completeness" else self._engine.decisions(position)

    def latest(self, key: str) -> NDArray[Any] | None:
        if key not in self._positions:
            raise KeyError(f"no buffer {key or 'without a name'}; there are {', '.join(self._positions)}")
        return self._engine.latest(self._positions[key])


class NativeFactory:
    """Engines of one node. `link_bytes_per_s`: what its link carries; 0: not known, not checked. `folders`: where it may read and write.
    `throughputs`: measured on this machine."""

    def __init__(
        self,
        role: str,
        link_bytes_per_s: int = 0,
        folders: Folders = EVERYWHERE,
        throughputs: tuple[telegram.Throughput, ...] = (),
    ) -> None:
        self._role = role
        self._throughputs = throughputs
        self._folders = folders
        self._link_bytes_per_s = link_bytes_per_s

    def capabilities(self, node: str) -> Capabilities:
        receives = self._role == "receiver"
        return Capabilities(
            node=node,
            role=self._role,
            software=f"rashpa {_native.__version__}",
            processors=len(os.sched_getaffinity(0)),
            memory_bytes=available_memory_bytes(),
            max_dtps=_MAX_DTPS,
            pixels=_PIXELS,
            kernels=(*self._kernels(), *(OUTSIDE if self._folders.has_kernels else ())) if receives else (),
            sinks=tuple(_native.sink_names()) if receives else (),
            # Whether this machine has an RNIC is known when a run asks for one: the engine then says what is missing.
            links=tuple(telegram.Link(kind, self._link_bytes_per_s, _PMTUS) for kind in ("roce", "verbs", "pcie")),
            units=self._units() if receives else (),
            interfaces=interfaces(),
            throughputs=self._throughputs,
        )

    def _kernels(self) -> tuple[str, ...]:
        return tuple(kernel.name for kernel in parse_declarations(_native.kernels_json()))

    def _units(self) -> tuple[telegram.Unit, ...]:
        return tuple(telegram.Unit(name, usable, what) for name, usable, what in _native.available_units())

    def set_log_level(self, level: str) -> None:
        """What native code says: this and what is worse."""
        with native_errors():
            _native.set_log_level(level)

    def take_log(self) -> Iterable[NativeMessage]:
        return _native.take_log()

    def make(self, order: Configure) -> NativeSource | NativeDestination:
        if order.source is not None:
            return NativeSource(order.source, order.run, self._folders)
        if order.destination is not None:
            return NativeDestination(order.destination, order.run, self._folders)
        raise EngineError("config", "Configure names neither source nor destination")
