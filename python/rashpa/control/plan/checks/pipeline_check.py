# SPDX-License-Identifier: Apache-2.0
"""Finds faults in the pipeline of a buffer, and contradictions with its input."""

import json
from collections.abc import Iterator
from pathlib import Path

from rashpa.control.plan.checks.dataset_check import trouble_with
from rashpa.control.plan.emulators import SIMULATED
from rashpa.control.plan.strips import needs_whole_images
from rashpa.control.runfile import pipeline, special_values
from rashpa.control.runfile import run_file as toml
from rashpa.control.runfile.kernels import code_of, declaration, files_of, label_of, parameters_of
from rashpa.control.runfile.key_types import KeyPath
from rashpa.control.runfile.pipeline import unit_trouble, usable_units
from rashpa.control.runfile.run_file_reader import RunFileSource
from rashpa.data.datasets.calibration_reference import file_of
from rashpa.data.files.file_names import located


def pipeline_problems(file: toml.RunFile, section: toml.Buffer, path: KeyPath, source: RunFileSource) -> Iterator[str]:
    """Yield a line for each kernel of a buffer that does not fit another kernel, the detector's pixels, or the unit."""
    special = file.detector.special
    for problem in pipeline.problems_of(
        section.kernel, file.detector.pixel, special_values.largest_count(file.detector)
    ):
        yield f"{source.where((*path, *problem.path))}: {problem.text}"
    known = [declaration(kernel.name) for kernel in section.kernel]
    for number, kernel in enumerate(section.kernel):
        window = parameters_of(kernel).get("window", 0) if known[number].made("accumulation") else 0
        if window % section.stack:
            fits = (window // section.stack + 1) * section.stack
            yield (
                f"{source.where((*path, 'kernel', number, 'window'))}: {window} images are not a whole number of stacks of {section.stack}; "
                f"take {fits}"
            )
    # a kernel that only looks at the detector's pixels, and makes none, goes before all
    first = next((one for one in known if not one.delivered or one.made("pixels")), None)
    if special and first is not None and first.calibration:
        yield (
            f"{source.where((*path, 'kernel', 0))}: {first.name} reads raw words of its detector, which have special values of their own; leave "
            "detector.special out"
        )
    outside = [(number, kernel) for number, kernel in enumerate(section.kernel) if code_of(kernel)]
    elsewhere = [kernel for _, kernel in outside if section.unit not in declaration(kernel.name).units]
    if elsewhere:
        yield f'{source.where((*path, "unit"))}: {section.unit} does not run {label_of(elsewhere[0])}; set unit = "cpu"'
    elif why := unit_trouble(section.unit, section.kernel):
        usable = " or ".join(map(json.dumps, usable_units(section.kernel)))
        advice = f"set unit = {usable}" if usable else "no unit can; take one of the kernels out"
        yield f"{source.where((*path, 'unit'))}: unit {section.unit} {why}; {advice}"
    yield from _device_problems(section, path, source)
    yield from _share_problems(section, path, source)
    yield from _card_problems(section, path, source)
    for number, kernel in outside if _local(file, section) else ():
        folder = source.path.parent
        if not (folder / code_of(kernel)).is_file():
            yield (
                f"{source.where((*path, 'kernel', number))}: there is no {code_of(kernel)} in {folder.absolute()}, where the run file is; put it there "
                "(docs/how-to/add_a_kernel.md)"
            )


def kernel_file_problems(
    file: toml.RunFile, section: toml.Buffer, path: KeyPath, source: RunFileSource
) -> Iterator[str]:
    """Yield a line for each missing file that a kernel's parameters name, when the receiver runs on this machine."""
    if not _local(file, section):
        return
    folder = source.path.resolve().parent
    for number, kernel in enumerate(section.kernel):
        for parameter, name in files_of(kernel).items():
            if trouble := trouble_with(Path(file_of(located(name, folder)))):
                yield f"{source.where((*path, 'kernel', number, parameter))}: {trouble}"


def _device_problems(section: toml.Buffer, path: KeyPath, source: RunFileSource) -> Iterator[str]:
    """Yield a line for each combination that several devices do not support together."""
    if not section.devices:
        return
    where = source.where((*path, "devices"))
    if section.unit == "fpga":
        return  # said with its card
    if section.unit == "cpu":
        yield f'{where}: unit cpu has none; set unit = "cuda" or "opencl", or leave devices out'
    if "device" in section.model_fields_set:
        yield f"{where}: and device; leave one out"
    if len(set(section.devices)) < len(section.devices):
        yield f"{where}: a device is named twice; name each once"
    if len(section.devices) < 2:
        return
    if section.trigger in ("stream", "persistent", "word"):
        yield f'{where}: trigger {section.trigger} takes stacks in turn, and several devices take what they can; set trigger = "graph", or one device'
    for kernel in section.kernel:
        values = parameters_of(kernel)
        if values.get("track", "off") != "off" and not section.splits_images:
            yield f"{where}: {kernel.name} with track learns from images, which several devices cannot do together; name one device"


def _share_problems(section: toml.Buffer, path: KeyPath, source: RunFileSource) -> Iterator[str]:
    """Yield the faults of images that are split among devices."""
    where = source.where((*path, "share"))
    if section.share == "rows" and (section.unit != "cuda" or len(section.devices) < 2):
        yield (
            f"{where}: images are split into rows among several devices of unit cuda; name them, devices = [0, 1], or leave "
            "share out"
        )
    elif section.splits_images:
        if section.trigger not in ("auto", "graph"):
            yield f'{where}: devices that split images are triggered by graph, not by {section.trigger}; set trigger = "graph"'
        for kernel in filter(needs_whole_images, section.kernel):
            yield f'{where}: {label_of(kernel)} as it is set needs images in one piece; set share = "stacks"'


def _card_problems(section: toml.Buffer, path: KeyPath, source: RunFileSource) -> Iterator[str]:
    """Yield faults of the unit in hardware."""
    if section.unit != "fpga":
        if section.card is not None:
            yield f'{source.where((*path, "card"))}: only unit fpga has a card; set unit = "fpga", or take card out'
        return
    if section.card is None:
        yield (
            f'{source.where((*path, "unit"))}: unit fpga needs a card: name it, card = "{SIMULATED}" for a simulated one, or the directory of '
            "its nodes"
        )
    for key in ("device", "devices"):
        if key in section.model_fields_set:
            yield f"{source.where((*path, key))}: unit fpga has a card in place of devices; leave {key} out"
    if section.trigger != "auto":
        yield f"{source.where((*path, 'trigger'))}: trigger {section.trigger} is for unit cuda; leave it out"


def _local(file: toml.RunFile, section: toml.Buffer) -> bool:
    """Return True when the run starts the receiver of the buffer."""
    named = [one for one in file.receivers if section.receiver in (None, one.name)]
    node = named[0].node if named else None
    return (node or file.nodes.receiver) == "local"
