# SPDX-License-Identifier: Apache-2.0
"""Ends a process without freeing its objects. A command that has drawn a page has a million of them, and needs 0.2 s to free them."""

import atexit
import os
import sys
import threading
from typing import NoReturn


def end_process(end: SystemExit) -> NoReturn:
    """End this process as an interpreter does, except for its last step: wait for threads, call the functions of `atexit`, flush the standard
    streams, and leave the memory to the kernel. Raise `end` where the interpreter has more to do: a message to print, a stream that cannot be
    flushed, a profiler or a debugger at work."""
    if not (end.code is None or isinstance(end.code, int)) or _is_examined():
        raise end
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            raise end from None  # the interpreter tries it again, and says what is wrong
    os._exit((end.code or 0) & 0xFF)


def _is_examined() -> bool:
    """Return True when a profiler, a debugger or a developer looks at the end of the process. Developers get the interpreter's warnings."""
    return bool(sys.getprofile() or sys.gettrace() or sys.flags.inspect or sys.flags.dev_mode)
