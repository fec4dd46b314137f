# SPDX-License-Identifier: Apache-2.0
"""Marks a file as being written by a living process: the process holds a write lock of its open file description, as in
src/rashpa/core/system/writer_lock.hpp.

Only a process that may write the file can take the lock. A process that may only read it cannot pretend to be its writer.
"""

import fcntl
import os
import struct

_FLOCK = "hhqqi4x"  # of Linux, where off_t has 64 bits: type, whence, start, length, process


def take_writer_lock(file: int) -> None:
    """Take the lock until the descriptor and its duplicates are closed. Raise OSError when another process has it, or the file system has no locks."""
    fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))


def has_writer(file: int) -> bool:
    """Return True when another open file description has the lock; this call takes no lock. Return False where there are no locks."""
    asked = struct.pack(_FLOCK, fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0)  # only a write lock is in the way of it
    try:
        answer = fcntl.fcntl(file, fcntl.F_OFD_GETLK, asked)
    except OSError:
        return False
    return int(struct.unpack(_FLOCK, answer)[0]) == fcntl.F_WRLCK
