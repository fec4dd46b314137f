# SPDX-License-Identifier: Apache-2.0
"""Opening files that may come from anywhere: nothing that could wait for ever, or never ends, is read. Every file of others is opened here.

`open_regular`: a file that the user has named, wherever its links lead. `open_shared`, `read_below`: one at a name of ours, in a folder into which others
may write. `open_own`: such a one that gives orders, and counts when it is of the process's own user. `put_file` writes at a name of ours.
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
    """The file for reading bytes. OSError when it cannot be opened, or is no file: a pipe that nobody writes would never open, and a device
    like /dev/zero never end."""
    return _opened(path, 0)


def open_shared(path: Path | str) -> io.BufferedReader:
    """As `open_regular`; OSError when it is a link, too: whoever may write into its folder would choose what is read."""
    return _opened(path, os.O_NOFOLLOW)


def open_own(path: Path | str) -> io.BufferedReader:
    """A file that belongs to the user of this process. OSError as for `open_regular`, and when it is a link, or belongs to somebody else."""
    file = open_shared(path)
    owner, own = os.fstat(file.fileno()).st_uid, os.geteuid()
    if owner == own:
        return file
    file.close()
    raise PermissionError(errno.EPERM, f"it belongs to user {owner}, and this process to user {own}", str(path))


def read_regular(path: Path | str, most: int) -> bytes:
    """All bytes of the file. OSError as for `open_regular`, and when they are more than `most`."""
    with open_regular(path) as file:
        return _bytes_of(file, path, most)


def read_shared(path: Path | str, most: int) -> bytes:
    """All bytes of the file. OSError as for `open_shared`, and when they are more than `most`."""
    with open_shared(path) as file:
        return _bytes_of(file, path, most)


def read_below(root: Path, path: Path, most: int) -> bytes:
    """All bytes of a file below the folder `root`. OSError as for `read_shared`, also when a folder on the way is a link."""
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
    """The document, of whatever a stranger has written. ValueError when it is none, or deeper than Python can read."""
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("its parts lie too deep in one another") from None


def check_no_device(path: Path) -> None:
    """OSError when a device has the name, or a link to one, as /dev/stdout is: root would put a file in its place."""
    with contextlib.suppress(FileNotFoundError):
        mode = path.stat().st_mode
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            raise OSError(errno.ENODEV, "it is a device, which stays as it is", str(path))


def put_file(path: Path, data: bytes, mode: int = 0o666) -> None:
    """Puts a file in place whole, instead of what has the name; no link is followed, no pipe waited for. `mode`: less the umask. OSError when it cannot be,
    also when the name is that of a folder, of a device, or of a link to a device; nothing is left of it then."""
    check_no_device(path)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
        with os.fdopen(file, "wb") as stream:
            stream.write(data)
        beside.rename(path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise


def write_named(path: Path, data: bytes) -> None:
    """Writes a file that the user has named, whole or not at all; into a device or a pipe, as it goes. OSError."""
    try:
        special = not stat.S_ISREG(path.stat().st_mode)
    except OSError:
        special = False  # nothing is there
    if special:
        path.write_bytes(data)
    else:
        put_file(real_path(path), data)


def be_there(path: Path) -> None:
    """Makes an empty file, if nothing has its name; what has it is neither followed nor opened. OSError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, flags, 0o666))


def read_own(path: Path | str, most: int) -> bytes:
    """All bytes of the file. OSError as for `open_own`, and when they are more than `most`."""
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
    """The text of a file that a key names. OSError as for `read_regular`; ValueError with `otherwise` when it is no text, or with the line that is not
    in UTF-8; all begin with key and file."""
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
    """UTF-8 text, with or without the mark that some editors put before it. ValueError says which line is in another encoding."""
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
    """The lines of a file, as its writer ended them; unlike str.splitlines() it takes no other character for an end."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def real_path(path: Path | str) -> Path:
    """Where a path leads, links followed as far as they lead anywhere; unlike Path.resolve() it takes links that lead to themselves as they are."""
    return Path(os.path.realpath(path))


def reason(error: OSError) -> str:
    """What went wrong, without the number and the path that str() of an OSError has."""
    return error.strerror or str(error)
