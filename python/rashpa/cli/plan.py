# SPDX-License-Identifier: Apache-2.0
"""`rashpa plan FILE`: what a run would do with its pixels: steps, passes, memory. Needs no node."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from rashpa.control.calibration_warnings import calibration_warnings
from rashpa.control.pipeline import PIXEL_BYTES, UNITS, Pipeline, Step, plan_pipeline
from rashpa.control.run_file_reader import RunFileError
from rashpa.control.run_plan import Plan, PlannedBuffer, load_plan

BAD_INPUT = 2


def plan(
    file: Annotated[Path, typer.Argument(help="Run file (TOML); examples/ has some.", show_default=False)],
) -> None:
    """Show how the images of each buffer are processed: steps and what they take and make, which passes over the pixels that is on which unit,
    bytes a pixel, and the memory that is taken. Nothing is started; the run file is read, and what calibration files say of themselves.
    """
    try:
        found = load_plan(file)
    except (RunFileError, OSError) as error:
        for line in str(error).splitlines():
            Console(stderr=True).print(
                f"rashpa plan: {line}", style="red", markup=False, highlight=False, soft_wrap=True
            )
        raise typer.Exit(BAD_INPUT) from None
    console = Console()
    for text in calibration_warnings(found, datetime.now(UTC)):
        Console(stderr=True).print(f"caution: {text}", style="yellow", markup=False, highlight=False, soft_wrap=True)
    for buffer in found.buffers:
        for line in lines_of(found, buffer):
            console.print(line, markup=False, highlight=False, soft_wrap=True)


def lines_of(found: Plan, buffer: PlannedBuffer) -> Iterator[str]:
    """What is said of one buffer."""
    section = buffer.section
    pixel = found.file.detector.pixel
    steps = plan_pipeline(section.kernel, pixel)
    yield (
        f"buffer {section.name}: {buffer.images} images of {buffer.width} × {buffer.height} pixels {pixel}, "
        f"{section.slots} slots in stacks of {section.stack}"
    )
    for number, step in enumerate(steps.steps, start=1):
        if step.outside:
            yield f"  {number}. {step.kernel.name}: {step.takes} → known when the receiver has loaded it: {step.outside}"
        elif step.rule:
            yield f"  {number}. {step.kernel.name}: keeps an image when {step.rule} → {', '.join(_made(step))}"
        else:
            yield f"  {number}. {step.kernel.name}: {step.takes} → {', '.join(_made(step))}"
        yield f"     {_pass(steps, step, section.stack)}"
    if not steps.steps:
        yield "  no kernels: images go to the sinks as they come"
    for unit in UNITS:
        yield f"  {'*' if unit == section.unit else ' '} unit {unit}: {_unit(steps, unit)}"
    read, written = (
        sum(cost) for cost in zip((0.0, 0.0), *(steps.cost(one, section.stack) for one in steps.steps), strict=True)
    )
    yield f"  bytes a pixel: {read:.3g} read, {written:.3g} written"
    declared = [f"those of {step.kernel.name}" for step in steps.steps if step.outside]
    if columns := [*(column.name for column in steps.columns), *declared]:
        yield f"  columns: {', '.join(columns)}"
    yield f"  vetoes: {', '.join(dict.fromkeys((*steps.reasons, 'dark', 'partial', *declared)))}"
    yield f"  memory: {', '.join(f'{name} {size / 2**20:.1f} MiB' for name, size in memory_of(steps, buffer, pixel).items())}"


def _made(step: Step) -> Iterator[str]:
    for port in step.kernel.makes:
        if port.port == "pixels":
            yield f"{step.leaves} pixels"
        elif port.port == "list":
            yield f"list of {step.leaves} with their index, room for {100 * step.list_part:g} % of the pixels"
        elif port.port == "profile":
            arrays = " and ".join(column.name for column in port.columns)
            yield f"profile of {arrays} along {' and '.join(axis.name for axis in port.axes)}"
        elif port.port == "table":
            yield f"table of {' and '.join(column.name for column in port.columns)}, room for {port.capacity} rows an image"
        elif port.port == "accumulation":
            yield f"{' and '.join(column.name for column in port.columns)} of many images"
        elif port.port == "scalars":
            yield " and ".join(column.name for column in port.columns)
        else:
            yield f"verdict ({', '.join(port.reasons)})"


def _pass(steps: Pipeline, step: Step, stack: int) -> str:
    if step.rides_on:
        return f"no pass: {step.rides_on} counts on its way"
    if step.rule:
        return "no pass: it looks at columns only"
    read, written = steps.cost(step, stack)
    extra = [f"counts for {step.counts_for}"] if step.counts_for else []
    extra += [f"leaves marks for {step.marks_for}"] if step.marks_for else []
    source = f"reads the marks of {step.marked_by}" if step.marked_by else "one pass"
    return "; ".join([f"{source}: {read:.3g} bytes a pixel read, {written:.3g} written", *extra])


def _unit(steps: Pipeline, unit: str) -> str:
    missing = steps.without_a_version(unit)
    if missing:
        return f"has no version of {', '.join(missing)}"
    if not steps.steps and unit != "cpu":
        return "has nothing to do without a kernel"
    return steps.words


def memory_of(steps: Pipeline, buffer: PlannedBuffer, pixel: str) -> dict[str, int]:
    """Bytes, by what they are for."""
    section = buffer.section
    pixels = buffer.width * buffer.height
    memory = {"images": section.slots * pixels * PIXEL_BYTES[pixel]}
    makers = [step for step in steps.steps if step.kernel.made("pixels")]
    if makers:
        memory["output"] = section.slots * pixels * PIXEL_BYTES[makers[-1].leaves]
    if between := sum(section.stack * pixels * PIXEL_BYTES[step.leaves] for step in makers[:-1]):
        memory["between steps"] = between
    if lists := sum(step.list_part * pixels * (4 + PIXEL_BYTES[step.leaves]) for step in steps.steps):
        memory["lists"] = int(section.slots * lists)
    if any(step.marks_for for step in steps.steps):
        memory["marks"] = section.stack * pixels // 8
    if own := sum(step.kernel.scratch_bytes * pixels for step in steps.steps):
        memory["kernels"] = int(own)
    return memory
