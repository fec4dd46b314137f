"""The native configuration of a receiver from its Configure telegram: buffers, pipelines with their calibration, sinks with their metadata."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rashpa.control import run_file as toml
from rashpa.control import telegram
from rashpa.control.kernels import Kernel, declaration, parameters_of
from rashpa.control.part_orders import Hdf5Order
from rashpa.control.proof import proof_of
from rashpa.control.version import software_version
from rashpa.node.calibration import Maps, gaps_of_buffer, maps_of_buffer
from rashpa.node.dataset_parts import kernel_of, sink_of, spec_of
from rashpa.node.engine import EngineError
from rashpa.node.folders import Folders
from rashpa.node.output_files import missing_folders, prepare_output
from rashpa.node.provenance import calibration_facts, pixel_units


def receiver_config(module: Any, order: telegram.Destination, run: int, folders: Folders) -> Any:
    """Everything but the link's options. EngineError when calibration or output cannot be had."""
    # all is checked before the first file is touched
    parts = [([kernel_of(one) for one in each.kernels], [sink_of(one) for one in each.sinks]) for each in order.buffers]
    for _, sinks in parts:
        for sink in sinks:
            if isinstance(sink, Hdf5Order):
                folders.check_write(Path(sink.prefix))
    calibration, facts = _calibration_of(order, folders)
    config = module.ReceiverConfig()
    proof = "{} ({})".format(*proof_of(order.link, order.verbs.verify, order.roce.records))
    config.buffers = [
        _buffer_config(module, buffer, kernels, sinks, calibration, _Origin(proof, facts))
        for buffer, (kernels, sinks) in zip(order.buffers, parts, strict=True)
    ]
    config.memory = order.memory
    config.source_link = order.peer_link
    config.bind_address = order.bind_address
    config.port = order.port
    config.link_threads = order.link_threads
    config.flow = order.flow
    config.run = run
    config.poll = order.poll
    config.first_processor = order.first_processor
    return config


@dataclass(frozen=True)
class _Origin:
    """What a file says of where its pixels come from; `calibration`: kind, file, SHA-256 of each map."""

    proof: str
    calibration: Sequence[tuple[str, str, str]]


def missing_folders_of(order: telegram.Destination) -> list[Path]:
    """Folders that are made for the output of this order; the deepest first."""
    sinks = [sink_of(sink) for buffer in order.buffers for sink in buffer.sinks]
    prefixes = [Path(sink.prefix) for sink in sinks if isinstance(sink, Hdf5Order)]
    return [
        folder for prefix in dict.fromkeys(prefix.parent for prefix in prefixes) for folder in missing_folders(prefix)
    ]


def _calibration_of(order: telegram.Destination, folders: Folders) -> tuple[list[Maps], list[tuple[str, str, str]]]:
    """The maps of all modules, and where they come from; none when no kernel wants them."""
    wanting = [one.name for each in order.buffers for one in each.kernels if declaration(one.name).calibration]
    if not wanting:
        return [], []
    from rashpa.data.datasets import calibration_from_spec

    spec = spec_of(order.dataset)
    folders.check_read(spec, Path.cwd())
    found = calibration_from_spec(spec, Path.cwd(), order.module_height, order.module_width)
    if not found:
        raise EngineError(
            "config",
            f"kernel {wanting[0]} needs pedestal and gain, and dataset {order.dataset.kind} has none; name them in [dataset.calibration] "
            "or leave the kernel out",
        )
    used = [Maps(maps.pedestal, maps.gain, maps.mask) for maps in found]
    return used, calibration_facts(spec.resolved(Path.cwd()), used)


