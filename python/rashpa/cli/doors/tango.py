# SPDX-License-Identifier: Apache-2.0
"""`rashpa tango`: a Tango device server for runs of a run file."""

import socket
import sys
from pathlib import Path
from typing import Annotated

import typer

from rashpa.cli.completion import run_files
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.data.base.exit_code import ExitCode
from rashpa.data.base.extras import MissingExtraError


def tango(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="Run file of a device without a database; not with --instance.",
            show_default=False,
            autocompletion=run_files,
        ),
    ] = None,
    instance: Annotated[
        str,
        typer.Option(help="Instance of the server Rashpa in the database of TANGO_HOST; its devices have run_file."),
    ] = "",
    device: Annotated[str, typer.Option(help="Name of the device without a database.")] = "rashpa/run/1",
    host: Annotated[
        str, typer.Option(help="Address to listen on, without a database. Every client of it may start runs.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Without a database; 0: any free one.")] = 10000,
) -> None:
    """Serve a Tango device of class Rashpa, with commands and attributes as LimaCCDs has them, which carries out runs of a run file.

    With a run file it needs no database, and prints the device's address. With --instance it serves the devices that the database lists. Needs `pip install 'rashpa[tango]'`.
    """
    try:
        if (file is None) == (not instance):
            raise RunFileError("give a run file, or --instance NAME for devices of a database")
        from rashpa.beamline.tango import serve_alone, serve_instance

        if file is None:
            serve_instance(instance)
            return
        load_plan(file)
        number = port or _free_port(host)

        def ready() -> None:
            typer.echo(f"device: tango://{host}:{number}/{device}#dbase=no")
            sys.stdout.flush()

        serve_alone(file.absolute(), device, host, number, ready)
    except (MissingExtraError, RunFileError, OSError) as error:
        sys.stderr.write(f"rashpa tango: {error}\n")
        raise typer.Exit(ExitCode.BAD_INPUT) from None
    except Exception as error:
        # tango.DevFailed, which is not known where tango is not installed
        if type(error).__name__ != "DevFailed":
            raise
        sys.stderr.write(f"rashpa tango: {'; '.join(one.desc.strip() for one in error.args)}\n")
        raise typer.Exit(ExitCode.FAILED) from None


def _free_port(host: str) -> int:
    with socket.socket() as found:
        found.bind((host, 0))
        return int(found.getsockname()[1])
