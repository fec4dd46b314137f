# SPDX-License-Identifier: Apache-2.0
"""Describes the images of a buffer as far as the plan defines them, for control systems that announce images before the first one arrives."""

from dataclasses import dataclass

from rashpa.control.plan.model import Plan
from rashpa.control.runfile.kernels import declaration_of, parameters_of
from rashpa.control.runfile.pipeline import plan_pipeline
from rashpa.control.runfile.run_file_reader import RunFileError


@dataclass(frozen=True)
class Images:
    """Describes the images of a buffer. `pixel`: the name of the pixel type."""

    buffer: str
    width: int
    height: int
    pixel: str


def images_of(plan: Plan, buffer: str = "") -> Images:
    """Return the description of a buffer's images, by default of the first buffer's. Raise RunFileError when the buffer does not exist, or when its
    images cannot be known before the run."""
    if plan.file.run.series_frames is not None:
        raise RunFileError(
            f"{plan.source.where(('run', 'series_frames'))}: a series is a file of its own; leave the key away"
        )
    names = [known.section.name for known in plan.buffers]
    if buffer and buffer not in names:
        raise RunFileError(f"{plan.source.path}: there is no buffer {buffer}; one of {', '.join(names)}")
    position = names.index(buffer) if buffer else 0
    chosen = plan.buffers[position]
    section = chosen.section
    where = plan.source.where(("buffer", position))
    if section.every != 1 or section.phase:
        raise RunFileError(f"{where}: takes a part of the frames; choose a buffer of all frames")
    if not any(sink.kind == "hdf5" for sink in section.sink):
        raise RunFileError(f'{where}: stores nothing; give it a [[buffer.sink]] of kind = "hdf5"')
    if chosen.receiver and plan.group_of(chosen.receiver) is not None:
        raise RunFileError(f"{where}: its images are dealt to a group of receivers; choose a buffer of one receiver")
    pipeline = plan_pipeline(section.kernel, plan.file.detector.pixel)
    if pipeline.makes_list:
        raise RunFileError(f"{where}: stores lists of pixels; choose a buffer of images")
    for kernel in section.kernel:
        values = parameters_of(kernel)
        if declaration_of(kernel).name == "unpack" or values.get("borders", "raw") != "raw":
            raise RunFileError(
                f"{where}: kernel {declaration_of(kernel).name} changes the shape of images, which is known only when they are made; leave it to "
                "`rashpa process`, or choose another buffer"
            )
    return Images(section.name, chosen.width, chosen.height, pipeline.pixel)
