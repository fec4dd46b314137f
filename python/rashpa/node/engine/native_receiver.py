# SPDX-License-Identifier: Apache-2.0
"""Makes the native configuration of a receiver from its Configure telegram: buffers, pipelines with their calibration, sinks with their metadata."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashpa import _native
from rashpa.control.books.proof import proof_of
from rashpa.control.nodes.version import software_version
from rashpa.control.plan.module_shapes import shape_troubles
from rashpa.control.runfile import links
from rashpa.control.runfile.kernels import (
    Kernel,
    PluginKernel,
    PythonKernel,
    code_of,
    declaration,
    files_of,
    first_looking,
    parameters_of,
)
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.part_orders import (
    FILE_ORDERS,
    DtpPlace,
    FileMetadata,
    ModulePlace,
    SinkOrder,
    Stream2Order,
)
from rashpa.data.base.pixels import bad_pixels, counts_of, named
from rashpa.data.datasets.calibration_reference import file_of
from rashpa.data.datasets.calibration_spec import CalibrationSpec
from rashpa.data.datasets.dataset_spec import AnyDatasetSpec
from rashpa.data.files.file_names import expanded
from rashpa.data.files.new_folders import missing_folders
from rashpa.data.geometry.given import GivenError, Image, behind, given_arrays
from rashpa.data.geometry.laboratory import Axes, Plane, Vector
from rashpa.data.kernels.pipeline import kernel_declarations
from rashpa.data.kernels.python_call import native_kernel
from rashpa.node.engine.bad_pixels import bad_pixels_step
from rashpa.node.engine.calibration import Maps, bad_of_buffer, gaps_of_buffer, maps_of_buffer
from rashpa.node.engine.dataset_parts import calibration_spec_of, spec_of
from rashpa.node.engine.engine import EngineError
from rashpa.node.engine.folders import Folders
from rashpa.node.engine.output_files import prepare_output
from rashpa.node.engine.places.told_metadata import told_metadata
from rashpa.node.engine.provenance import CalibrationFact, calibration_facts, sha256_of
from rashpa.node.engine.python_kernel import load_python_kernel
from rashpa.node.engine.stored_mask import stored_masks

_NO_MASKS: Mapping[str, NDArray[np.uint32]] = MappingProxyType({})


def receiver_config(order: telegram.Destination, run: int, folders: Folders) -> _native.ReceiverConfig:
    """Return the configuration without the link's options and the units' cards. Raise EngineError when a calibration cannot be loaded or an output
    cannot be made."""
    chosen = links.parameters_of(order.options)
    proof = "{} ({})".format(*proof_of(order.link, chosen.get("verify", "all"), chosen.get("records", True)))
    config = _native.ReceiverConfig()
    config.buffers = buffer_configs(order, folders, proof, stored_masks(order, folders))
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


def buffer_configs(
    order: telegram.Destination, folders: Folders, proof: str, read_masks: Mapping[str, NDArray[np.uint32]] = _NO_MASKS
) -> list[_native.BufferConfig]:
    """Return the configurations of all buffers. `proof`: the text for files on how complete pixels are proven; `read_masks`: by buffer, NXmx bits of
    the dataset's stored mask. Raise EngineError as `receiver_config` does."""
    check_allowed(order, folders)  # all of it, before the first file is touched
    calibration, facts = _calibration_of(order, folders)
    module = _Module(order.module_width, order.module_height)
    origin = _Origin(proof, facts, read_masks)
    return [_buffer_config(buffer, module, calibration, origin, folders) for buffer in order.buffers]


def check_allowed(order: telegram.Destination, folders: Folders) -> None:
    """Raise EngineError when an order reads, writes, loads or publishes anything that this node may not."""
    for buffer in order.buffers:
        for kernel in buffer.kernels:
            if code := code_of(kernel):
                folders.kernel_file(code)
            for name in files_of(kernel).values():
                folders.check_file(Path(file_of(expanded(name))))
        for sink in buffer.sinks:
            if isinstance(sink, FILE_ORDERS):
                folders.check_write(Path(sink.prefix))
            if isinstance(sink, Stream2Order):
                folders.check_publish(sink.endpoint, "sink stream2: endpoint")
        if buffer.feedback is not None:
            folders.check_publish(buffer.feedback.zmq, "feedback.zmq")


@dataclass(frozen=True)
class _Module:
    """Holds the size of a module of the detector, in pixels."""

    width: int
    height: int


