# SPDX-License-Identifier: Apache-2.0
"""Walks all commands of `rashpa` as their parsers declare them."""

from collections.abc import Iterator
from typing import Any

import typer

from rashpa.cli.commands import COMMANDS
from rashpa.cli.main import app


def root() -> Any:
    """Return the group of all commands."""
    return typer.main.get_command(app)


def commands() -> Iterator[tuple[str, Any]]:
    """Yield each command that can be called, as it is typed, and its parser."""
    group = root()
    context = typer.Context(group, info_name="rashpa")
    for name in COMMANDS:
        yield from _inside(name, group.get_command(context, name))


def _inside(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    if not hasattr(command, "list_commands"):
        yield name, command
        return
    context = typer.Context(command, info_name=name)
    for inner in command.list_commands(context):
        yield from _inside(f"{name} {inner}", command.get_command(context, inner))
