# SPDX-License-Identifier: Apache-2.0
"""Formats the help of commands: it prints every character as written, because Typer would take `[tango]` for markup, and adds exit codes."""

import copy
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from rashpa.cli.commands import COMMANDS, GROUPS, members


def with_plain_help(command: Any, *, epilog: str = "") -> Any:
    """Make the help of a command and of its subcommands show brackets as written; return the command. `epilog` is printed after the help."""
    shown = type(command).format_help

    def format_help(ctx: Any, formatter: Any) -> None:
        shown(_escaped(command, epilog), ctx, formatter)

    command.format_help = format_help
    for inner in getattr(command, "commands", {}).values():
        with_plain_help(inner, epilog=epilog)
    return command


def _escaped(command: Any, epilog: str) -> Any:
    """Return a copy of a command whose texts are escaped for rich's markup."""
    from rich.markup import escape

    made = copy.copy(command)
    made.help = escape(command.help or "")
    made.epilog = escape(epilog) or None
    made.params = [copy.copy(one) for one in command.params if not getattr(one, "hidden", False)]
    for one in made.params:
        one.help = escape(getattr(one, "help", None) or "") or None
    if isinstance(command, TyperGroup):
        made.commands = {name: _escaped(one, "") for name, one in command.commands.items()}
    return made


def epilog_of(name: str) -> str:
    """Return the lines below the help of a command: its exit codes, and the commands of the group that has the command's name."""
    codes = "\n".join(["Exit codes:", *(f"  {int(code)}: {text}" for code, text in COMMANDS[name].exits.items())])
    more = (
        [f"Further commands: {', '.join(f'rashpa {name} {one}' for one in members(name))}."] if name in GROUPS else []
    )
    return "\n\n".join([codes, *more])


def listing(names: dict[str, str], *, compiled: bool, panels: bool) -> dict[str, Any]:
    """Return commands that can be listed but not called, by the names that the list shows. `names` maps a shown name to the name in the table."""
    return {
        shown: TyperCommand(
            shown,
            help=COMMANDS[name].text,
            hidden=COMMANDS[name].native and not compiled,
            rich_help_panel=f"{COMMANDS[name].group}: {GROUPS[COMMANDS[name].group]}" if panels else None,
        )
        for shown, name in names.items()
    }


def completed_by_group(command: Any, name: str) -> Any:
    """Make the shell completion of a command also offer the commands of the group of the same name; return the command."""
    if name in GROUPS and hasattr(command, "list_commands"):
        own = command.shell_complete

        def shell_complete(ctx: Any, incomplete: str) -> Any:
            others = TyperGroup(name=name, commands=listing(members(name), compiled=True, panels=False))
            return [*own(ctx, incomplete), *others.shell_complete(typer.Context(others, info_name=name), incomplete)]

        command.shell_complete = shell_complete
    return command
