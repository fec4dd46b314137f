# SPDX-License-Identifier: Apache-2.0
"""Engines of the native module behind the contract of `engine`: telegram parts in, native configurations out, and back.

Only a node imports this module and rashpa._native: where nothing is compiled there is no node.
"""

import contextlib
import dataclasses
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rashpa import _native
from rashpa.control.runfile.kernels import OUTSIDE, parse_declarations
from rashpa.control.runfile.links import DEVICE, parameters_of
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram import (
    Capabilities,
    Configure,
    Configured,
    DestinationStatus,
    Endpoint,
    SourceStatus,
)
from rashpa.control.telegrams.telegram_status import REPLAYED
from rashpa.data.files.new_folders import remove_empty
from rashpa.node.engine.engine import EngineError, Table
from rashpa.node.engine.folders import EVERYWHERE, Folders
from rashpa.node.engine.native_emulator import emulator_config, link_of, link_options, native_endpoint, source_dtp
from rashpa.node.engine.native_groups import group_status, native_member
from rashpa.node.engine.native_receiver import master_of, missing_folders_of, prefixes_of, receiver_config
from rashpa.node.engine.native_status import buffer_status, counts_of, source_dtp_status
from rashpa.node.engine.numa import Device, gpu, network_card, place_for
from rashpa.node.engine.output_files import OlderFiles, release_output
from rashpa.node.engine.picture import Picture
from rashpa.node.engine.preview import Preview, Shown
from rashpa.node.engine.simulated_card import SimulatedCard
from rashpa.node.host.here import rooted
from rashpa.node.host.interfaces import interfaces
from rashpa.node.host.machine_memory import available_memory_bytes
from rashpa.node.logs.log import NativeMessage

_PMTUS = (256, 512, 1024, 2048, 4096)
_PIXELS = ("uint8", "uint16", "uint32", "int16", "int32", "float32")
_MAX_DTPS = 256

if TYPE_CHECKING:
    pass


@contextlib.contextmanager
def native_errors() -> Iterator[None]:
    """Raise native exceptions as EngineError with the code of the Fault telegram."""
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
    return Endpoint(
        address=end.address,
        port=end.port,
        qpn=end.qpn,
        rkey=end.rkey,
        credit_offset=end.credit_offset,
        window_bytes=end.window_bytes,
        psn=end.psn,
    )


class NativeSource:
    """Runs a native emulator."""

    def __init__(
        self, order: telegram.Source, run: int, folders: Folders, making: _native.Making | None = None
    ) -> None:
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
        with native_errors():
            self._place = place_for(f"emulator {order.emulator}", order.numa, _near_source(order))
        try:
            with native_errors(), self._place.bind():
                config, self._replayed = emulator_config(order, run, folders, making)
                if order.card is not None:
                    config.card = self._card_config(order.card, folders)
                self._engine = _native.Emulator(config)
            self._rate_hz = config.rate_hz
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
        return Configured(node=node, endpoints=tuple(_endpoint_of(endpoint) for endpoint in self._engine.endpoints()))

    def arm(self, order: telegram.Arm) -> None:
        """Do nothing: the destinations came with Configure."""

    def start(self) -> None:
        with native_errors(), self._place.bind():
            self._engine.start()

    def pause(self, frame: int = 0) -> None:
        with native_errors():
            self._engine.pause(frame)

    def resume(self, rate_hz: float = 0.0) -> None:
        with native_errors():
            self._engine.resume(rate_hz)
        self._rate_hz = rate_hz or self._rate_hz

    def hold_deadlines(self, held: bool) -> None:  # noqa: ARG002  as of every engine
        raise EngineError("state", "an emulator waits for no image; tell the receiver")

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
            dtps.append(source_dtp(dtp, self._run))
            dtps[-1].set_link(link_of(dtp, self._links), dtp.peer_link)
        with native_errors(), self._place.bind():
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
        if self._card is not None and (ended := self._card.ended()):
            raise EngineError("resource", ended)
        if status.error:
            raise EngineError("resource", status.error)
        return done or status.state == "stopped"

    def status(self) -> SourceStatus:
        status = self._engine.status()
        dtps = tuple(source_dtp_status(dtp) for dtp in status.dtps)
        counts = counts_of("injected", self._engine.injected()) + counts_of("card", status.card)
        if self._trigger == "software":
            counts += counts_of("trigger", status.triggers)
        if (books := self._replayed) is not None:
            counts += counts_of("dataset", {name: getattr(books, name) for name in REPLAYED})
        groups = tuple(map(group_status, self._groups, self._engine.groups()))
        begun = self._engine.begun()
        return SourceStatus(
            elapsed_s=status.elapsed_s,
            counts=counts,
            dtps=dtps,
            emulator=self._emulator,
            rate_hz=self._rate_hz,
            frames_begun=begun,
            groups=groups,
        )

    def table(self, name: str, key: str) -> Table:
        if name == "dealt" and key in self._seats:
            return self._engine.dealt(*self._seats[key]).astype("<u8").view(np.uint8)
        if name != "fates" or key not in self._positions:
            raise KeyError(
                f"an emulator has fates of DTPs {', '.join(self._positions)}; not {name} of {key or 'nothing'}"
            )
        return self._engine.fates(self._positions[key])

    def preview(self, key: str, of: Shown = "accepted") -> Preview | None:  # noqa: ARG002
        raise KeyError(f"an emulator has no buffer {key}; ask the receiver")


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


