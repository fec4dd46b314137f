# SPDX-License-Identifier: Apache-2.0
"""`rashpa bench`: runs a C++ benchmark of the package and shows its rows beside their reference figures.

A benchmark is a program rashpa_<name>_bench that prints its rows as JSON, {"rows": [...]} or one object a line, and everything else on
standard error.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rashpa.cli.completion import kernels, links
from rashpa.cli.fitted import Fitted, print_table
from rashpa.control.nodes.machine import measured
from rashpa.control.nodes.native_program import native_program
from rashpa.data.base.exit_code import ExitCode
from rashpa.data.files.regular_file import write_named

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Benchmarks: each row is measured beside its peer or floor, in the same run.",
)

_PASS_ON = {"allow_extra_args": True, "ignore_unknown_options": True}
_ROW = ("what", "value", "unit", "against", "against_value", "ratio")
# Measured quantities by name of a benchmark.
_BENCHMARKS = {
    "link": "a link's bytes per second, loss-free: roce against ZeroMQ (lines, images), UDP sockets (plain, GSO and GRO) and copies, pcie against copies",
    "kernel": "a kernel's bytes per second on one core, against memcpy of the same bytes",
    "gpu": "floors of the GPU (copies, launches, waits), then the kernels against them",
    "cuda_unit": "the unit on a GPU: every trigger's latency, and 4M images at full rate against the bus",
    "opencl_unit": "the unit on an OpenCL device against two threads of unit cpu, and how long its kernels take to compile",
    "chain": "a whole acquisition in two processes over pcie, on any unit: books, rates, latencies",
    "feedback": "from the last byte of an image until a subscriber has what was decided of it: ring, spinning and asleep, and ZeroMQ",
    "group": "images dealt to 1, 2 and 4 receivers whose links limit; how many while one is killed, and how long the dead one is given any",
    "rtl": "the simulated sender of rtl/, in cycles: beats and cycles a packet, gaps in frames, share of a wire of 100 Gb/s",
}
_WITHOUT_PROGRAM = ("group",)
_NEEDS = {"rtl": "Verilator when it is built (packages-test.txt)"}

_LINKS = ("roce", "pcie")

Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="Also write name, machine and rows to this JSON file.")
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on standard output, in place of the table.")]


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the benchmarks, and whether they are built here."""
    if as_json:
        known = [
            {"name": name, "measures": text, "program": str(_program(name) or "") or None}
            for name, text in _BENCHMARKS.items()
        ]
        sys.stdout.write(json.dumps({"benchmarks": known}) + "\n")
        return
    table = Table(box=None, pad_edge=False, show_lines=False)
    table.add_column("name", no_wrap=True)
    table.add_column("measures", overflow="fold")
    for name, measures in _BENCHMARKS.items():
        program = "whole runs" if name in _WITHOUT_PROGRAM else _program(name)
        table.add_row(name, measures)
        table.add_row("", Text(str(program or "not built: make with RASHPA_BENCHMARKS=ON"), "dim", overflow="fold"))
    Console().print(table)


