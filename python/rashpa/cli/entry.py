# SPDX-License-Identifier: Apache-2.0
"""The entry point of the command `rashpa`. From here on, an interrupt ends the process without a traceback. The garbage collector skips imported
modules, because they stay until the end."""

import contextlib
import gc
import os
import signal
import sys
from types import FrameType
from typing import NoReturn

from rashpa.data.base import limit_said, telling
from rashpa.data.base.exit_code import ExitCode
from rashpa.data.base.process_end import end_process


def _end(_number: int, _frame: FrameType | None) -> None:
    os._exit(ExitCode.INTERRUPTED)


def _imported() -> None:
    gc.freeze()
    gc.enable()
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _say(text: str) -> NoReturn:
    """Print one line in place of a traceback, for a cause outside of the program, and exit with the code of bad input."""
    sys.stderr.write(f"rashpa: {text}\n")
    sys.exit(ExitCode.BAD_INPUT)


def main() -> NoReturn:
    """Run the command `rashpa`, and end the process."""
    end = SystemExit()
    try:
        _carry_out()
    except SystemExit as said:
        end = said
    end_process(end)


def _carry_out() -> None:
    """Carry out the command; typer ends it by SystemExit."""
    # while a command is imported there is no node and no file yet to be put in order
    signal.signal(signal.SIGINT, _end)
    with contextlib.suppress(OSError, ValueError):  # `stty tostop` would stop a writer in the background
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    gc.disable()
    # each thread of OpenBLAS, one for each processor, would look for work for 30 ms after NumPy was imported; now it sleeps
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    if refusal := limit_said.too_little_memory():
        _say(refusal)
    telling.tell()
    try:
        os.getcwd()  # noqa: PTH109  pathlib is not imported yet
        from rashpa.cli.main import app

        app(obj=_imported)
    except FileNotFoundError as error:
        if error.filename is not None:
            raise
        _say("the folder that it was started in is gone: `cd` to one that is there")
    except (MemoryError, ImportError, OSError, RuntimeError, SystemError) as error:
        if not (limit := limit_said.limit_behind(error)):
            raise
        _say(f"{type(error).__name__}: {error}; {limit}; raise that limit")
    finally:
        telling.drain()
        signal.signal(signal.SIGINT, _end)  # all is done; no one needs the interpreter's clearing up


if __name__ == "__main__":
    main()
