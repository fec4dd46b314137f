# SPDX-License-Identifier: Apache-2.0
"""`rashpa conformance --unit UNIT`: compares a unit of this machine with the results that all units must give."""

import contextlib
import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from rashpa.cli.bench.protocol_verdicts import judge_receiver, judge_sender
from rashpa.cli.completion import kernels, units
from rashpa.cli.fitted import Fitted, print_table
from rashpa.control.nodes.machine import machine_facts
from rashpa.control.nodes.version import software_version
from rashpa.data.base.exit_code import ExitCode
from rashpa.data.files.regular_file import write_named
from rashpa.data.kernels.conformance import Verdict, judge_all, trouble_with
from rashpa.data.kernels.pipeline import available_units, kernel_declarations
from rashpa.node.engine.engine import EngineError
from rashpa.node.engine.simulated_card import SimulatedCard

_MOST_ANSWER_S = 5.0  # for an answer of a receiver, where no less is given
_STYLES = {
    "identical": "green",
    "within": "green",
    "different": "bold red",
    "refused": "red",
    "no version": "dim",
}


_Device = Annotated[
    str,
    typer.Option(
        help="Number of the device, for units cuda and opencl; for opencl also a part of its name. For unit fpga: the directory of its card; 0: one is simulated."
    ),
]
_Kernel = Annotated[
    list[str] | None, typer.Option(help="This kernel alone; may be given several times.", autocompletion=kernels)
]
_Sender = Annotated[
    str,
    typer.Option(
        help="Judge a sender, in place of a unit: the URL of its node, a port for its own orders, or card for the simulated card."
    ),
]
_Receiver = Annotated[
    str, typer.Option(help="Judge a receiver, in place of a unit: the URL of its node, which must be idle.")
]
_Timeout = Annotated[
    float,
    typer.Option(
        "--timeout",
        min=0.1,
        max=86400.0,
        help="Seconds to wait for the next run of the sender, or for each answer of the receiver.",
    ),
]
_Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write the results into this JSON file, too.")]
_AsJson = Annotated[bool, typer.Option("--json", help="The results as one JSON document, in place of the table.")]


def conformance(
    unit: Annotated[str, typer.Option(help="Unit to look at: cpu, cuda, opencl, fpga.", autocompletion=units)] = "cpu",
    device: _Device = "0",
    kernel: _Kernel = None,
    sender: _Sender = "",
    receiver: _Receiver = "",
    runs: Annotated[int, typer.Option(min=1, max=1000, help="Runs of the sender that are judged.")] = 1,
    timeout: _Timeout = 60.0,
    output: _Output = None,
    as_json: _AsJson = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="A line for every vector.")] = False,
) -> None:
    """Compare a unit with the public vectors: integers must be identical, floating point numbers within what each vector states.

    With `--sender` or `--receiver`, test a sender or receiver by the rules of packets and telegrams instead.
    """
    if sender and receiver:
        errors = Console(stderr=True, style="red", soft_wrap=True)
        errors.print(
            "rashpa conformance: --sender and --receiver exclude each other; judge one after the other", highlight=False
        )
        raise typer.Exit(ExitCode.BAD_INPUT)
    if receiver:
        raise typer.Exit(judge_receiver(receiver, min(timeout, _MOST_ANSWER_S), as_json))
    if sender:
        raise typer.Exit(judge_sender(sender, runs, timeout, as_json))
    errors = Console(stderr=True, style="red", soft_wrap=True)
    with contextlib.ExitStack() as at_end:
        if unit == "fpga" and device == "0":
            try:
                card = SimulatedCard("--unit")
            except EngineError as error:
                errors.print(f"rashpa conformance: {error}", markup=False, highlight=False)
                raise typer.Exit(ExitCode.BAD_INPUT) from None
            at_end.callback(card.close)
            device = str(card.directory)
        raise typer.Exit(_compare(unit, device, kernel, _Form(output, as_json, verbose), errors))


@dataclass(frozen=True)
class _Form:
    """Describes the output: the file that also gets the results, JSON in place of the table, and a line for each vector."""

    output: Path | None
    as_json: bool
    verbose: bool


def _compare(unit: str, device: str, kernel: list[str] | None, form: _Form, errors: Console) -> int:
    if trouble := trouble_with(unit, device):
        errors.print(f"rashpa conformance: {trouble}", markup=False, highlight=False)
        return ExitCode.BAD_INPUT
    if unknown := [name for name in kernel or () if name not in kernel_declarations()]:
        errors.print(f"rashpa conformance: no kernel {unknown[0]}", markup=False, highlight=False)
        return ExitCode.BAD_INPUT
    verdicts = list(judge_all(unit, kernel, device))
    console = Console()
    said = available_units()[unit][1]
    chosen = f"{said}; device {device}" if unit == "opencl" else f"card {device}" if unit == "fpga" else said
    document = {
        "unit": unit,
        "device": chosen,
        "software": software_version(),
        "machine": machine_facts(),
        "vectors": [asdict(one) for one in verdicts],
    }
    if form.as_json:
        sys.stdout.write(json.dumps(document, default=str) + "\n")
    else:
        _show(console, unit, chosen, verdicts, form.verbose)
    if form.output is not None:
        try:
            write_named(form.output, (json.dumps(document, indent=1, default=str) + "\n").encode())
        except OSError as error:
            errors.print(
                f"rashpa conformance: {form.output}: {error.strerror}; choose another file",
                markup=False,
                highlight=False,
            )
            return ExitCode.BAD_INPUT
    return 0 if not any(one.bad for one in verdicts) else ExitCode.FAILED


def _show(console: Console, unit: str, device: str, verdicts: list[Verdict], verbose: bool) -> None:
    table = Fitted(title=f"unit {unit}: {device}", title_justify="left", box=None)
    for name in ("kernel", "vectors", "identical", "within", "different", "refused", "no version"):
        table.add_column(name, justify="left" if name == "kernel" else "right")
    for kernel in dict.fromkeys(one.kernel for one in verdicts):
        mine = [one for one in verdicts if one.kernel == kernel]
        counts = [sum(one.result == result for one in mine) for result in _STYLES]
        cells = [f"[{style}]{count}[/]" if count else "" for count, style in zip(counts, _STYLES.values(), strict=True)]
        table.add_row(kernel, f"{len(mine)}", *cells)
    print_table(console, table)
    for one in verdicts:
        if verbose or one.result in ("different", "refused"):
            apart = f", {one.ulp:.3g} of {one.allowed} ulp apart" if one.ulp else ""
            text = f"{one.kernel} {one.name}: {one.result}{apart}{': ' if one.text else ''}{one.text}"
            console.print(text, style=_STYLES[one.result], markup=False, highlight=False, soft_wrap=True)
