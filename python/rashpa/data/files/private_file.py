# SPDX-License-Identifier: Apache-2.0
"""Files that nobody but their owner may read, put in place whole: who opens one has all of it.

A lock on one says that who has put it there lives; file systems without locks are taken as they are.
"""

import contextlib
import errno
import fcntl
import os
import tempfile
from pathlib import Path

NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)  # of file systems that have none
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS)


def put_private(path: Path, data: bytes, *, new: bool = False) -> int:
    """The descriptor of the file, which holds a lock on it: who closes it lets go. It takes the place of an earlier one; `new`: FileExistsError when
    there is one. OSError when it cannot be; nothing is left of it then."""
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
    except BaseException:
        os.close(file)
        beside.unlink(missing_ok=True)
        raise
    return file


def lock(file: int) -> None:
    """Until the descriptor and its duplicates are closed. BlockingIOError when another one holds it."""
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
