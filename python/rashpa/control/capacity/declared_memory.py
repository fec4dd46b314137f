# SPDX-License-Identifier: Apache-2.0
"""Sums up the memory that kernels declare, for the unit and the parameters of a buffer."""

from collections.abc import Iterator

from rashpa.control.runfile.kernels import DeviceCost, Kernel, declaration_of, parameters_of
from rashpa.control.runfile.pipeline import Pipeline, Step
from rashpa.control.runfile.run_file import Buffer


def declared(section: Buffer, steps: Pipeline, of: str, sets: int) -> Iterator[float]:
    """Yield the bytes for each pixel that the kernels declare for the unit, once (`of` "run") or for each image. `sets`: sets of pedestals. A kernel
    needs no work memory for images when an earlier step has already read its pixels."""
    for _, step, cost in costs_of(section, steps):
        spared = of == "image" and (step.rides_on or step.marked_by)
        if cost.of == of and not cost.each and not spared:
            yield cost.bytes * (sets if cost.by_set else 1)


def costs_of(section: Buffer, steps: Pipeline) -> Iterator[tuple[Kernel, Step, DeviceCost]]:
    """Yield the costs that the kernels declare for the unit, for their parameters. Costs without a unit are those of accelerators."""
    for kernel, step in zip(section.kernel, steps.steps, strict=True):
        for cost in step.kernel.device:
            of_unit = cost.unit == section.unit or (not cost.unit and section.unit != "cpu")
            if of_unit and chosen(kernel, cost.when):
                yield kernel, step, cost


def chosen(kernel: Kernel, name: str) -> bool:
    """Return True when the parameter differs from its default."""
    if not name:
        return True
    parameter = next(one for one in declaration_of(kernel).parameters if one.name == name)
    return bool(parameters_of(kernel)[name] != parameter.default)