@dataclass(frozen=True)
class _Origin:
    """Holds the origin of a file's pixels. `calibration`: the origin of each map."""

    proof: str
    calibration: Sequence[CalibrationFact]
    read_masks: Mapping[str, NDArray[np.uint32]] = field(default_factory=dict)
    code: Mapping[str, str] = field(default_factory=dict)  # of kernels from outside: file, SHA-256
    reasons: Sequence[list[str]] = ()  # of each kernel's verdict


@dataclass(frozen=True)
class _Image:
    """Describes the image that a buffer's sinks get: the place and the mask of the arriving image, converted to the pipeline's output shape."""

    made: _native.Reshaping
    arriving_mask: NDArray[np.uint32]

    def mask(self) -> NDArray[np.uint32]:
        return self.made.mask(self.arriving_mask)

    def module(self, said: ModulePlace, metadata: FileMetadata) -> _native.NxmxModule:
        place = _native.NxmxModule()
        place.name = said.name
        place.x, place.y, place.width, place.height = self.made.region(said.x, said.y, said.width, said.height)
        plane = self._plane(said, metadata, (place.x, place.y))
        place.corner, place.fast, place.slow = list(plane.corner), list(plane.fast), list(plane.slow)
        return place

    def _plane(self, said: ModulePlace, metadata: FileMetadata, first: tuple[int, int]) -> Plane:
        """Return the plane of the module, in m: from its given vectors, otherwise from the beam."""
        if not (said.corner or said.fast or said.slow):
            beam, pitch = (
                (metadata.beam_center_x or 0.0, metadata.beam_center_y or 0.0),
                (metadata.pixel_size_m, metadata.pixel_size_y_m),
            )
            return Axes(metadata.image_fast, metadata.image_slow).plane(beam, *pitch).starting(first)
        return Plane(*(_vector(said.name, key, getattr(said, key)) for key in ("corner", "fast", "slow")))

    def dtp(self, said: DtpPlace) -> _native.NxmxDtp:
        place = _native.NxmxDtp()
        place.id, place.module = said.id, said.module
        place.x, place.y, place.width, place.height = self.made.region(said.x, said.y, said.width, said.height)
        place.orientation = _native.Orientation(said.turn, said.flip)
        if self.made.changes:
            lines = [self.made.region(said.x, said.y + line, said.width, 1) for line in range(said.height)]
            place.line_rows = [y for _, y, _, _ in lines] + [place.y + place.height]
        return place


def _vector(module: str, key: str, text: str) -> Vector:
    """Parse a vector of three numbers, in m. Raise EngineError when the text is not one."""
    try:
        x, y, z = (float(one) for one in text.split())
    except ValueError:
        x = y = z = math.nan
    if not all(math.isfinite(one) for one in (x, y, z)):
        raise EngineError(
            "config", f"{key}: of module {module}: {text[:40]!r} is not three numbers; give x, y and z in m"
        )
    return x, y, z


def prefixes_of(order: telegram.Destination) -> list[Path]:
    """Return the prefixes of all output files of this order."""
    sinks = [sink for buffer in order.buffers for sink in buffer.sinks]
    return [Path(sink.prefix) for sink in sinks if isinstance(sink, FILE_ORDERS)]


def master_of(buffer: telegram.Buffer) -> str:
    """Return the path of this buffer's master file, empty when no sink stores it. Of several, return the file of the sink hdf5."""
    sinks = [sink for order in FILE_ORDERS for sink in buffer.sinks if isinstance(sink, order)]
    return next((f"{Path(sink.prefix).absolute()}_master.h5" for sink in sinks), "")


def masters_of(buffer: telegram.Buffer) -> list[str]:
    """Return the paths of all files of this buffer that have a master."""
    return [f"{Path(sink.prefix).absolute()}_master.h5" for sink in buffer.sinks if isinstance(sink, FILE_ORDERS)]


def masked_from(buffer: telegram.Buffer) -> int | None:
    """Return the number of the kernel before which an extra step masks bad pixels, None without such a step."""
    return first_looking(buffer.kernels) if buffer.bad else None


def values_of(kernel: Kernel) -> dict[str, Any]:
    """Return the parameters of a kernel in the form that the native module takes."""
    return {name: value for name, value in parameters_of(kernel).items() if value is not None}


def missing_folders_of(order: telegram.Destination) -> list[Path]:
    """Return the folders that the output of this order would create, the deepest first."""
    parents = dict.fromkeys(prefix.parent for prefix in prefixes_of(order))
    return [folder for parent in parents for folder in missing_folders(parent)]


