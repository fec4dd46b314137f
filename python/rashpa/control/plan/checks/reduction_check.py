# SPDX-License-Identifier: Apache-2.0
"""Finds faults in the reduction of images at their source: keys that contradict one another, kernels that need images as they are read out, and
offset files of another shape or type."""

from collections.abc import Iterator
from pathlib import Path

from rashpa.control.plan.checks.dataset_check import trouble_with
from rashpa.control.plan.model import Plan
from rashpa.control.plan.reduction import bins_of
from rashpa.control.runfile import run_file as toml
from rashpa.control.runfile import special_values
from rashpa.control.runfile.kernels import declaration, files_of, label_of
from rashpa.control.runfile.key_types import KeyPath
from rashpa.control.runfile.run_file_reader import RunFileSource
from rashpa.data.datasets.calibration_reference import file_of
from rashpa.data.files.file_names import located

_WHOLE = ("sls", "stream2")  # links that send frames as their detector does


def reduction_problems(file: toml.RunFile, section: toml.Buffer, path: KeyPath, source: RunFileSource) -> Iterator[str]:
    """Yield a line for each fault of [buffer.reduction] that shows without its files."""
    reduction, detector = section.reduction, file.detector
    if reduction is None:
        return
    path = (*path, "reduction")
    where = source.where(path)
    if detector.control is not None:
        yield f"{where}: the detector sends by itself, and no emulator reduces its images; leave [buffer.reduction] out"
    if bins_of(section) == (1, 1) and not reduction.threshold and not reduction.offset:
        yield f"{where}: nothing is reduced; set bin_x, bin_y, threshold or offset, or leave [buffer.reduction] out"
    if "bin_by" in reduction.model_fields_set and bins_of(section) == (1, 1):
        yield f"{source.where((*path, 'bin_by'))}: bins have one pixel; set bin_x or bin_y, or leave bin_by out"
    if reduction.offset and len(reduction.offset) != len(detector.module):
        yield (
            f"{source.where((*path, 'offset'))}: {len(reduction.offset)} files, and [[detector.module]] lists {len(detector.module)} modules; give one a "
            "module, in their order"
        )
    if (counts := special_values.counts_of(detector)) and reduction.threshold > counts[1]:
        yield (
            f"{source.where((*path, 'threshold'))}: {reduction.threshold:g} is above the largest count of {detector.pixel} pixels, {counts[1]}; set a "
            "lower one"
        )
    for number, kernel in enumerate(section.kernel):
        known = declaration(kernel.name)
        round_rings = any(parameter.name == "beam_x" for parameter in known.parameters) and not files_of(kernel)
        if round_rings and reduction.bin_x != reduction.bin_y:
            yield (
                f"{source.where((*path[:-1], 'kernel', number))}: {label_of(kernel)} needs square pixels, and bins have {reduction.bin_x} × "
                f"{reduction.bin_y}; set bin_x = bin_y, or give the kernel a geometry"
            )
        if known.calibration or (known.delivered and known.made("pixels")):
            yield (
                f"{source.where((*path[:-1], 'kernel', number))}: {label_of(kernel)} needs words as they are read out, and [buffer.reduction] changes "
                "them at the source; leave one of the two out"
            )


def reduced_route_problems(plan: Plan) -> Iterator[str]:
    """Yield a line for each buffer that is reduced before a link that sends only whole frames."""
    for buffer in plan.buffers:
        kind = plan.receiver(buffer.receiver).source_kind
        if buffer.section.reduction is not None and kind in _WHOLE:
            where = plan.source.where(("buffer", plan.positions[buffer.section.name], "reduction"))
            yield f"{where}: the link {kind} sends frames as its detector reads them out; use roce, verbs or pcie, or leave [buffer.reduction] out"


def offset_problems(file: toml.RunFile, source: RunFileSource) -> Iterator[str]:
    """Yield a line for each offset file that is missing, unreadable, or has another shape or type than frames of the detector. An emulator of this
    machine reads them."""
    folder = source.path.resolve().parent
    for number, section in enumerate(file.buffer):
        for entry, name in enumerate(section.reduction.offset if section.reduction else ()):
            trouble = trouble_with(Path(file_of(located(name, folder)))) or _misfit(
                file.detector, located(name, folder)
            )
            if trouble:
                yield f"{source.where(('buffer', number, 'reduction', 'offset', entry))}: {trouble}"


def _misfit(detector: toml.Detector, name: str) -> str | None:
    """Return the reason why an offset file does not fit the detector, None when it fits."""
    from rashpa.data.datasets.offset_image import read_offset  # NumPy, for runs that subtract offsets

    try:
        read_offset(name, detector.pixel, (detector.height, detector.width))
    except (OSError, ValueError) as error:
        return str(error)
    return None
