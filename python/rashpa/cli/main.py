# SPDX-License-Identifier: Apache-2.0
"""The command `rashpa` with all its subcommands. A subcommand's module is imported only when it is called, so that a node imports no plots and
`--help` imports no command."""

import difflib
import importlib
import importlib.util
import os
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typing_extensions import override

from rashpa.cli.commands import COMMANDS, GROUPS, members
from rashpa.cli.help_text import completed_by_group, epilog_of, listing, with_plain_help
from rashpa.cli.old_words import words_of_today
from rashpa.data.base.exit_code import ExitCode
from rashpa.data.base.telling import answer

_READERS = ("inspect", "check", "peaks")
_LONG = "rashpa.long"
_IN_GROUPS = "Each command stands in its group, too: rashpa file inspect is rashpa inspect."


class Commands(TyperGroup):
    """Groups the commands of the table. When a command has been found and imported, call the context's object if it is callable.

    The type is `Any` where typer has no public name for a type.
    """

    @override
    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    @override
    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands:
            if cmd_name in COMMANDS:
                made = with_plain_help(_command(cmd_name), epilog=epilog_of(cmd_name))
                self.commands[cmd_name] = completed_by_group(made, cmd_name)
            elif cmd_name in GROUPS:
                self.commands[cmd_name] = _group(cmd_name)
        return self.commands.get(cmd_name)

    @override
    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Format the help of every command from the table."""
        with_plain_help(self._listing(), epilog=_IN_GROUPS).format_help(ctx, formatter)

    def _listing(self) -> TyperGroup:
        """Return this group with commands that can be listed but not called."""
        listed = listing({name: name for name in COMMANDS}, compiled=_compiled(), panels=True)
        return TyperGroup(name=self.name, commands=listed, params=self.params, help=self.help)

    @override
    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Complete names from the table, without importing a command."""
        groups: dict[str, Any] = {
            name: TyperGroup(name=name, help=f"{text[:1].upper()}{text[1:]}.") for name, text in GROUPS.items()
        }
        every = TyperGroup(name=self.name, commands={**groups, **self._listing().commands}, params=self.params)
        return every.shell_complete(typer.Context(every, info_name=ctx.info_name), incomplete)

    @override
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Note whether `--long` is given: `--version` is processed before other options are parsed. Parsing them would import pydantic."""
        ctx.meta[_LONG] = "--long" in args
        return super().parse_args(ctx, [_at_home(word) for word in args])

    @override
    def invoke(self, ctx: Any) -> Any:
        """Call the command; put the error of a refused option value into our words."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            _in_our_words(error)
            raise

    @override
    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Find a command by its name, or in its group, and call the context's object to signal that imports have ended. Replace former names of
        options by current ones."""
        typed, name, rest = _found(args)
        if name not in COMMANDS and name not in GROUPS and not name.startswith("-"):
            ctx.fail(f"No such command {name!r}.{_guess(name)}")
        rest, renamed = words_of_today(name, rest)
        _, command, rest = super().resolve_command(ctx, [name, *rest])
        if name in GROUPS and isinstance(command, TyperGroup):
            inside = dict.fromkeys([*command.commands, *members(name)])
            if rest and not rest[0].startswith("-") and rest[0] not in inside:
                ctx.fail(f"No such command '{name} {rest[0]}'.{_close(rest[0], list(inside), f'{name} ')}")
        answer(only=COMMANDS[name].answers if name in COMMANDS else True)
        for text in renamed if not ctx.resilient_parsing else ():
            typer.echo(f"rashpa {typed}: {text}", err=True)
        if callable(ctx.obj):
            ctx.obj()
        return typed, command, rest


def _in_our_words(error: typer.BadParameter) -> None:
    """Replace the error message when pydantic refused an option's value."""
    if callable(getattr(error.__cause__, "errors", None)):
        from rashpa.data.base.value_words import faults_of

        error.message = "; ".join(faults_of(error.__cause__))


def _found(words: list[str]) -> tuple[str, str, list[str]]:
    """Return a command as typed, its name in the table, and the words after it."""
    name, *rest = words
    if name in GROUPS and rest and rest[0] in (inside := members(name)):
        return f"{name} {rest[0]}", inside[rest[0]], rest[1:]
    return name, name, rest


def _guess(word: str) -> str:
    """Return a sentence for an unknown command that suggests the intended one."""
    lowered = word.lower()
    if lowered.endswith(".toml"):
        meant = f"rashpa run {word}"
    elif lowered.endswith((".h5", ".hdf5", ".nxs", ".cxi")):
        meant = f"rashpa inspect {word}"
    elif lowered.startswith(("http://", "https://")):
        meant = f"rashpa status {word}"
    elif lowered in ("help", "version"):
        meant = f"rashpa --{lowered}"
    else:
        return _close(lowered, [*COMMANDS, *GROUPS])
    return f" Did you mean {meant}?"


def _close(typed: str, names: list[str], group: str = "") -> str:
    """Return a sentence that suggests the names most similar to `typed`."""
    meant = [f"rashpa {group}{name}" for name in difflib.get_close_matches(typed, names, n=2)]
    return f" Did you mean {' or '.join(meant)}?" if meant else " Type --help for a list."


def _compiled() -> bool:
    return importlib.util.find_spec("rashpa._native") is not None


def _group(name: str) -> Any:
    """Return a group that has no command of its own: called alone, it lists its commands."""
    text = GROUPS[name]
    listed = listing(members(name), compiled=_compiled(), panels=False)
    group = TyperGroup(name=name, commands=listed, help=f"{text[:1].upper()}{text[1:]}.", no_args_is_help=True)
    return with_plain_help(group)


def _at_home(word: str) -> str:
    """Replace `~` by the home folder where a shell does not: in quotes, and after `--option=`."""
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
    if name in _READERS:  # a stranger's file may end the library that reads it; repaired files are our own
        from rashpa.cli.files.limited import in_limited_process  # with Rich, which a node does without

        function = in_limited_process(function)
    one = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    one.command(name)(function)
    return one


def _without_native(name: str, error: ImportError) -> Any:
    def missing() -> None:
        typer.echo(f"rashpa {name} needs the compiled part of rashpa ({error}); build it with `make`", err=True)
        raise typer.Exit(ExitCode.BAD_INPUT)

    one = typer.Typer(add_completion=False)
    one.command(name, help="Not available: the compiled part of rashpa is missing.", hidden=True)(missing)
    return typer.main.get_command(one)


app = typer.Typer(
    name="rashpa",
    cls=Commands,
    no_args_is_help=True,
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
        raise typer.Exit(ExitCode.BAD_INPUT)


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
    long: Annotated[
        bool,
        typer.Option(
            "--long", callback=_refuse_long, help="Show also what this build has and leaves out, with --version."
        ),
    ] = False,
) -> None:
    """Read the options that stand before any command."""


if __name__ == "__main__":
    app()
