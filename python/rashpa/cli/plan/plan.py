# SPDX-License-Identifier: Apache-2.0
"""`rashpa plan FILE`: shows the path of pixels in a run: DTPs, links, memory, steps. It needs no node, and can ask nodes on request."""

import asyncio
import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from rashpa.cli.completion import run_files
from rashpa.cli.fitted import print_table
from rashpa.cli.plan.plan_tables import tables_of
from rashpa.cli.run_checks import problems_before, problems_of_nodes
from rashpa.control.capacity.capacity import CapacityError, cautions, check_abilities, overloads
from rashpa.control.capacity.loads import memory_of
from rashpa.control.capacity.plan_summary import Summary, json_of, summary_of, unknown_of
from rashpa.control.nodes.node_client import NodeError
from rashpa.control.plan.checks.calibration_warnings import calibration_warnings
from rashpa.control.plan.model import Plan, PlannedBuffer, images_of
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.run.manager import Manager
from rashpa.control.runfile.pipeline import UNITS, Pipeline, Step, plan_pipeline, unit_trouble
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.control.runfile.token import TokenError, token_of_environment
from rashpa.data.base.exit_code import ExitCode


def plan(
    file: Annotated[
        Path, typer.Argument(help="Run file (TOML); examples/ has some.", show_default=False, autocompletion=run_files)
    ],
    nodes: Annotated[
        bool,
        typer.Option("--nodes", help="Ask the nodes what they have, starting those that are local, and check it."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Figures for programs, on standard output.")] = False,
    svg: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Draw it into this SVG file: modules, links with their rates, receivers.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Show the plan of a run: the pixels of each buffer and their rate, the load of links, memory and units, the processing of images. Without --nodes no node is started or asked; files that nodes of this machine would load, it loads itself, as `rashpa run --check`."""
    try:
        found = load_plan(file)
        capabilities = asyncio.run(Manager(found, token=token_of_environment()).ask()) if nodes else {}
        if nodes:
            check_abilities(found, capabilities)
    except (RunFileError, CapacityError, NodeError, TokenError, OSError) as error:
        _complain(str(error))
        raise typer.Exit(ExitCode.BAD_INPUT) from None
    for text in (*cautions(found), *calibration_warnings(found, datetime.now(UTC))):
        Console(stderr=True).print(f"caution: {text}", style="yellow", markup=False, highlight=False, soft_wrap=True)
    summary = summary_of(found, capabilities)
    if as_json:
        sys.stdout.write(f"{json.dumps(json_of(summary), indent=2)}\n")
    else:
        _show(summary)
    if svg is not None:
        _draw(summary, svg)
    problems = [*(overloads(found, capabilities) if summary.exceeded else ()), *problems_before(found)]
    if not nodes and not problems:
        problems += problems_of_nodes(found)
    if problems:
        _complain("\n".join(problems))
        raise typer.Exit(ExitCode.BAD_INPUT)


def _show(summary: Summary) -> None:
    console = Console()
    for table in tables_of(summary):
        print_table(console, table)
        console.print()
    for text in unknown_of(summary):
        console.print(f"not known: {text}", markup=False, highlight=False, soft_wrap=True)
    for line in group_lines(summary.plan):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    for buffer in summary.plan.buffers:
        console.print()
        for line in lines_of(summary.plan, buffer):
            console.print(line, markup=False, highlight=False, soft_wrap=True)


def _draw(summary: Summary, path: Path) -> None:
    from rashpa.cli.plan.plan_picture import draw_plan  # matplotlib takes a second to load

    try:
        draw_plan(summary, path)
    except OSError as error:
        _complain(f"{path}: cannot be written: {error.strerror or error}; choose another file")
        raise typer.Exit(ExitCode.FAILED) from None
    Console(stderr=True).print(f"wrote {path}", markup=False, highlight=False, soft_wrap=True)


def _complain(text: str) -> None:
    for line in text.splitlines():
        Console(stderr=True).print(f"rashpa plan: {line}", style="red", markup=False, highlight=False, soft_wrap=True)


def group_lines(found: Plan) -> Iterator[str]:
    """Yield a line for each group."""
    frame_bytes = found.file.detector.width * found.file.detector.height * found.frame_pixel_bytes
    for group in found.groups:
        yield (
            f"group {group.name}: images are dealt to {', '.join(group.members)}; the last {group.replay_frames:,} frames can be sent again "
            f"({group.replay_frames * frame_bytes / 2**20:,.1f} MiB a module), silent for {group.keys.response_ms} ms is late"
        )


def lines_of(found: Plan, buffer: PlannedBuffer) -> Iterator[str]:
    """Yield the lines of one buffer."""
    section = buffer.section
    pixel = found.file.detector.pixel
    steps = plan_pipeline(section.kernel, pixel)
    yield (
        f"buffer {section.name}: {images_of(found, buffer)} images of {buffer.width} × {buffer.height} pixels {pixel}, "
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
        yield f"  {'*' if unit == section.unit else ' '} unit {unit}: {unit_trouble(unit, section.kernel) or steps.words}"
    read, written = (
        sum(cost) for cost in zip((0.0, 0.0), *(steps.cost(one, section.stack) for one in steps.steps), strict=True)
    )
    yield f"  bytes a pixel: {read:.3g} read, {written:.3g} written"
    declared = [f"those of {step.kernel.name}" for step in steps.steps if step.outside]
    if columns := [*(column.name for column in steps.columns), *declared]:
        yield f"  columns: {', '.join(columns)}"
    yield f"  vetoes: {', '.join(dict.fromkeys((*steps.reasons, 'dark', 'partial', *declared)))}"
    yield f"  memory: {', '.join(f'{name} {size / 2**20:.1f} MiB' for name, size in memory_of(found, buffer).items())}"


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
