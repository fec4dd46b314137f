# SPDX-License-Identifier: Apache-2.0
"""How a process that makes files ends when it is told to: what is half made is taken away, or completed, whoever tells it."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


@contextmanager
def ended_in_order() -> Iterator[None]:
    """Within it, a process that is told to end (SIGTERM), or whose terminal goes (SIGHUP), ends as by Ctrl-C, where nobody has said how."""
    signals = (signal.SIGTERM, signal.SIGHUP) if threading.current_thread() is threading.main_thread() else ()
    taken = [number for number in signals if signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)
