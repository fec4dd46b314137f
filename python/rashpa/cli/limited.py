# SPDX-License-Identifier: Apache-2.0
"""A command that reads a stranger's file with a library that may crash on it: it runs in a process of its own, under limits, and is relayed."""

import functools
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import typer
from rich.console import Console

from rashpa.data.limited_process import Limits, start_limited, why_it_ended
from rashpa.data.regular_file import open_regular, reason

_BAD_INPUT = 2
_SECONDS = 300


def in_limited_process(command: Callable[..., None]) -> Callable[..., None]:
    """The same command. Its module runs it when it is run as a program; the first parameter is the argument, the others are options."""

    @functools.wraps(command)
    def limited(**values: Any) -> None:
        (_, file), *options = values.items()
        try:
            if not file.is_dir():  # which the command looks for files in
                open_regular(file).close()
        except (OSError, ValueError) as error:
            _refuse(f"{file}: {reason(error) if isinstance(error, OSError) else error}")
        arguments = [_option(name, value) for name, value in options if value is not None and value is not False]
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
                _refuse(
                    f"{file}: it could not be read within {2 * _SECONDS} s; is its storage slow, or the file damaged?"
                )
        typer.echo(out, nl=False)
        if process.returncode in (0, _BAD_INPUT):
            typer.echo(err, err=True, nl=False)
        else:
            _refuse(f"{file}: {why_it_ended(process.returncode, limits)}; it is damaged: copy it again")
        raise typer.Exit(process.returncode)

    return limited


def _option(name: str, value: Any) -> str:
    key = "--" + name.replace("_", "-")
    return key if value is True else f"{key}={value}"


def _terminal() -> dict[str, str]:
    """What the process cannot see of the terminal, which is not its own."""
    console = Console()
    colour = {"FORCE_COLOR": "1"} if console.is_terminal and "NO_COLOR" not in os.environ else {}
    return {"COLUMNS": str(console.width), "PYTHONIOENCODING": sys.stdout.encoding or "utf-8", **colour}


def _refuse(message: str) -> NoReturn:
    Console(stderr=True, soft_wrap=True).print(f"rashpa inspect: {message}", style="red", markup=False, highlight=False)
    raise typer.Exit(_BAD_INPUT)
