# SPDX-License-Identifier: Apache-2.0
"""Where the command `rashpa` begins: an interrupt ends it without a traceback, from here on. What is imported stays, so it is not looked through for
garbage, neither at the start nor when the interpreter ends."""

import contextlib
import gc
import os
import signal
from types import FrameType

from rashpa.data import telling

INTERRUPTED = 130


def _end(_number: int, _frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)


def _imported() -> None:
    gc.freeze()
    gc.enable()
    signal.signal(signal.SIGINT, signal.default_int_handler)


def main() -> None:
    """The console script."""
    # while a command is imported there is no node and no file yet to be put in order
    signal.signal(signal.SIGINT, _end)
    with contextlib.suppress(OSError, ValueError):  # `stty tostop` would stop who tells from behind
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    gc.disable()
    telling.tell()
    from rashpa.cli.main import app

    try:
        app(obj=_imported)
    finally:
        telling.drain()
        signal.signal(signal.SIGINT, _end)  # all is done; what the interpreter still puts away needs nobody


if __name__ == "__main__":
    main()