def _calibration_of(order: telegram.Destination, folders: Folders) -> tuple[list[Maps], list[CalibrationFact]]:
    """Return the maps of all modules and their origins; empty lists when no kernel uses calibration."""
    wanting = [one.name for each in order.buffers for one in each.kernels if declaration(one.name).calibration]
    if not wanting:
        return [], []
    from rashpa.data.datasets.calibration import load_calibration
    from rashpa.data.datasets.datasets import calibration_from_spec

    spec: AnyDatasetSpec | CalibrationSpec
    if order.calibration is not None:
        spec = calibration_spec_of(order.calibration).resolved(Path.cwd())
        for path in spec.files():
            folders.check_file(path)
        found = load_calibration(spec, order.module_height, order.module_width, order.modules)
    else:
        spec = spec_of(order.dataset).resolved(Path.cwd())
        folders.check_read(spec, Path.cwd())
        found = calibration_from_spec(spec, Path.cwd(), order.module_height, order.module_width)
    if not found:
        raise EngineError(
            "config",
            f"kernel {wanting[0]} needs pedestal and gain, and dataset {order.dataset.kind} has none; name them in [detector.calibration] "
            "or leave the kernel out",
        )
    used = [Maps(maps.pedestal, maps.gain, maps.mask, maps.rms, maps.cells) for maps in found]
    return used, calibration_facts(spec, used)


WORKED_OUT = ("name", "width", "height", "pixel", "images", "end", "dealt", "device", "quiet_ms", "masked")
"""Facts of a buffer that its plan has worked out, under one name in telegram and native configuration."""


def _buffer_config(
    buffer: telegram.Buffer,
    module: _Module,
    calibration: list[Maps],
    origin: _Origin,
    folders: Folders,
) -> _native.BufferConfig:
    kernels = buffer.kernels
    calibrated = any(declaration(kernel.name).calibration for kernel in kernels)
    maps = maps_of_buffer(buffer, calibration) if calibrated else None
    mask = maps.mask if maps is not None else gaps_of_buffer(buffer)
    known = origin.read_masks.get(buffer.name, np.uint32(0)) | bad_of_buffer(buffer)
    mask = mask | known
    native_maps = None
    if maps is not None:
        parts = [(dtp.module, dtp.source_x, dtp.source_y, dtp.width, dtp.height, dtp.x, dtp.y) for dtp in buffer.dtps]
        width, height = _turned_sides(buffer, module)
        invalid = maps.mask | np.where(bad_pixels(known), known, 0)
        pedestal, gain = (one.reshape(-1, *maps.mask.shape) for one in (maps.pedestal, maps.gain))
        rms = None if maps.rms is None else maps.rms.reshape(-1, *maps.mask.shape)
        native_maps = _native.Calibration(pedestal, gain, invalid, rms, width, height, parts, list(maps.cells))
    config = _native.BufferConfig(buffer.keys.model_dump(mode="json"))
    for name in WORKED_OUT:
        setattr(config, name, getattr(buffer, name))
    config.dtps = [
        _native.DestinationDtp(dtp.id, dtp.module, dtp.x, dtp.y, dtp.width, dtp.height) for dtp in buffer.dtps
    ]
    if (feedback := buffer.feedback) is not None:
        ring = str(folders.ring_file(feedback.ring)) if feedback.ring else ""
        config.feedback = _native.FeedbackOptions(ring, feedback.zmq, feedback.images)
    config.special = [_native.SpecialValue(one.value, one.meaning) for one in buffer.special]
    made: list[_native.Kernel] = []
    steps: list[_native.Kernel] = []  # `made`, and the step that masks pixels for them
    masked = masked_from(buffer)
    arriving = Image(buffer.height, buffer.width, counts=_counts_of(buffer))
    for number, kernel in enumerate(kernels):
        if number == masked:
            steps.append(bad_pixels_step(buffer, made))
        seen = _Image(_native.Reshaping(made, buffer.width, buffer.height), mask).mask()
        arriving = replace(arriving, height=seen.shape[0], width=seen.shape[1], mask=seen)
        made.append(_kernel(kernel, native_maps, arriving, folders))
        steps.append(made[-1])
        arriving = behind(arriving, kernel_declarations().get(kernel.name, {}), parameters_of(kernel))
    config.kernels = steps
    code = {code: sha256_of(folders.kernel_file(code)) for one in kernels if (code := code_of(one))}
    origin = replace(origin, code=code, reasons=[one.veto_reasons for one in made])
    image = _Image(_native.Reshaping(made, buffer.width, buffer.height), mask)
    config.sinks = [_sink(sink, buffer, image, origin) for sink in buffer.sinks]
    return config


