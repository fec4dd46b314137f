# SPDX-License-Identifier: Apache-2.0
"""`rashpa`: the commands, put together."""

import importlib
from typing import Annotated

import typer

from rashpa.cli.free import free
from rashpa.cli.limited import in_limited_process
from rashpa.cli.node import emulator, receiver
from rashpa.cli.node_orders import app as node_orders
from rashpa.cli.plan import plan
from rashpa.cli.run import run
from rashpa.control.version import software_version

app = typer.Typer(
    name="rashpa",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="An open RDMA-based acquisition system for 2D X-ray detectors. Begin with: rashpa run examples/01_first_light.toml --report out/demo",
)

# The native module that these need is not there where only the manager runs.
_GROUPS = ("dataset", "calibrate", "packet", "bench")
_READERS = ("inspect", "peaks")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rashpa {software_version()}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Options before any command."""


def _without_native(name: str, error: ImportError) -> None:
    reason = str(error)

    @app.command(name, help="Not available: the compiled part of rashpa is missing.", hidden=True)
    def missing() -> None:
        typer.echo(f"rashpa {name} needs the compiled part of rashpa ({reason}); build it with `make`", err=True)
        raise typer.Exit(2)


def _mount() -> None:
    app.command()(run)
    app.command()(plan)
    app.command()(emulator)
    app.command()(receiver)
    app.command()(free)
    app.add_typer(node_orders, name="node")
    for name in (*_GROUPS, "conformance", "inspect", "peaks", "process", "repair"):
        try:
            part = importlib.import_module(f"rashpa.cli.{name}")
        except ImportError as error:
            if "rashpa._native" not in str(error) and "_native" not in str(error):
                raise
            _without_native(name, error)
            continue
        if name in _GROUPS:
            app.add_typer(part.app, name=name)
        else:
            command = getattr(part, name)
            # a stranger's file may end the library that reads it; what is repaired is our own
            app.command(name)(in_limited_process(command) if name in _READERS else command)


_mount()


if __name__ == "__main__":
    app()
