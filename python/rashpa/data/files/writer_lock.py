# SPDX-License-Identifier: Apache-2.0
"""The sign of a process that it writes a file, as long as it lives: a write lock of its open file description, as in src/rashpa/core/system/writer_lock.hpp.

Only a process that may write the file can have one. A process that may only read it can neither pretend to write it, nor is it asked.
"""

import fcntl
import os
import struct

_FLOCK = "hhqqi4x"  # of Linux, where off_t has 64 bits: type, whence, start, length, process


def take_writer_lock(file: int) -> None:
    """Have the lock until the descriptor and its duplicates are closed. Raise OSError when another process has a lock, or none can be had."""
    fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))


def has_writer(file: int) -> bool:
    """Return whether another open file description has the lock; the question takes none. Where there are no locks the answer is False."""
    asked = struct.pack(_FLOCK, fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0)  # only a write lock is in the way of it
    try:
        answer = fcntl.fcntl(file, fcntl.F_OFD_GETLK, asked)
    except OSError:
        return False
    return int(struct.unpack(_FLOCK, answer)[0]) == fcntl.F_WRLCK