def _counts_of(buffer: telegram.Buffer) -> tuple[float, float]:
    """Return the least and the largest value of an arriving pixel that is not masked."""
    masking = named(buffer.masked, buffer.pixel)
    largest = min((one.value - 1 for one in buffer.special if one.value > 0), default=None)
    return counts_of(buffer.pixel, masking._replace(largest_count=largest))


def _turned_sides(buffer: telegram.Buffer, module: _Module) -> tuple[int, int]:
    """Return width and height of the buffer's modules after rotation. Raise EngineError when an assembled image would contain modules of both shapes."""
    orientations = [dtp.orientation for dtp in buffer.dtps]
    for number, text in shape_troubles(buffer.kernels, orientations, module.width, module.height):
        raise EngineError("config", f"buffer {buffer.name}: kernel {buffer.kernels[number].name}: {text}")
    return max(orientation.sides(module.width, module.height) for orientation in orientations)


def _kernel(kernel: Kernel, calibration: _native.Calibration | None, image: Image, folders: Folders) -> _native.Kernel:
    if isinstance(kernel, PluginKernel):
        return _native.plugin_kernel(str(folders.kernel_file(kernel.code)), dict(kernel.parameters), kernel.check)
    if isinstance(kernel, PythonKernel):
        return _python_kernel(kernel, folders)
    values = values_of(kernel)
    try:
        arrays = given_arrays(kernel.name, values, image)
    except GivenError as error:
        raise EngineError("file" if isinstance(error.__cause__, OSError) else "config", str(error)) from error
    calibrated = declaration(kernel.name).calibration
    return _native.Kernel(kernel.name, values, calibration if calibrated else None, arrays)


def _python_kernel(kernel: PythonKernel, folders: Folders) -> _native.Kernel:
    name = kernel.function.partition(":")[2]
    loaded = load_python_kernel(folders.kernel_file(kernel.code), name, kernel.parameters)
    function = loaded.on_device() if loaded.declared.on_device else loaded
    return native_kernel(function, name, loaded.origin, loaded.declared)


def _sink(sink: SinkOrder, buffer: telegram.Buffer, image: _Image, origin: _Origin) -> _native.SinkConfig:
    values = sink.model_dump(mode="json", exclude={"kind", "metadata"})
    if not isinstance(sink, (*FILE_ORDERS, Stream2Order)):
        return _native.SinkConfig(sink.kind, values)
    mask = image.mask()
    metadata = _metadata(told_metadata(sink.metadata, buffer, mask.shape), image, mask, origin.proof)
    _add_origin(metadata, buffer.kernels, origin)
    if isinstance(sink, FILE_ORDERS):
        prepare_output(Path(sink.prefix), sink.existing)
    return _native.SinkConfig(sink.kind, values, metadata)


def _metadata(said: FileMetadata, image: _Image, mask: NDArray[np.uint32], proof: str) -> _native.NxmxMetadata:
    plain = said.model_dump(mode="json", exclude={"labels", "modules", "dtps", "image_fast", "image_slow"})
    plain |= {"software_version": software_version(), "proof": proof}
    metadata = _native.NxmxMetadata(plain)
    metadata.labels = said.labels
    metadata.modules = [image.module(module, said) for module in said.modules]
    metadata.dtps = [image.dtp(dtp) for dtp in said.dtps]
    metadata.pixel_mask = mask
    return metadata


def _add_origin(metadata: _native.NxmxMetadata, kernels: Sequence[Kernel], origin: _Origin) -> None:
    steps = []
    for kernel, reasons in zip(kernels, origin.reasons, strict=True):
        step = _native.NxmxKernel()
        step.name = kernel.name
        values = kernel.model_dump(mode="json")
        step.parameters = [(name, json.dumps(value)) for name, value in values.items() if name != "name"]
        if code := code_of(kernel):
            step.parameters += [("sha256", json.dumps(origin.code[code]))]
        step.parameters += [
            (f"{key}_sha256", json.dumps(sha256_of(Path(name)))) for key, name in files_of(kernel).items()
        ]
        step.veto_reasons = reasons
        steps.append(step)
    metadata.kernels = steps
    maps = []
    for fact in origin.calibration if any(declaration(one.name).calibration for one in kernels) else ():
        one = _native.NxmxCalibration()
        one.kind, one.file, one.sha256 = fact.kind, fact.file, fact.sha256
        one.version, one.date, one.source = fact.version, fact.date, fact.source
        maps.append(one)
    metadata.calibration = maps
