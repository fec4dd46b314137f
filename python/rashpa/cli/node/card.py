# SPDX-License-Identifier: Apache-2.0
"""`rashpa card DIRECTORY`: runs a simulated card as this process."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from rashpa.control.nodes.native_program import native_program
from rashpa.data.base.exit_code import ExitCode

_MISSING = (
    "rashpa card: there is no program rashpa_card: it is built by `make build` in a clone of the repository, where Verilator is installed "
    "(Debian's package `verilator`); a wheel has none"
)


def card(
    directory: Annotated[
        Path, typer.Argument(help="Folder in which the card's nodes are made; any driver opens it.", show_default=False)
    ],
    memory: Annotated[
        str, typer.Option(metavar="BYTES", help="Card memory, a multiple of 4096; K, M and G are 2^10, 2^20 and 2^30.")
    ] = "1G",
    latency: Annotated[
        int, typer.Option(min=0, metavar="CYCLES", help="Cycles from an address to its first beat of memory.")
    ] = 40,
    reads: Annotated[int, typer.Option(min=1, help="Addresses that memory takes before it has answered.")] = 64,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the values that registers have before reset.")] = 1,
    network: Annotated[
        str,
        typer.Option(
            metavar="udp|unix:HERE,THERE",
            help="UDP sockets of this machine, or a UNIX datagram socket whose datagrams are frames.",
        ),
    ] = "udp",
    unit: Annotated[
        bool,
        typer.Option(
            "--unit", help="The processing unit of a receiver in place of the sender of a detector; it has no network."
        ),
    ] = False,
    with_parent: Annotated[
        bool, typer.Option("--with-parent", hidden=True, help="End when standard input is closed.")
    ] = False,
) -> None:
    """Start a simulated card: the sender of `rtl/`, or with --unit the processing unit, in a directory that looks like a card's device nodes.

    It prints one line when a driver can open the directory, and works until SIGTERM or an interrupt. Then it removes its files and prints the number
    of simulated cycles. The time that the simulation took says nothing about hardware.
    """
    program = native_program("rashpa_card")
    if program is None:
        sys.stderr.write(_MISSING + "\n")
        raise typer.Exit(ExitCode.BAD_INPUT)
    options: dict[str, object] = {"memory": memory, "latency": latency, "reads": reads, "seed": seed}
    if not unit or network != "udp":  # which a unit refuses
        options["network"] = network
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    words += ["--unit"] if unit else []
    words += ["--with-parent"] if with_parent else []
    sys.stdout.flush()
    os.execv(program, [str(program), str(directory), *words])  # noqa: S606