def _buffer_config(
    module: Any,
    buffer: telegram.Buffer,
    kernels: Sequence[Kernel],
    sinks: Sequence[Hdf5Order | toml.MemorySink | toml.NullSink],
    calibration: list[Maps],
    origin: _Origin,
) -> Any:
    calibrated = any(declaration(kernel.name).calibration for kernel in kernels)
    maps = maps_of_buffer(buffer, calibration) if calibrated else None
    native_maps = module.Calibration(maps.pedestal, maps.gain, maps.mask) if maps is not None else None
    config = module.BufferConfig()
    for name in (
        "name",
        "width",
        "height",
        "pixel",
        "slots",
        "stack",
        "images",
        "deadline_ms",
        "partial",
        "keep_darks",
        "threads",
        "unit",
        "trigger",
        "device",
    ):
        setattr(config, name, getattr(buffer, name))
    config.slice = module.Slice(buffer.every, buffer.phase)
    config.dtps = [
        module.DestinationDtp(dtp.id, dtp.module, dtp.x, dtp.y, dtp.width, dtp.height) for dtp in buffer.dtps
    ]
    config.special = [module.SpecialValue(one.value, one.meaning) for one in buffer.special]
    config.kernels = [_kernel(module, kernel, native_maps) for kernel in kernels]
    config.sinks = [_sink(module, sink, buffer, kernels, maps, origin) for sink in sinks]
    return config


def _kernel(module: Any, kernel: Kernel, calibration: Any) -> Any:
    values = {name: value for name, value in parameters_of(kernel).items() if value is not None}
    return module.Kernel(kernel.name, values, calibration if declaration(kernel.name).calibration else None)


def _sink(
    module: Any,
    sink: Hdf5Order | toml.MemorySink | toml.NullSink,
    buffer: telegram.Buffer,
    kernels: Sequence[Kernel],
    maps: Maps | None,
    origin: _Origin,
) -> Any:
    return module.SinkConfig(_sink_options(module, sink, buffer, kernels, maps, origin), sink.on_full, sink.queue)


def _sink_options(
    module: Any,
    sink: Hdf5Order | toml.MemorySink | toml.NullSink,
    buffer: telegram.Buffer,
    kernels: Sequence[Kernel],
    maps: Maps | None,
    origin: _Origin,
) -> Any:
    if isinstance(sink, toml.NullSink):
        return module.NullSink()
    if isinstance(sink, toml.MemorySink):
        return module.MemorySink(sink.capacity)
    prefix = Path(sink.prefix)
    metadata = _metadata(module, sink.metadata.model_dump(), buffer, maps, origin.proof)
    _add_origin(module, metadata, kernels, origin)
    prepare_output(prefix, sink.existing)
    return module.Hdf5Sink(str(prefix), metadata, sink.images_per_file, sink.threads, sink.existing)


def _metadata(module: Any, values: dict[str, Any], buffer: telegram.Buffer, maps: Maps | None, proof: str) -> Any:
    metadata = module.NxmxMetadata()
    parts = {"modules": module.NxmxModule, "dtps": module.NxmxDtp}
    for name, value in values.items():
        setattr(metadata, name, [_filled(parts[name](), entry) for entry in value] if name in parts else value)
    metadata.software_version = software_version()
    metadata.proof = proof
    metadata.pixel_mask = maps.mask if maps is not None else gaps_of_buffer(buffer)
    return metadata


def _add_origin(module: Any, metadata: Any, kernels: Sequence[Kernel], origin: _Origin) -> None:
    metadata.pixel_units = pixel_units(kernels)
    steps = []
    for kernel in kernels:
        step = module.NxmxKernel()
        step.name = kernel.name
        values = kernel.model_dump(mode="json")
        step.parameters = [(name, json.dumps(value)) for name, value in values.items() if name != "name"]
        verdict = declaration(kernel.name).made("verdict")
        step.veto_reasons = list(verdict.reasons) if verdict is not None else []
        steps.append(step)
    metadata.kernels = steps
    maps = []
    for kind, file, sha256 in origin.calibration if any(declaration(one.name).calibration for one in kernels) else ():
        one = module.NxmxCalibration()
        one.kind, one.file, one.sha256 = kind, file, sha256
        maps.append(one)
    metadata.calibration = maps


def _filled(part: Any, values: dict[str, Any]) -> Any:
    for name, value in values.items():
        setattr(part, name, value)
    return part