def _near_source(order: telegram.Source) -> Iterator[Device]:
    """Yield the devices that take an emulator's frames: the GPU that is its engine, or its network cards."""
    for options in order.options:
        if (number := link_options(options).gpu) >= 0:
            yield from _gpus([number])
        elif options.kind != "pcie":
            yield from network_card(order.bind_address, str(parameters_of(options).get(DEVICE, "")))


def _near_destination(order: telegram.Destination) -> Iterator[Device]:
    """Yield the devices that read a receiver's buffers, the GPUs of its units, and then the network card that brings its images."""
    for buffer in order.buffers:
        if buffer.unit == "cuda":
            yield from _gpus([int(device) for device in buffer.device.split(",") if device.strip().isdigit()])
    if order.link != "pcie":
        yield from network_card(order.bind_address, str(parameters_of(order.options).get(DEVICE, "")))


def _gpus(numbers: Sequence[int]) -> Iterator[Device]:
    buses = {number: bus for unit, number, bus in _native.device_buses() if unit == "cuda"}
    for number in numbers:
        if buses.get(number):
            yield gpu(buses[number])


def pictures_of(order: telegram.Destination, config: _native.ReceiverConfig) -> dict[str, Picture]:
    """Return the facts for previews, by buffer."""
    return {one.name: Picture(one, made) for one, made in zip(order.buffers, config.buffers, strict=True)}


