# SPDX-License-Identifier: Apache-2.0
"""`rashpa epics RUN FILE`: serves the runs of a run file as process variables of EPICS."""

import asyncio
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from rashpa.cli.completion import run_files
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.control.runfile.token import TokenError, token_of_environment
from rashpa.data.base.exit_code import ExitCode
from rashpa.data.base.extras import MissingExtraError
from rashpa.data.base.tai import leap_caution


def epics(
    file: Annotated[Path, typer.Argument(help="Run file of the runs.", show_default=False, autocompletion=run_files)],
    prefix: Annotated[str, typer.Option(help="Beginning of all names, such as RASHPA:.")] = "RASHPA:",
    buffer: Annotated[
        str, typer.Option(help="Buffer with the images to count and show; the first of the run file when not given.")
    ] = "",
    host: Annotated[
        str,
        typer.Option(
            help="Address to listen on, where EPICS_PVAS_INTF_ADDR_LIST does not say it. Every client of it may start runs."
        ),
    ] = "127.0.0.1",
    preview_rate: Annotated[float, typer.Option(min=0.01, max=100.0, help="Most previews a second.")] = 10.0,
    step: Annotated[
        int,
        typer.Option(
            min=1, max=64, help="Pixels a side of the square for which a preview has one number, the largest."
        ),
    ] = 1,
) -> None:
    """Serve variables (PVAccess) with areaDetector's names: orders to acquire, counters, and previews as NTNDArray, which nodes make only while a client has them open.

    Environment variables EPICS_PVAS_… choose ports and addresses. Needs `pip install 'rashpa[epics]'`.
    """
    try:
        from rashpa.beamline.epics import Previews, Variables, served

        if caution := leap_caution():
            sys.stderr.write(f"rashpa epics: {caution}\n")
        variables = Variables(file, prefix, buffer, Previews(preview_rate, step), token_of_environment())

        async def serve() -> None:
            ended = asyncio.Event()
            for number in (signal.SIGINT, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(number, ended.set)
            async with served(variables, host) as conf:
                typer.echo(f"variables: {prefix} at {host}, TCP port {conf['EPICS_PVAS_SERVER_PORT']}")
                sys.stdout.flush()
                await ended.wait()

        asyncio.run(serve())
    except (MissingExtraError, RunFileError, TokenError, OSError) as error:
        sys.stderr.write(f"rashpa epics: {error}\n")
        raise typer.Exit(ExitCode.BAD_INPUT) from None
