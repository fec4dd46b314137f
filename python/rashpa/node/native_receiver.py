"""The native configuration of a receiver from its Configure telegram: buffers, pipelines with their calibration, sinks with their metadata."""

from pathlib import Path
from typing import Any

from rashpa.control import telegram
from rashpa.control.proof import proof_of
from rashpa.control.version import software_version
from rashpa.node.calibration import Maps, gaps_of_buffer, maps_of_buffer
from rashpa.node.dataset_parts import parameters_of, spec_of
from rashpa.node.engine import EngineError
from rashpa.node.output_files import prepare_output


def receiver_config(module: Any, order: telegram.Destination, run: int) -> Any:
    """Everything but the link's options. EngineError when calibration or output cannot be had."""
    calibration = _calibration_of(order)
    config = module.ReceiverConfig()
    proof = "{} ({})".format(*proof_of(order.link, order.verbs.verify))
    config.buffers = [_buffer_config(module, buffer, calibration, proof) for buffer in order.buffers]
    config.memory = order.memory
    config.link = order.link
    config.source_link = order.peer_link
    config.bind_address = order.bind_address
    config.port = order.port
    config.link_threads = order.link_threads
    config.flow = order.flow
    config.run = run
    config.poll = order.poll
    config.first_processor = order.first_processor
    return config


def _calibration_of(order: telegram.Destination) -> list[Maps]:
    """The maps of all modules; none when no kernel wants them."""
    if not any(kernel.name == "jungfrau" for buffer in order.buffers for kernel in buffer.kernels):
        return []
    from rashpa.data.datasets import calibration_from_spec

    found = calibration_from_spec(spec_of(order.dataset), Path.cwd(), order.module_height, order.module_width)
    if not found:
        raise EngineError(
            "config",
            f"kernel jungfrau needs pedestal and gain, and dataset {order.dataset.kind} has none; name them in [dataset.calibration] "
            "or leave the kernel out",
        )
    return [Maps(maps.pedestal, maps.gain, maps.mask) for maps in found]


def _buffer_config(module: Any, buffer: telegram.Buffer, calibration: list[Maps], proof: str) -> Any:
    maps = maps_of_buffer(buffer, calibration) if any(kernel.name == "jungfrau" for kernel in buffer.kernels) else None
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
    config.kernels = [_kernel(module, kernel, maps) for kernel in buffer.kernels]
    config.sinks = [_sink(module, sink, buffer, maps, proof) for sink in buffer.sinks]
    return config


def _kernel(module: Any, kernel: telegram.Kernel, maps: Maps | None) -> Any:
    values = parameters_of(kernel)
    if kernel.name == "jungfrau" and maps is not None:
        return module.Jungfrau(values["photon_energy_kev"], values["output"], maps.pedestal, maps.gain, maps.mask)
    if kernel.name == "bragg_count":
        return module.BraggCount(values["threshold"], values["min_pixels"], values["max_pixels"])
    if kernel.name == "csr":
        return module.Csr(values["threshold"], values["capacity"])
    raise EngineError("config", f"kernel {kernel.name} is not known here")


def _sink(module: Any, sink: telegram.Sink, buffer: telegram.Buffer, maps: Maps | None, proof: str) -> Any:
    values = parameters_of(sink)
    if sink.kind == "null":
        return module.NullSink()
    if sink.kind == "memory":
        return module.MemorySink(values["capacity"])
    if sink.kind == "hdf5":
        prefix = Path(values["prefix"])
        metadata = _metadata(module, values["metadata"], buffer, maps, proof)
        prepare_output(prefix, values["existing"])
        return module.Hdf5Sink(str(prefix), metadata, values["images_per_file"], values["threads"], values["existing"])
    raise EngineError("config", f"sink {sink.kind} is not known here")


def _metadata(module: Any, values: dict[str, Any], buffer: telegram.Buffer, maps: Maps | None, proof: str) -> Any:
    metadata = module.NxmxMetadata()
    parts = {"modules": module.NxmxModule, "dtps": module.NxmxDtp}
    for name, value in values.items():
        setattr(metadata, name, [_filled(parts[name](), entry) for entry in value] if name in parts else value)
    metadata.software_version = software_version()
    metadata.proof = proof
    metadata.pixel_mask = maps.mask if maps is not None else gaps_of_buffer(buffer)
    return metadata


def _filled(part: Any, values: dict[str, Any]) -> Any:
    for name, value in values.items():
        setattr(part, name, value)
    return part
