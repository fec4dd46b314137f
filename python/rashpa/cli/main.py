# SPDX-License-Identifier: Apache-2.0
"""`rashpa`: the commands, put together. A command's module is imported when the command is called: a node needs no plots."""

import importlib
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typing_extensions import override

from rashpa.control.version import software_version

# Each command and its module, in the order of `rashpa --help`. A module holds a function of the command's name, or an `app`.
_MODULES = {
    "demo": "demo",
    "run": "run",
    "attach": "attach",
    "stop": "stop",
    "pause": "steer",
    "resume": "steer",
    "abort": "steer",
    "join": "join",
    "plan": "plan",
    "emulator": "node",
    "receiver": "node",
    "status": "status",
    "top": "top",
    "dashboard": "dashboard",
    "tango": "tango",
    "epics": "epics",
    "free": "free",
    "trigger": "trigger",
    "conformance": "conformance",
    "inspect": "inspect",
    "combine": "combine",
    "peaks": "peaks",
    "feedback": "feedback",
    "receive-stream": "receive_stream",
    "process": "process",
    "repair": "repair",
    "convert": "convert",
    "node": "node_orders",
    "dataset": "dataset",
    "calibrate": "calibrate",
    "packet": "packet",
    "card": "card",
    "bench": "bench",
}
_READERS = ("inspect", "peaks")


class Commands(TyperGroup):
    """The commands of `_MODULES`. The context's object, where there is one, is called when a command has been found and imported.

    `Any` where typer has types without public names.
    """

    @override
    def list_commands(self, ctx: Any) -> list[str]:
        return list(_MODULES)

    @override
    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands and cmd_name in _MODULES:
            self.commands[cmd_name] = _command(cmd_name)
        return self.commands.get(cmd_name)

    @override
    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """What click does, and a word to whom it concerns that nothing is imported any more."""
        found = super().resolve_command(ctx, args)
        if callable(ctx.obj):
            ctx.obj()
        return found


def _command(name: str) -> Any:
    try:
        part = importlib.import_module(f"rashpa.cli.{_MODULES[name]}")
    except ImportError as error:
        # the native module is not there where only the manager runs
        if "_native" not in str(error):
            raise
        return _without_native(name, error)
    function = getattr(part, name.replace("-", "_"), None)
    made = typer.main.get_command(_only(name, function) if callable(function) else part.app)
    made.name = name
    return made


def _only(name: str, function: Any) -> typer.Typer:
    from rashpa.cli.limited import in_limited_process

    one = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    # a stranger's file may end the library that reads it; what is repaired is our own
    one.command(name)(in_limited_process(function) if name in _READERS else function)
    return one


def _without_native(name: str, error: ImportError) -> Any:
    def missing() -> None:
        typer.echo(f"rashpa {name} needs the compiled part of rashpa ({error}); build it with `make`", err=True)
        raise typer.Exit(2)

    one = typer.Typer(add_completion=False)
    one.command(name, help="Not available: the compiled part of rashpa is missing.", hidden=True)(missing)
    return typer.main.get_command(one)


app = typer.Typer(
    name="rashpa",
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="An open RDMA-based acquisition system for 2D X-ray detectors. Begin with: rashpa demo",
)


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


if __name__ == "__main__":
    app()
