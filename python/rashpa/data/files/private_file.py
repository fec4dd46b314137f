# SPDX-License-Identifier: Apache-2.0
"""Writes files that only their owner may read, each as a whole, so that a reader never sees a part.

A lock on the file shows that its writer is alive; on file systems without locks there is none.
"""

import contextlib
import errno
import fcntl
import os
import tempfile
from pathlib import Path

from rashpa.data.files.regular_file import sync_names

NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)  # of file systems that have none
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS)


def put_private(path: Path, data: bytes, *, new: bool = False) -> int:
    """Write a file in place of an earlier one, and return its descriptor, which holds a lock until it is closed. `new`: raise FileExistsError when
    there is an earlier one. Raise OSError when writing fails; then no part of the file stays."""
    file, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # 0600, and nobody's before
    beside = Path(name)
    try:
        with contextlib.suppress(BlockingIOError):  # it is ours: just made
            lock(file)
        with os.fdopen(os.dup(file), "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(file)
        if new:
            _name_new(beside, path)
        else:
            beside.rename(path)
        sync_names(path.parent)
    except BaseException:
        os.close(file)
        beside.unlink(missing_ok=True)
        raise
    return file


def lock(file: int) -> None:
    """Lock the file until the descriptor and its duplicates are closed. Raise BlockingIOError when another process has the lock."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise


def _name_new(beside: Path, path: Path) -> None:
    try:
        os.link(beside, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        path.touch(0o600, exist_ok=False)
        beside.rename(path)
    else:
        beside.unlink()
