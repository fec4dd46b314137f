# SPDX-License-Identifier: Apache-2.0
"""Describes the process limits (`ulimit`) behind errors, with their values."""

import errno
import re
import resource
from typing import Final

_MEMORY: Final = (resource.RLIMIT_AS, "its address space is limited to {} MiB (ulimit -v)", 20)
_OF_ERRNO: Final = {
    errno.EFBIG: (resource.RLIMIT_FSIZE, "its files are limited to {} KiB (ulimit -f)", 10),
    errno.EAGAIN: (resource.RLIMIT_NPROC, "its user is limited to {} processes and threads (ulimit -u)", 0),
    errno.EMFILE: (resource.RLIMIT_NOFILE, "it is limited to {} open files (ulimit -n)", 0),
    errno.ENOMEM: _MEMORY,
}
LEAST_MIB: Final = 1024
"""The least address space that a command asks for, in MiB. With less, libraries end or hang in places where no error can be told: OpenBLAS calls
exit(), and `threading.Thread.start` waits for ever for a thread that had no memory for its first step."""
_OF_MEMORY: Final = re.compile(r"failed to map segment|annot allocate|malloc failure|emory allocation|MemoryError")


def limit_behind(error: BaseException) -> str:
    """Return the limit that caused an error, with its value; empty when none did. A SystemError comes from a library that ignored a failed
    allocation."""
    found = None
    if isinstance(error, MemoryError | SystemError) or _OF_MEMORY.search(str(error)):
        found = _MEMORY
    elif isinstance(error, RuntimeError) and "can't start new thread" in str(error):
        found = _MEMORY if limit_of_memory() else _OF_ERRNO[errno.EAGAIN]
    elif isinstance(error, OSError) and error.errno is not None:
        found = _OF_ERRNO.get(error.errno)
    if found is None:
        return ""
    return _named(*found)


def limit_of_memory() -> str:
    """Return the limit of the address space as text, for a process that died without an error text; empty when there is no limit."""
    return _named(*_MEMORY)


def too_little_memory() -> str:
    """Return the reason why this process cannot work, with its limit; empty when its address space suffices."""
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft == resource.RLIM_INFINITY or soft >= LEAST_MIB << 20:
        return ""
    return f"{limit_of_memory()}, and a command needs {LEAST_MIB} MiB; raise that limit"


def _named(limit: int, words: str, shift: int) -> str:
    soft, _ = resource.getrlimit(limit)
    return words.format(soft >> shift) if soft != resource.RLIM_INFINITY else ""


def with_limit(error: BaseException) -> str:
    """Return the error's text, with the limit that caused it."""
    said = (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__
    limit = limit_behind(error)
    return f"{said}; {limit}" if limit else said
