# SPDX-License-Identifier: Apache-2.0
"""Runs a command that reads a foreign file in a process of its own, under limits, and relays its output. A library may crash on such a file."""

import functools
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import typer
from rich.console import Console

from rashpa.cli.teller import Teller
from rashpa.data.base.exit_code import ExitCode
from rashpa.data.files.file_names import HDF5, absent
from rashpa.data.files.limited_process import Limits, start_limited, why_it_ended
from rashpa.data.files.regular_file import open_regular, reason

_SECONDS = 300


def in_limited_process(command: Callable[..., None]) -> Callable[..., None]:
    """Wrap a command so that it runs its module as a program in a limited process. The command's first parameter is the file, the others are options."""

    @functools.wraps(command)
    def limited(**values: Any) -> None:
        (_, file), *options = values.items()
        tell = Teller(command.__name__, values.get("as_json") is True)
        try:
            if not file.is_dir():  # which the command looks for files in
                open_regular(file).close()
        except FileNotFoundError:
            tell.refuse(f"{file}: {absent(file, (*HDF5, '.json'))}")
        except (OSError, ValueError) as error:
            tell.refuse(f"{file}: {reason(error) if isinstance(error, OSError) else error}")
        flags = _flags_of(command)
        arguments = [
            flags[name] if one is True else f"{flags[name]}={one}"
            for name, value in options
            for one in (value if isinstance(value, list) else [value])
            if one is not None and one is not False
        ]
        limits = Limits(seconds=_SECONDS)
        process = start_limited(
            command.__module__,
            [*arguments, "--", str(file)],
            limits,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            environment=_terminal(),
        )
        with process:
            try:
                out, err = process.communicate(timeout=2 * _SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                tell.refuse(
                    f"{file}: it could not be read within {2 * _SECONDS} s; check its storage, and whether the file is damaged"
                )
        said, complained = (text.decode(_encoding(), "replace") for text in (out, err))
        typer.echo(said, nl=False)
        if process.returncode in (ExitCode.GOOD, ExitCode.BAD_INPUT, ExitCode.NOT_WHOLE):
            typer.echo(complained, err=True, nl=False)
        else:
            tell.refuse(f"{file}: {why_it_ended(process.returncode, limits)}")
        raise typer.Exit(process.returncode)

    return limited


def _flags_of(command: Callable[..., None]) -> dict[str, str]:
    """Return the flag of each option, by the name of its parameter."""
    one = typer.Typer()
    one.command()(command)
    return {str(parameter.name): parameter.opts[0] for parameter in typer.main.get_command(one).params}


def _terminal() -> dict[str, str]:
    """Return environment variables that describe this terminal to a process without a terminal."""
    console = Console()
    colour = {"FORCE_COLOR": "1"} if console.is_terminal and "NO_COLOR" not in os.environ else {}
    return {"COLUMNS": str(console.width), "PYTHONIOENCODING": f"{_encoding()}:replace", **colour}


def _encoding() -> str:
    return sys.stdout.encoding or "utf-8"