class NativeDestination:
    """Runs a native receiver."""

    def __init__(self, order: telegram.Destination, run: int, folders: Folders) -> None:
        order = rooted(order, Path())
        self._receiver = order.receiver
        self._positions = {buffer.name: position for position, buffer in enumerate(order.buffers)}
        self._slots = [buffer.slots for buffer in order.buffers]
        self._files = [master_of(buffer) for buffer in order.buffers]
        self._new_folders = missing_folders_of(order)
        self._cards: dict[str, SimulatedCard] = {}  # by buffer
        with native_errors():
            self._place = place_for(f"receiver {order.receiver}", order.numa, _near_destination(order))
        try:
            with native_errors(), self._place.bind(), contextlib.ExitStack() as at_end:
                for prefix in prefixes_of(order):
                    at_end.callback(release_output, prefix)
                self._older = [OlderFiles(prefix) for prefix in prefixes_of(order) if prefix.parent.is_dir()]
                config = receiver_config(order, run, folders)
                config.link = link_options(order.options)
                config.buffers = self._with_cards(order, config.buffers, folders)
                self._pictures = pictures_of(order, config)
                self._engine = _native.Receiver(config)
        except EngineError:
            self._end_cards()
            remove_empty(self._new_folders)
            raise

    def __del__(self) -> None:
        # a run that never began: its files go with the engine, and then its folders; and units before their cards
        self.__dict__.pop("_engine", None)
        self._end_cards()
        remove_empty(self.__dict__.get("_new_folders", []))

    def _with_cards(
        self, order: telegram.Destination, made: list[_native.BufferConfig], folders: Folders
    ) -> list[_native.BufferConfig]:
        """Return the configurations with cards for units in hardware."""
        named = [folders.card_directory(buffer.card) if buffer.card else None for buffer in order.buffers]
        for buffer, config, directory in zip(order.buffers, made, named, strict=True):
            if buffer.card and directory is None:
                self._cards[buffer.name] = SimulatedCard("--unit")
                directory = self._cards[buffer.name].directory
            if directory is not None:
                config.device = str(directory)
        return made

    def _end_cards(self) -> None:
        for card in self.__dict__.pop("_cards", {}).values():
            card.close()

    def configured(self, node: str) -> Configured:
        endpoints = tuple(_endpoint_of(endpoint) for endpoint in self._engine.endpoints())
        places = tuple(_placement_of(place) for place in self._engine.placements())
        return Configured(node=node, endpoints=endpoints, placements=places)

    def arm(self, order: telegram.Arm) -> None:
        with native_errors():
            self._engine.arm([native_endpoint(endpoint) for endpoint in order.endpoints])

    def start(self) -> None:
        with native_errors(), self._place.bind():
            self._engine.start()
        for older in self._older:
            older.remove()

    def pause(self, frame: int = 0) -> None:  # noqa: ARG002  as of every engine
        raise EngineError("state", "a receiver takes what comes; pause the emulator")

    def resume(self, rate_hz: float = 0.0) -> None:  # noqa: ARG002  as of every engine
        raise EngineError("state", "a receiver takes what comes; resume the emulator")

    def hold_deadlines(self, held: bool) -> None:
        self._engine.hold_deadlines(held)

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
        known = zip(status.buffers, self._slots, self._files, strict=True)
        buffers = tuple(self._with_card(buffer_status(*one)) for one in known)
        counts = counts_of("link", status.link)
        memory = ", ".join(filter(None, (status.memory, self._place.words)))
        return DestinationStatus(
            receiver=self._receiver,
            elapsed_s=status.elapsed_s,
            memory=memory,
            first_incomplete=status.first_incomplete,
            counts=counts,
            buffers=buffers,
        )

    def _with_card(self, buffer: telegram.BufferStatus) -> telegram.BufferStatus:
        """Return the status with an error when the unit's card has died: the unit itself waits for its answers."""
        card = self._cards.get(buffer.name)
        ended = card.ended() if card is not None else ""
        return dataclasses.replace(buffer, unit_error=ended) if ended else buffer

    def table(self, name: str, key: str) -> Table:
        if name not in ("completeness", "decisions") or key not in self._positions:
            known = ", ".join(self._positions)
            raise KeyError(
                f"a receiver has completeness and decisions of buffers {known}; not {name} of {key or 'nothing'}"
            )
        position = self._positions[key]
        return self._engine.completeness(position) if name == "completeness" else self._engine.decisions(position)

    def preview(self, key: str, of: Shown = "accepted") -> Preview | None:
        if key not in self._positions:
            raise KeyError(f"no buffer {key or 'without a name'}; there are {', '.join(self._positions)}")
        position = self._positions[key]
        found = self._engine.preview(position) if of == "accepted" else self._engine.first(position, of)
        return None if found is None else self._pictures[key].of(found)


class NativeFactory:
    """Makes the engines of one node. `link_bytes_per_s`: the rate of its link; 0: unknown, and not checked. `folders`: the limits of reading and writing.
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
        self._started_in = Path.cwd()
        self._link_bytes_per_s = link_bytes_per_s
        self._making: _native.Making | None = None

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
            links=tuple(
                telegram.Link(name=kind, bytes_per_s=self._link_bytes_per_s, pmtus=_PMTUS)
                for kind in ("roce", "verbs", "pcie")
            ),
            units=self._units() if receives else (),
            devices=tuple(_unit_device(one) for one in _native.available_devices()) if receives else (),
            interfaces=interfaces(),
            throughputs=self._throughputs,
        )

    def _kernels(self) -> tuple[str, ...]:
        return tuple(kernel.name for kernel in parse_declarations(_native.kernels_json()))

    def _units(self) -> tuple[telegram.Unit, ...]:
        return tuple(
            telegram.Unit(name=name, usable=usable, what=what) for name, usable, what in _native.available_units()
        )

    def set_log_level(self, level: str) -> None:
        """Set the least severe level that native code logs."""
        with native_errors():
            _native.set_log_level(level)

    def prepared(self) -> float:
        return self._making.share if self._making is not None else 0.0

    def take_log(self) -> Iterable[NativeMessage]:
        return _native.take_log()

    def make(self, order: Configure) -> NativeSource | NativeDestination:
        if order.source is not None:
            self._making = _native.Making()
            return NativeSource(order.source, order.run, self._folders, self._making)
        if order.destination is not None:
            with contextlib.suppress(OSError):  # it may be gone
                os.chdir(self._started_in)  # kernels of an earlier run may have gone elsewhere
            return NativeDestination(rooted(order.destination, self._started_in), order.run, self._folders)
        raise EngineError("config", "Configure names neither source nor destination")


def _unit_device(said: tuple[str, int, str, int, int, bool]) -> telegram.UnitDevice:
    unit, number, name, memory_bytes, free_bytes, unified = said
    return telegram.UnitDevice(
        unit=unit, number=number, name=name, memory_bytes=memory_bytes, free_bytes=free_bytes, unified=unified
    )