@app.command(context_settings=_PASS_ON)
def link(
    context: typer.Context,
    link_: Annotated[str, typer.Option("--link", help="The link to measure.", autocompletion=links)] = "roce",
    line_bytes: Annotated[
        int, typer.Option("--line-bytes", min=4, help="Bytes of one line, the unit that is sent.")
    ] = 4096,
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """Measure a link between two cores. roce: ICRC and CRC32C on. pcie: runs of 1 MiB with the receiver's CRC32C check off, sampled and on. Then the latency of single events is measured. Further options go to the program: --seconds, --repeats, --pmtu, --window, --packetisation, --transport,
    --events."""
    if link_ not in _LINKS:
        raise _refusal(f"there is no benchmark of link {link_}; there is {', '.join(_LINKS)}")
    _run(
        "link",
        f"link {link_}",
        ["--link", link_, "--json", "--line-bytes", str(line_bytes), *context.args],
        output,
        as_json,
    )


@app.command(context_settings=_PASS_ON)
def kernel(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The kernel, for example jungfrau.", autocompletion=kernels)],
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """Measure one kernel on one core. Further options go to the program: --stack, --modules, --repeats, --switched."""
    _run("kernel", f"kernel {name}", ["--kernel", name, *context.args], output, as_json)


@app.command()
def gpu(
    images: Annotated[int, typer.Option(min=1000, help="Images of 4M at full rate.")] = 100_000,
    triggers: Annotated[int, typer.Option(min=1000, help="Triggers of each kind.")] = 100_000,
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """Measure the GPU: floors and kernels, then the unit against the bus, then a whole acquisition, all in one run. It needs a CUDA device."""
    chain = ["--unit", "cuda", "--frames", str(images), "--verify", "off", "--slots", "240", "--poll", "spin", "--json"]
    parts = {
        "gpu": ["--json"],
        "cuda_unit": ["--json", "--images", str(images), "--triggers", str(triggers)],
        "chain": [*chain, "--link-threads", "4"],
    }
    rows: list[dict[str, Any]] = []
    for part, arguments in parts.items():
        found, status = _rows(part, arguments, output)
        if status:
            raise _refusal(f"rashpa_{part}_bench ended with status {status}; read its output above", ExitCode.FAILED)
        rows += found
    _show_and_store("gpu", rows, output, as_json)


@app.command(context_settings=_PASS_ON)
def opencl(context: typer.Context, output: Output = None, as_json: AsJson = False) -> None:
    """Measure the unit on an OpenCL device against unit cpu. Further options go to the program: --device, --images, --modules, --stack, --rounds."""
    _run("opencl_unit", "opencl", ["--json", *context.args], output, as_json)


@app.command(context_settings=_PASS_ON)
def chain(context: typer.Context, output: Output = None, as_json: AsJson = False) -> None:
    """Measure a whole acquisition in two processes over pcie. Further options go to the program: --unit, --trigger, --modules, --frames, --rate,
    --stack, --slots, --link-threads, --threads, --poll, --verify."""
    _run("chain", "chain", ["--json", *context.args], output, as_json)


@app.command(context_settings=_PASS_ON)
def feedback(context: typer.Context, output: Output = None, as_json: AsJson = False) -> None:
    """Measure the time from the last byte of an image until another process has the decision on it, as medians of rounds. Further options go to the program:
    --rates 100,500,1000 (images/s of one JUNGFRAU module), --seconds, --stack, --repeats, --poll."""
    _run("feedback", "feedback", ["--json", *context.args], output, as_json)


@app.command()
def group(
    image_ms: Annotated[
        float, typer.Option(min=0.5, max=1000.0, help="Time of an image on the link of a receiver.")
    ] = 10.0,
    seconds: Annotated[float, typer.Option(min=4.0, max=600.0, help="Duration of each run, about, in seconds.")] = 8.0,
    rounds: Annotated[
        int, typer.Option(min=1, max=100, help="Number of measurements of which the medians are taken.")
    ] = 3,
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """Measure images dealt among receivers. Each receiver is behind a link that passes an image in --image-ms, so that links limit, and not processors. The
    cases are 1, 2 and 4 receivers,
    then 4 of which one is killed in the middle of the run. All run on this machine; take a slower link where it is busy."""
    from rashpa.cli.bench.bench_group import BenchError, measure

    if output is not None:
        output = output.resolve()
    try:
        rows = measure(image_ms, seconds, rounds)
    except BenchError as error:
        raise _refusal(str(error), ExitCode.FAILED) from None
    command = f"rashpa bench group --image-ms {image_ms:g} --seconds {seconds:g} --rounds {rounds}"
    _show_and_store(command.removeprefix("rashpa bench "), rows, output, as_json)


@app.command(context_settings=_PASS_ON)
def rtl(context: typer.Context, output: Output = None, as_json: AsJson = False) -> None:
    """Measure the sender in hardware in a simulation: 512 lines an image of 64 to 4096 bytes, 1 and 16 DTPs, memory that answers late and pauses at random.
    Without --line-bytes, the processing unit in hardware follows, with stacks of 1 and 10 images of 0.5M and 1M pixels. All figures are cycles of a
    simulation. Further options go to the program: --latency CYCLES (100), --stall PERCENT (10), --seed,
    --line-bytes."""
    _run("rtl", "rtl", ["--json", *context.args], output, as_json)


def _run(program: str, title: str, arguments: list[str], output: Path | None, as_json: bool) -> None:
    rows, status = _rows(program, arguments, output)
    _show_and_store(title, rows, output, as_json)
    if status:
        raise _refusal(
            f"rashpa_{program}_bench ended with status {status}: the rows hold, but one of its own checks failed; read its output above",
            ExitCode.FAILED,
        )


def _rows(program: str, arguments: list[str], output: Path | None = None) -> tuple[list[dict[str, Any]], int]:
    """Run the program and return its rows and its exit status."""
    path = _program(program)
    if path is None:
        needs = f"; it needs {_NEEDS[program]}" if program in _NEEDS else ""
        raise _refusal(
            f"rashpa_{program}_bench is not here: a wheel has no benchmarks; `make build` in a clone of the repository builds it{needs}"
        )
    if output is not None and not output.resolve().parent.is_dir():
        raise _refusal(f"{output}: there is no folder {output.resolve().parent}; make it, or choose another file")
    done = subprocess.run([str(path), *arguments], stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603
    rows = [_checked(row, path.name) for row in parse_rows(done.stdout)]
    if not rows:
        raise _refusal(
            f"{path.name} {' '.join(arguments)} gave no rows and ended with status {done.returncode}; read its output above"
        )
    return rows, done.returncode


def _show_and_store(title: str, rows: list[dict[str, Any]], output: Path | None, as_json: bool) -> None:
    result = measured(title, rows)
    if as_json:
        sys.stdout.write(json.dumps(result) + "\n")
    else:
        _show(title, result["machine"], rows)
    if output is not None:
        write_named(output, (json.dumps(result, indent=2) + "\n").encode())


def _program(name: str) -> Path | None:
    return native_program(f"rashpa_{name}_bench")


def parse_rows(text: str) -> list[dict[str, Any]]:
    """Return the rows of a program's output, an empty list when the output holds none."""
    try:
        whole = json.loads(text)
    except json.JSONDecodeError:
        try:
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        except json.JSONDecodeError:
            return []
    if not isinstance(whole, dict):
        return []
    rows: list[dict[str, Any]] = whole.get("rows", [whole])
    return rows


def _checked(row: dict[str, Any], program: str) -> dict[str, Any]:
    """Return the row with every column of `_ROW`, None for missing ones. Compute the ratio when the row has none. Refuse a row without name, value or
    unit."""
    if not {"what", "value", "unit"} <= row.keys():
        raise _refusal(f"{program}: a row lacks what, value or unit: {row}")
    if row.get("against") == "none":
        row = {**row, "against": None, "against_value": None, "ratio": None}
    against = row.get("against_value")
    ratio = row.get("ratio") or (row["value"] / against if against else None)
    return (
        {name: row.get(name) for name in _ROW}
        | {name: row[name] for name in row if name not in _ROW}
        | {"ratio": ratio}
    )


def _show(title: str, machine: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    console = Console()
    table = Fitted(title=f"rashpa bench {title}")
    for column in ("what", "value", "unit", "against", "value", "ratio"):
        table.add_column(column, justify="right" if column in {"value", "ratio"} else "left")
    for row in rows:
        table.add_row(*(_cell(row[name]) for name in ("what", "value", "unit", "against", "against_value", "ratio")))
    print_table(console, table)
    console.print(
        f"{machine.get('cpu', '?')}, {machine['cores']} cores, {machine['os']}, {machine.get('compiler', '?')}"
    )


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return (
        f"{value:.3g}"
        if isinstance(value, float) and value < 1000
        else f"{value:,.0f}"
        if isinstance(value, float)
        else str(value)
    )


def _refusal(message: str, status: int = ExitCode.BAD_INPUT) -> typer.Exit:
    Console(stderr=True).print(f"rashpa bench: {message}", style="red", markup=False, highlight=False, soft_wrap=True)
    return typer.Exit(status)
