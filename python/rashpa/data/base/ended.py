# SPDX-License-Identifier: Apache-2.0
"""The orderly end of a process that makes files: a signal from any sender lets it remove or complete a file that is half made."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


@contextmanager
def ended_in_order() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into the effect of Ctrl-C for the time of the context, where no other handler is set."""
    signals = (signal.SIGTERM, signal.SIGHUP) if threading.current_thread() is threading.main_thread() else ()
    taken = [number for number in signals if signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)
