# SPDX-License-Identifier: Apache-2.0
"""Runs a command in separate namespaces: `python -P -m rashpa.testing.prepared.within [--alone] [--shared-memory FOLDER] [--commands NAME] -- WORD…`.

`--alone`: use a separate network and separate process numbers; all processes that it has started end with it. `--shared-memory`: FOLDER is its
/dev/shm. `--commands`: fork the rashpa commands that its programs start by handed_over.py. In a prepared process, this process becomes the command;
elsewhere it starts the command.
"""

import argparse
import ctypes
import fcntl
import os
import signal
import socket
import struct
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from rashpa.testing.prepared import first_process, prepared_server

_NEW_MOUNTS, _NEW_PROCESSES, _NEW_USERS, _NEW_NETWORK = 0x20000, 0x20000000, 0x10000000, 0x40000000
_NO_SET_UID, _NO_DEVICES, _NO_PROGRAMS, _BIND, _ALL_BELOW, _PRIVATE = 2, 4, 8, 0x1000, 0x4000, 0x40000
_END_WITH_PARENT = 1
_FLAGS_OF, _SET_FLAGS = 0x8913, 0x8914  # of a network interface
_UP = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


def _called(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


def _mount(source: str, target: str, kind: str | None, flags: int) -> None:
    words = [None if word is None else os.fsencode(word) for word in (source, target, kind)]
    _called(_LIBC.mount(*words, ctypes.c_ulong(flags), None), target)


def _own_shared_memory(folder: str) -> None:
    _called(_LIBC.unshare(_NEW_MOUNTS), "mounts")
    _mount("none", "/", None, _ALL_BELOW | _PRIVATE)
    _mount(folder, "/dev/shm", None, _BIND)  # noqa: S108  the mount is private


def _own_everything() -> None:
    """Enter new namespaces for users, mounts, the network and process numbers; the next child is the first process there."""
    user, group = os.geteuid(), os.getegid()
    _called(_LIBC.unshare(_NEW_USERS | _NEW_MOUNTS | _NEW_NETWORK | _NEW_PROCESSES), "namespaces")
    Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    Path("/proc/self/uid_map").write_text(f"0 {user} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"0 {group} 1", encoding="ascii")


def _furnish() -> None:
    """Give the first process a /proc of its own process numbers, and a network with a loopback interface."""
    _LIBC.prctl(_END_WITH_PARENT, signal.SIGKILL)
    _mount("none", "/", None, _ALL_BELOW | _PRIVATE)
    _mount("proc", "/proc", "proc", _NO_SET_UID | _NO_PROGRAMS | _NO_DEVICES)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        flags = struct.unpack("16xh22x", fcntl.ioctl(any_socket, _FLAGS_OF, struct.pack("16s24x", b"lo")))[0]
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh22x", b"lo", flags | _UP))


def become(words: list[str]) -> NoReturn:
    """Run this command in this process."""
    if prepared_server.is_prepared() and words[0] == sys.executable:
        prepared_server.go_on(words[0], words[1:])
    if prepared_server.is_prepared() and words[0] == str(Path(sys.executable).with_name("rashpa")):
        prepared_server.go_on(sys.executable, words)
    os.execvp(words[0], words)  # noqa: S606  a command of a test


def main(words: Sequence[str]) -> NoReturn:
    """Enter the namespaces, then run the command."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--shared-memory", metavar="FOLDER")
    parser.add_argument("--commands", metavar="NAME")
    parser.add_argument("command", nargs="+", metavar="WORD")
    given = parser.parse_args(words)
    if given.alone:
        _own_everything()
    if given.shared_memory:
        _own_shared_memory(given.shared_memory)
    if not given.alone and not given.commands:
        become(given.command)
    first = os.fork()
    if first != 0:
        status = os.waitstatus_to_exitcode(os.waitpid(first, 0)[1])
        os._exit(status if status >= 0 else 128 - status)
    if given.alone:
        _furnish()
    # only prepared processes have anything to fork from
    order = first_process.serve(given.commands if prepared_server.is_prepared() else None)
    if order is None:
        become(given.command)
    prepared_server.run(*order)


if __name__ == "__main__":
    main(sys.argv[1:])
