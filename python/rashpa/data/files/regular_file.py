# SPDX-License-Identifier: Apache-2.0
"""Opens foreign files safely: never a file that could block for ever or has no end. Every foreign file is opened here.

`open_regular` opens a file that the user has named, through any links. `open_shared` and `read_below` open a file with a name of ours, in a folder
where others may write. `open_own` opens such a file that contains orders, and only if it belongs to this process's user. `put_file` writes a file
with a name of ours.
"""

import codecs
import contextlib
import errno
import io
import json
import os
import secrets
import stat
from pathlib import Path
from typing import Any


def open_regular(path: Path | str) -> io.BufferedReader:
    """Open the file for reading bytes. Raise OSError when it cannot be opened, or is no regular file: opening a pipe without a writer would block,
    and a device like /dev/zero has no end."""
    return _opened(path, 0)


def open_shared(path: Path | str) -> io.BufferedReader:
    """Open as `open_regular` does. Raise OSError also for a link, with which a user with write access to the folder could choose the file."""
    return _opened(path, os.O_NOFOLLOW)


def open_own(path: Path | str) -> io.BufferedReader:
    """Open a file that belongs to the user of this process. Raise OSError as `open_regular` does, and also for a link, or a file of another user."""
    file = open_shared(path)
    owner, own = os.fstat(file.fileno()).st_uid, os.geteuid()
    if owner == own:
        return file
    file.close()
    raise PermissionError(errno.EPERM, f"it belongs to user {owner}, and this process to user {own}", str(path))


def read_regular(path: Path | str, most: int) -> bytes:
    """Return all bytes of the file. Raise OSError as `open_regular` does, and for more than `most` bytes."""
    with open_regular(path) as file:
        return _bytes_of(file, path, most)


def read_shared(path: Path | str, most: int) -> bytes:
    """Return all bytes of the file. Raise OSError as `open_shared` does, and for more than `most` bytes."""
    with open_shared(path) as file:
        return _bytes_of(file, path, most)


def read_below(root: Path, path: Path, most: int) -> bytes:
    """Return all bytes of a file below the folder `root`. Raise OSError as `read_shared` does, and also when a folder on the path is a link."""
    *folders, name = path.relative_to(root).parts
    if ".." in folders or name == "..":
        raise FileNotFoundError(errno.ENOENT, f"it is not below {root}", str(path))
    at = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for folder in folders:
            below = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
            os.close(at)
            at = below
        with _opened(name, os.O_NOFOLLOW, at) as file:
            return _bytes_of(file, path, most)
    finally:
        os.close(at)


def json_of(data: bytes | str) -> Any:
    """Parse JSON from any source. Raise ValueError when it is invalid, or nested more deeply than Python can read."""
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("its parts lie too deep in one another") from None


def check_no_device(path: Path, *, through_links: bool = True) -> None:
    """Raise OSError when the path is a device: root would replace it by a file. `through_links`: also refuse a link to a device, which is needed for
    names that the user gives, such as /dev/stdout."""
    with contextlib.suppress(FileNotFoundError):
        mode = path.stat(follow_symlinks=through_links).st_mode
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            raise OSError(errno.ENODEV, "it is a device, which stays as it is", str(path))


def put_file(path: Path, data: bytes, mode: int = 0o666) -> None:
    """Write a file as a whole, in place of any file of that name; follow no link and wait for no pipe. `mode`: its mode before the umask. Raise
    OSError when that fails, or for a folder or device of that name; then no part of the file stays. A link of that name is replaced, because the name
    is ours."""
    check_no_device(path, through_links=False)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
        with os.fdopen(file, "wb") as stream:
            stream.write(data)
        sync_file(beside)
        beside.rename(path)
        sync_names(path.parent)
    except BaseException as error:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise


def sync_file(path: Path) -> None:
    """Write the file to the disk before it gets its final name; otherwise the name could belong to an empty file after a power failure. Raise
    OSError."""
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def sync_names(folder: Path) -> None:
    """Write the names in a folder to the disk, if the file system supports it."""
    with contextlib.suppress(OSError):
        file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(file)
        finally:
            os.close(file)


def write_named(path: Path, data: bytes) -> None:
    """Write a file that the user has named, as a whole or not at all; write directly into a device or a pipe. Raise OSError."""
    try:
        special = not stat.S_ISREG(path.stat().st_mode)
    except OSError:
        special = False  # nothing is there
    if special:
        path.write_bytes(data)
    else:
        put_file(real_path(path), data)


def be_there(path: Path) -> None:
    """Make an empty file if nothing has this name; an existing file is neither followed nor opened. Raise OSError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, flags, 0o666))


def read_own(path: Path | str, most: int) -> bytes:
    """Return all bytes of the file. Raise OSError as `open_own` does, and for more than `most` bytes."""
    with open_own(path) as file:
        return _bytes_of(file, path, most)


def _opened(path: Path | str, flags: int, at: int | None = None) -> io.BufferedReader:
    # Without O_NONBLOCK the open of a pipe waits for a writer; regular files do not know the flag.
    try:
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | flags, dir_fd=at)
    except OSError as error:
        if error.errno == errno.ELOOP and flags & os.O_NOFOLLOW:
            raise OSError(
                errno.ELOOP, "it is a link, which is not followed; put the file itself there", str(path)
            ) from None
        raise
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
    """Return the text of a file that a key names. Raise OSError as `read_regular` does. Raise ValueError with `otherwise` when it is no text, or with
    the line that is not in UTF-8. All texts begin with key and file."""
    try:
        data = read_regular(path, most)
    except OSError as error:
        raise OSError(f"{key}: {path}: {reason(error)}; give a file of text that can be read") from None
    if b"\0" in data and not data.startswith(_UTF16):
        raise ValueError(f"{key}: {path}: {otherwise}")
    try:
        return text_of(data)
    except ValueError as error:
        raise ValueError(f"{key}: {path}: {error}") from None


_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def text_of(data: bytes) -> str:
    """Decode UTF-8 text, with or without a byte order mark. Raise ValueError that names the first line in another encoding."""
    if data.startswith(_UTF16):
        raise ValueError("it is text in UTF-16; save it as UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"line {line}: the byte 0x{data[error.start]:02x} is no UTF-8, as in text in Latin-1; save it as UTF-8"
        ) from None


def lines_of(text: str) -> list[str]:
    """Return the lines of a text, split at line feeds and carriage returns only, unlike str.splitlines()."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def real_path(path: Path | str) -> Path:
    """Return the path with links resolved as far as possible. Links that lead to themselves stay as they are, unlike with Path.resolve()."""
    return Path(os.path.realpath(path))


def reason(error: OSError) -> str:
    """Return the reason of an OSError, without number and path."""
    return error.strerror or str(error)
