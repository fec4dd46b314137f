# SPDX-License-Identifier: Apache-2.0
"""Finds the measured throughput of a buffer's pipeline, and scales it to other image sizes."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import PurePath

from rashpa.control.runfile.kernels import files_of, label_of, parameters_of
from rashpa.control.runfile.run_file import Buffer
from rashpa.control.runfile.sink_sections import Hdf5Sink
from rashpa.control.telegrams.telegram import Throughput


def fingerprint_of(section: Buffer, pixel: str) -> str:
    """Return a fingerprint of the unit's work: kernels with their parameters, pixels, unit, threads, stack. For file parameters only their presence
    counts, because their content does not affect the speed of kernels."""
    kernels = []
    for kernel in section.kernel:
        files = files_of(kernel)
        values = {name: True if name in files else value for name, value in parameters_of(kernel).items()}
        kernels.append([label_of(kernel), values])
    unit: list[object] = [section.unit, section.stack]
    unit += [section.threads] if section.unit == "cpu" else [*section.device_names, section.trigger]
    unit += [section.share] if section.splits_images else []
    asked = json.dumps([kernels, pixel, unit], sort_keys=True)
    return hashlib.sha256(asked.encode()).hexdigest()[:16]


def file_fingerprint_of(section: Buffer, pixel: str, output: str) -> str:
    """Return a fingerprint of the unit's work and of its files, if any: how they are written, and the parent of the run's output folder."""
    files = [sink.model_dump(mode="json") for sink in section.sink if isinstance(sink, Hdf5Sink)]
    asked = json.dumps([fingerprint_of(section, pixel), files, str(PurePath(output).parent)], sort_keys=True)
    return hashlib.sha256(asked.encode()).hexdigest()[:16]


def writes_files(section: Buffer) -> bool:
    """Return True when the buffer has sinks that write files."""
    return any(isinstance(sink, Hdf5Sink) for sink in section.sink)


def words_of(section: Buffer) -> str:
    """Return the unit's work as text for people."""
    kernels = ", ".join(label_of(kernel) for kernel in section.kernel) or "no kernels"
    threads = section.threads
    how = (
        f"{threads} thread{'s' if threads > 1 else ''}"
        if section.unit == "cpu"
        else f"card {section.card}"
        if section.unit == "fpga"
        else f"device {', '.join(section.device_names)}{' by rows' * section.splits_images}"
    )
    return f"{kernels} on {section.unit}, {how}, stacks of {section.stack}"[:1000]


def images_per_s(known: Iterable[Throughput], fingerprint: str, pixels: int) -> float | None:
    """Return the rate, images/s, at which the pipeline processes images of this size, None when it has not been measured. The measurement with the
    nearest size is used; the time for an image is proportional to its pixels."""
    fitting = [one for one in known if one.pipeline == fingerprint]
    if not fitting:
        return None
    nearest = min(fitting, key=lambda one: abs(one.width * one.height - pixels))
    return nearest.images_per_s * nearest.width * nearest.height / pixels
