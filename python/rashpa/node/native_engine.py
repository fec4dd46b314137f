"""Engines of the native module behind the contract of `engine`: telegram parts in, native configurations out, and back.

The only place of the control plane that imports rashpa._native, and only when a factory is made.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from rashpa.control import telegram
from rashpa.control.kernels import parse_declarations
from rashpa.control.telegram import (
    Capabilities,
    Configure,
    Configured,
    Count,
    DestinationStatus,
    Endpoint,
    SourceStatus,
)
from rashpa.node.dataset_parts import spec_of
from rashpa.node.engine import EngineError, Table
from rashpa.node.folders import EVERYWHERE, Folders
from rashpa.node.log import NativeMessage
from rashpa.node.machine_memory import available_memory_bytes
from rashpa.node.native_receiver import missing_folders_of, receiver_config
from rashpa.node.output_files import remove_empty

_PMTUS = (256, 512, 1024, 2048, 4096)
_PIXELS = ("uint8", "uint16", "uint32", "int16", "int32", "float32")
_MAX_DTPS = 256


def native() -> Any:
    """The compiled module. EngineError that says what to do when there is none."""
    try:
        from rashpa import _native
    except ImportError as error:
        raise EngineError(
            "internal", f"the compiled part of rashpa cannot be loaded ({error}); build it with `make`"
        ) from None
    return _native


@contextlib.contextmanager
def _native_errors(module: Any) -> Iterator[None]:
    """Native exceptions as EngineError with the code of the Fault telegram."""
    try:
        yield
    except module.ConfigError as error:
        raise EngineError("config", str(error)) from None
    except module.ResourceError as error:
        raise EngineError("resource", str(error)) from None
    except (module.FileError, OSError) as error:
        raise EngineError("file", str(error)) from None
    except module.StateError as error:
        raise EngineError("state", str(error)) from None
    except MemoryError:
        raise EngineError(
            "resource",
            "not enough memory; use fewer slots, a smaller region, fewer run.frames (each has a row in tables), or fewer frames in the dataset",
        ) from None
    except (module.NativeError, ValueError, TypeError) as error:
        raise EngineError("config", str(error)) from None


def _endpoint_of(native_endpoint: Any) -> Endpoint:
    return Endpoint(**{name: getattr(native_endpoint, name) for name in Endpoint.__dataclass_fields__})


def _native_endpoint(module: Any, endpoint: Endpoint) -> Any:
    return module.Endpoint(**{name: getattr(endpoint, name) for name in Endpoint.__dataclass_fields__})


class NativeSource:
    """An emulator."""

    def __init__(self, module: Any, order: telegram.Source, run: int, folders: Folders) -> None:
        self._module = module
        self._emulator = order.emulator
        self._positions = {str(dtp.id): position for position, dtp in enumerate(order.dtps)}
        with _native_errors(module):
            self._engine = module.Emulator(_emulator_config(module, order, run, folders))

    def configured(self, node: str) -> Configured:
        return Configured(node, tuple(_endpoint_of(endpoint) for endpoint in self._engine.endpoints()))

    def arm(self, order: telegram.Arm) -> None:
        """Nothing: the destinations came with Configure."""

    def start(self) -> None:
        with _native_errors(self._module):
            self._engine.start()

    def pause(self) -> None:
        with _native_errors(self._module):
            self._engine.pause()

    def resume(self) -> None:
        with _native_errors(self._module):
            self._engine.resume()

    def stop(self) -> None:
        with _native_errors(self._module):
            self._engine.stop()

    def abort(self) -> None:
        self.stop()

    def wait(self, timeout_s: float) -> bool:
        return bool(self._engine.wait(timeout_s)) or self._engine.status().state == "stopped"

    def status(self) -> SourceStatus:
        status = self._engine.status()
        dtps = tuple(
            telegram.SourceDtpStatus(
                **{name: getattr(dtp, name) for name in telegram.SourceDtpStatus.__dataclass_fields__}
            )
            for dtp in status.dtps
        )
        return SourceStatus(status.elapsed_s, _counts("injected", self._engine.injected()), dtps, self._emulator)

    def table(self, name: str, key: str) -> Table:
        if name != "fates" or key not in self._positions:
            raise KeyError(
                f"an emulator has fates of DTPs {', '.join(self._positions)}; not {name} of {key or 'nothing'}"
            )
        table: Table = self._engine.fates(self._positions[key])
        return table

    def latest(self, key: str) -> NDArray[Any] | None:
        raise KeyError(f"an emulator has no buffer {key}; ask the receiver")


def _emulator_config(module: Any, order: telegram.Source, run: int, folders: Folders) -> Any:
    config = module.EmulatorConfig()
    config.dataset = _dataset_of(order, folders)
    config.dtps = [_source_dtp(module, dtp, run) for dtp in order.dtps]
    config.link = link_options(module, order.link, order.roce, order.verbs)
    config.destination_link = order.peer_link
    config.bind_address = order.bind_address
    config.frames = order.frames
    config.rate_hz = order.rate_hz
    config.flow = order.flow
    config.on_full = order.on_full
    config.first_processor = order.first_processor
    plan = module.FaultPlan()
    for name in ("seed", "drop", "duplicate", "reorder", "corrupt", "stall", "stall_us"):
        setattr(plan, name, getattr(order.faults, name))
    plan.dead_modules = [(dead.module, dead.from_frame) for dead in order.faults.dead_modules]
    config.faults = plan
    return config


def _dataset_of(order: telegram.Source, folders: Folders) -> Any:
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


def _source_dtp(module: Any, dtp: telegram.SourceDtp, run: int) -> Any:
    native_dtp = module.SourceDtp()
    native_dtp.id = dtp.id
    native_dtp.module = dtp.module
    native_dtp.region = module.Region(dtp.x, dtp.y, dtp.width, dtp.height)
    native_dtp.slice = module.Slice(dtp.every, dtp.phase)
    native_dtp.images = dtp.images
    placement = module.Placement()
    for name in telegram.Placement.__dataclass_fields__:
        setattr(placement, name, getattr(dtp.placement, name))
    native_dtp.placement = placement
    native_dtp.run = run
    native_dtp.destination = _native_endpoint(module, dtp.destination)
    return native_dtp


def link_options(module: Any, kind: str, roce: telegram.Roce, verbs: telegram.Verbs) -> Any:
    """The native form of what a telegram says of the link that this end has."""
    if kind == "pcie":
        options = module.PcieOptions()
        options.verify = verbs.verify
        return options
    if kind == "verbs":
        options = module.VerbsOptions()
        for name in ("transport", "pmtu", "packetisation", "window_bytes"):
            setattr(options, name, getattr(roce, name))
        for name in telegram.Verbs.__dataclass_fields__:
            setattr(options, name, getattr(verbs, name))
        return options
    options = module.RoceOptions()
    for name in telegram.Roce.__dataclass_fields__:
        setattr(options, name, getattr(roce, name))
    return options


def _counts(group: str, values: dict[str, int]) -> tuple[Count, ...]:
    return tuple(Count(group, name, int(value)) for name, value in values.items())


class NativeDestination:
    """A receiver."""

    def __init__(self, module: Any, order: telegram.Destination, run: int, folders: Folders) -> None:
        self._module = module
        self._receiver = order.receiver
        self._positions = {buffer.name: position for position, buffer in enumerate(order.buffers)}
        self._new_folders = missing_folders_of(order)
        try:
            with _native_errors(module):
                config = receiver_config(module, order, run, folders)
                config.link = link_options(module, order.link, order.roce, order.verbs)
                self._engine = module.Receiver(config)
        except EngineError:
            remove_empty(self._new_folders)
            raise

    def __del__(self) -> None:
        # a run that never began: its files go with the engine, and then its folders
        self.__dict__.pop("_engine", None)
        remove_empty(self.__dict__.get("_new_folders", []))

    def configured(self, node: str) -> Configured:
        endpoints = tuple(_endpoint_of(endpoint) for endpoint in self._engine.endpoints())
        names = telegram.Placement.__dataclass_fields__
        places = tuple(
            telegram.Placement(**{name: getattr(place, name) for name in names}) for place in self._engine.placements()
        )
        return Configured(node, endpoints, places)

    def arm(self, order: telegram.Arm) -> None:
        with _native_errors(self._module):
            self._engine.arm([_native_endpoint(self._module, endpoint) for endpoint in order.endpoints])

    def start(self) -> None:
        with _native_errors(self._module):
            self._engine.start()

    def pause(self) -> None:
        raise EngineError("state", "a receiver takes what comes; pause the emulator")

    def resume(self) -> None:
        raise EngineError("state", "a receiver takes what comes; resume the emulator")

    def stop(self) -> None:
        with _native_errors(self._module):
            self._engine.finish()

    def abort(self) -> None:
        with _native_errors(self._module):
            self._engine.stop()

    def wait(self, timeout_s: float) -> bool:
        if not self._engine.wait(timeout_s):
            return bool(self._engine.status().state == "stopped")
        with _native_errors(self._module):
            self._engine.stop()  # completes the files; the books stay as they are
        return True

    def status(self) -> DestinationStatus:
        status = self._engine.status()
        buffers = tuple(_buffer_status(buffer) for buffer in status.buffers)
        counts = _counts("link", status.link)
        return DestinationStatus(
            self._receiver, status.elapsed_s, status.memory, status.first_incomplete, counts, buffers
        )

    def table(self, name: str, key: str) -> Table:
        if name not in ("completeness", "decisions") or key not in self._positions:
            known = ", ".join(self._positions)
            raise KeyError(
                f"a receiver has completeness and decisions of buffers {known}; not {name} of {key or 'nothing'}"
            )
        table: Table = getattr(self._engine, name)(self._positions[key])
        return table

    def latest(self, key: str) -> NDArray[Any] | None:
        if key not in self._positions:
            raise KeyError(f"no buffer {key or 'without a name'}; there are {', '.join(self._positions)}")
        image: NDArray[Any] | None = self._engine.latest(self._positions[key])
        return image


def _buffer_status(buffer: Any) -> telegram.BufferStatus:
    books = telegram.Books(**{name: getattr(buffer.books, name) for name in telegram.Books.__dataclass_fields__})
    latencies = tuple(
        telegram.Latency(stage, latency.count, latency.p50, latency.p99, latency.max)
        for stage, latency in buffer.latency.items()
    )
    dtps = tuple(
        telegram.DestinationDtpStatus(
            dtp.id,
            dtp.module,
            dtp.expected,
            dtp.complete,
            dtp.partial,
            dtp.missing,
            dtp.lines_missing,
            _counts("loss", dtp.losses),
        )
        for dtp in buffer.dtps
    )
    counts = _counts("veto", buffer.vetoes) + _counts("error", buffer.errors)
    return telegram.BufferStatus(
        buffer.name,
        buffer.sink_error,
        buffer.unit,
        buffer.unit_error,
        buffer.bytes_written,
        buffer.bytes_stored,
        books,
        counts,
        latencies,
        dtps,
        buffer.to_write,
        telegram.FirstErrored(*buffer.first_errored) if buffer.first_errored else None,
        tuple(_sink_status(sink) for sink in buffer.sinks),
    )


def _sink_status(sink: Any) -> telegram.SinkStatus:
    names = (name for name in telegram.SinkStatus.__dataclass_fields__ if name != "first")
    first = telegram.FirstErrored(*sink.first) if sink.first else None
    return telegram.SinkStatus(**{name: getattr(sink, name) for name in names}, first=first)


class NativeFactory:
    """Engines of one node. `link_bytes_per_s`: what its link carries; 0: not known, not checked. `folders`: where it may read and write."""

    def __init__(self, role: str, link_bytes_per_s: int = 0, folders: Folders = EVERYWHERE) -> None:
        self._module = native()
        self._role = role
        self._folders = folders
        self._link_bytes_per_s = link_bytes_per_s

    def capabilities(self, node: str) -> Capabilities:
        receives = self._role == "receiver"
        return Capabilities(
            node=node,
            role=self._role,
            software=f"rashpa {self._module.__version__}",
            processors=len(os.sched_getaffinity(0)),
            memory_bytes=available_memory_bytes(),
            max_dtps=_MAX_DTPS,
            pixels=_PIXELS,
            kernels=self._kernels() if receives else (),
            sinks=tuple(self._module.sink_names()) if receives else (),
            # Whether this machine has an RNIC is known when a run asks for one: the engine then says what is missing.
            links=tuple(telegram.Link(kind, self._link_bytes_per_s, _PMTUS) for kind in ("roce", "verbs", "pcie")),
            units=self._units() if receives else (),
        )

    def _kernels(self) -> tuple[str, ...]:
        return tuple(kernel.name for kernel in parse_declarations(self._module.kernels_json()))

    def _units(self) -> tuple[telegram.Unit, ...]:
        return tuple(telegram.Unit(name, usable, what) for name, usable, what in self._module.available_units())

    def set_log(self, level: str, file: Path | None) -> None:
        """What native code says: from `level` on, and besides into `file`, of 10 MB at most, with two older ones. EngineError when it cannot be written."""
        with _native_errors(self._module):
            self._module.set_log_level(level)
            if file is not None:
                self._module.log_to_file(str(file))

    def note(self, level: str, text: str) -> None:
        """Into the file, where there is one."""
        self._module.note_in_log_file(level, text)

    def take_log(self) -> Iterable[NativeMessage]:
        messages: list[NativeMessage] = self._module.take_log()
        return messages

    def make(self, order: Configure) -> NativeSource | NativeDestination:
        if order.source is not None:
            return NativeSource(self._module, order.source, order.run, self._folders)
        if order.destination is not None:
            return NativeDestination(self._module, order.destination, order.run, self._folders)
        raise EngineError("config", "Configure names neither source nor destination")
