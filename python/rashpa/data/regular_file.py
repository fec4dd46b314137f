# SPDX-License-Identifier: Apache-2.0
"""Opening files that may come from anywhere: nothing that could wait for ever, or never ends, is read."""

import errno
import io
import os
import stat
from pathlib import Path


def open_regular(path: Path | str) -> io.BufferedReader:
    """The file for reading bytes. OSError when it cannot be opened, or is no file: a pipe that nobody writes would never open, and a device
    like /dev/zero never end."""
    return _opened(path, 0)


def open_own(path: Path | str) -> io.BufferedReader:
    """A file that belongs to the user of this process. OSError as for `open_regular`, and when it is a link, or belongs to somebody else."""
    file = _opened(path, os.O_NOFOLLOW)
    owner, own = os.fstat(file.fileno()).st_uid, os.geteuid()
    if owner == own:
        return file
    file.close()
    raise PermissionError(errno.EPERM, f"it belongs to user {owner}, and this process to user {own}", str(path))


def read_regular(path: Path | str, most: int) -> bytes:
    """All bytes of the file. OSError as for `open_regular`, and when they are more than `most`."""
    with open_regular(path) as file:
        return _bytes_of(file, path, most)


def read_own(path: Path | str, most: int) -> bytes:
    """All bytes of the file. OSError as for `open_own`, and when they are more than `most`."""
    with open_own(path) as file:
        return _bytes_of(file, path, most)


def _opened(path: Path | str, flags: int) -> io.BufferedReader:
    # Without O_NONBLOCK the open of a pipe waits for a writer; regular files do not know the flag.
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | flags)
    try:
        mode = os.fstat(number).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, "it is a folder, not a file", str(path))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        return os.fdopen(number, "rb")
    except BaseException:
        os.close(number)
        raise


def _bytes_of(file: io.BufferedReader, path: Path | str, most: int) -> bytes:
    size = os.fstat(file.fileno()).st_size
    data = file.read(most + 1) if size <= most else b""
    if len(data) > most or size > most:
        size = max(size, os.fstat(file.fileno()).st_size)
        raise OSError(errno.EFBIG, f"it has {size} bytes; {most} are the most that such a file may have", str(path))
    return data


def read_named_text(key: str, path: str, most: int, otherwise: str) -> str:
    """The text of a file that a key names. OSError as for `read_regular`, ValueError with `otherwise` when it is no text; both begin with key and file."""
    try:
        return read_regular(path, most).decode("utf-8")
    except OSError as error:
        raise OSError(f"{key}: {path}: {reason(error)}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{key}: {path}: {otherwise}") from None


def reason(error: OSError) -> str:
    """What went wrong, without the number and the path that str() of an OSError has."""
    return error.strerror or str(error)
