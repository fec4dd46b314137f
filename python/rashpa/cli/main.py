# SPDX-License-Identifier: Apache-2.0
"""`rashpa`: the commands, put together. A command's module is imported when the command is called: a node needs no plots, and a list no command."""

import importlib
import importlib.util
import os
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typing_extensions import override

from rashpa.cli.commands import COMMANDS
from rashpa.data.base.telling import answer

_READERS = ("inspect", "check", "peaks")
_LONG = "rashpa.long"


class Commands(TyperGroup):
    """Groups the commands of the table. Call the context's object, where there is one, when a command has been found and imported.

    `Any` where typer has types without public names.
    """

    @override
    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    @override
    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands and cmd_name in COMMANDS:
            self.commands[cmd_name] = _command(cmd_name)
        return self.commands.get(cmd_name)

    @override
    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Format the help of every command from the table."""
        self._listing().format_help(ctx, formatter)

    def _listing(self) -> TyperGroup:
        """Return this group with commands that can be listed and not called."""
        compiled = importlib.util.find_spec("rashpa._native") is not None
        listed: dict[str, Any] = {
            name: TyperCommand(name, help=one.text, hidden=one.native and not compiled)
            for name, one in COMMANDS.items()
        }
        return TyperGroup(name=self.name, commands=listed, params=self.params, help=self.help)

    @override
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Note `--long`: `--version` is eager and shown before other options are read, which would import pydantic."""
        ctx.meta[_LONG] = "--long" in args
        return super().parse_args(ctx, [_at_home(word) for word in args])

    @override
    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Find a command as click does, and announce that nothing is imported any more."""
        found = super().resolve_command(ctx, args)
        answer(only=COMMANDS[found[0]].answers if found[0] in COMMANDS else True)
        if callable(ctx.obj):
            ctx.obj()
        return found


def _at_home(word: str) -> str:
    """Replace `~` where a shell leaves it: in quotes, and behind `--option=`."""
    option, equals, value = word.partition("=") if word.startswith("--") else ("", "", word)
    return f"{option}{equals}{os.path.expanduser(value)}" if value.startswith("~/") else word  # noqa: PTH111 (a word, kept as it is)


def _command(name: str) -> Any:
    try:
        part = importlib.import_module(f"rashpa.cli.{COMMANDS[name].module}")
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
    from rashpa.cli.files.limited import in_limited_process

    one = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    # a stranger's file may end the library that reads it; repaired files are our own
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


def _show_version(ctx: typer.Context, wanted: bool) -> None:
    if not wanted:
        return
    from rashpa.control.nodes.version import software_version

    typer.echo(f"rashpa {software_version()}")
    if ctx.meta[_LONG]:
        from rashpa.cli.version_lines import lines

        typer.echo("\n".join(lines()))
    raise typer.Exit


def _refuse_long(wanted: bool) -> None:
    if wanted:
        typer.echo("--long: it says more of --version alone; write rashpa --version --long", err=True)
        raise typer.Exit(2)


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
    long: Annotated[
        bool,
        typer.Option("--long", callback=_refuse_long, help="With --version: show what this build has and leaves out."),
    ] = False,
) -> None:
    """Take options before any command."""


if __name__ == "__main__":
    app()
