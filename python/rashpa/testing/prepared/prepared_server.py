# SPDX-License-Identifier: Apache-2.0
"""A Python process that has imported rashpa and becomes its commands: each request forks a child of the requesting process, which continues like
`python -m rashpa.…`. A start then takes milliseconds; an interpreter needs 0.4 s of a processor for its imports.

`python -P -m rashpa.testing.prepared FD PADDING` serves the socket FD until its other end is closed. See prepared_python.py for the other end.
"""

import codecs
import contextlib
import ctypes
import gc
import importlib
import importlib.abc
import io
import json
import mmap
import os
import runpy
import signal
import socket
import struct
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

from rashpa.data.base.process_end import end_process

MOST_FDS = 64
HEAD = struct.Struct("=I")
ANSWER = struct.Struct("=i")
PADDING = 4096
"""Bytes of the server's command line: a child writes its own there, for readers of /proc/PID/cmdline."""
VARIABLE = "RASHPA_TEST_PREPARED"
VARIABLE_PADDING = 16384
"""Bytes of this variable of the server: a child writes its own variables there, for readers of /proc/PID/environ."""

_IMPORTED = (
    "anyio._backends._asyncio",
    "bokeh.plotting",
    "certifi",
    "encodings.ascii",
    "encodings.idna",
    "encodings.utf_8_sig",
    "h5py",
    "hdf5plugin",
    "httpcore",
    "httpx",
    "numpy",
    "rich._emoji_codes",
    "rich.console",
    "typer._adapters",
    "typer._click.decorators",
    "uvicorn.lifespan.off",
    "uvicorn.protocols.http.auto",
    "rashpa.cli.files.combine",
    "rashpa.cli.files.inspect",
    "rashpa.cli.files.limited",
    "rashpa.cli.main",
    "rashpa.cli.node.node",
    "rashpa.cli.report.report",
    "rashpa.cli.report.report_html",
    "rashpa.cli.run.run",
    "rashpa.control.books.accounting",
    "rashpa.control.books.group_accounting",
    "rashpa.control.books.run_summary",
    "rashpa.control.run.manager",
    "rashpa.control.run.run_session",
    "rashpa.dashboard.serve",
    "rashpa.data.datasets.datasets",
    "rashpa.data.geometry.azimuthal_bins",
    "rashpa.data.making.repair",
    "rashpa.data.stored.joined_run",
    "rashpa.data.stored.limited_answer",
    "rashpa.data.stored.opened",
    "rashpa.data.stored.reader",
    "rashpa.data.stored.source_facts",
    "rashpa.node.door.server",
    "rashpa.node.engine.native_engine",
    "rashpa.node.offline.measured_file",
    "rashpa.node.offline.trial",
    "rashpa.node.state.node",
    "rashpa.testing.fake_engine",
    "rashpa.testing.prepared.prepared_python",
)
_LATER = ("matplotlib.backends.backend_agg", "matplotlib.figure", "pyFAI.integrator.azimuthal", "scipy.optimize")
"""What takes a second to import, and few commands need: it is imported here when a command has done so. Four workers would wait for nothing."""
_FILLED = (
    "rashpa.cli.report.page_parts:_template",
    "rashpa.cli.report.report_script:library",
    "rashpa.control.telegrams.telegram_xml:_schema",
)
"""Functions that keep their only answer, which is the same for all commands. They take 60 ms: a third of the page of a small report."""
_CLONE_PARENT, _CHILD_SETTID, _CHILD_CLEARTID = 0x8000, 0x01000000, 0x00200000
_GET_TID_ADDRESS, _SET_NAME = 40, 15
_CLONE = {"x86_64": 56, "aarch64": 220}
# fields 48 to 51 of /proc/PID/stat, counted behind the process's name: begin and end of the arguments, and of the variables
_ARGUMENTS, _VARIABLES = slice(45, 47), slice(47, 49)
_LIBC = ctypes.CDLL(None, use_errno=True)


class Order(NamedTuple):
    """Describes the command that a child becomes."""

    arguments: list[str]  # of the interpreter, without its own name: -m MODULE …, -P -m MODULE …, or a script …
    name: str
    environment: dict[str, str]
    folder: str
    umask: int
    processors: list[int]
    session: bool
    targets: list[int]  # of the descriptors that came with it
    limits: str = ""  # of the process that asks, as /proc has them; "" where it has compared them itself
    ignored: Sequence[int] = ()  # signals that the command ignores from the start, as its children do


class _Here:
    """Describes this process: whether it is prepared, where its variables are for other processes, and which modules of `_LATER` a forked process has
    imported."""

    prepared = False
    errors = "strict"  # of standard input and output, as the locale has them
    wanted: mmap.mmap | None = None  # a byte for each, shared by all that are forked
    variables: tuple[int, int] | None = None  # address, bytes


class _Noted(importlib.abc.MetaPathFinder):
    """Finds no module, and notes when a module of `_LATER` is imported."""

    def find_spec(self, name: str, *_: object) -> None:
        """Return None, so that other finders find the module."""
        if name in _LATER and _Here.wanted is not None:
            _Here.wanted[_LATER.index(name)] = 1


def learn() -> None:
    """Import the modules that forked commands have imported, so that later commands have them."""
    wanted = _Here.wanted
    new = [name for place, name in enumerate(_LATER) if wanted and wanted[place] and name not in sys.modules]
    for name in new:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    if new:
        gc.collect()
        gc.freeze()


def is_prepared() -> bool:
    """Return True when this process was forked from one that has imported rashpa."""
    return _Here.prepared


def ignored() -> list[int]:
    """Return the signals that this process ignores: processes that it starts ignore them, too."""
    restored = {signal.SIGPIPE, signal.SIGXFSZ}  # Python ignores these itself, and subprocess restores them
    return [int(one) for one in signal.valid_signals() - restored if signal.getsignal(one) is signal.SIG_IGN]


def receive(connection: socket.socket) -> tuple[Order, list[int]] | None:
    """Return the next order and its descriptors, None when the other end is closed."""
    head, descriptors, _, _ = socket.recv_fds(connection, HEAD.size, MOST_FDS)
    if len(head) < HEAD.size:
        return None
    wanted = HEAD.unpack(head)[0]
    body = bytearray()
    while len(body) < wanted:
        piece = connection.recv(wanted - len(body))
        if not piece:
            return None
        body += piece
    return Order(**json.loads(body)), descriptors


def _thread_word() -> int:
    """Return the address where the C library keeps this thread's number, because a child has another number. Return 0 when the kernel does not give
    it."""
    address = ctypes.c_void_p()
    return (address.value or 0) if _LIBC.prctl(_GET_TID_ADDRESS, ctypes.byref(address), 0, 0, 0) == 0 else 0


def can_serve() -> bool:
    """Return True when this machine has the features that a server needs."""
    return sys.platform == "linux" and os.uname().machine in _CLONE and _thread_word() != 0


def fork_sibling() -> int:
    """Fork a process with the same parent as this one. Return its number here and 0 in the new process. This process must have one thread."""
    flags = _CLONE_PARENT | _CHILD_SETTID | _CHILD_CLEARTID | signal.SIGCHLD
    word = ctypes.c_void_p(_thread_word())
    machine = os.uname().machine
    # the two architectures differ in the order of the last two arguments
    last = (word, ctypes.c_long(0)) if machine == "x86_64" else (ctypes.c_long(0), word)
    ctypes.pythonapi.PyOS_BeforeFork()
    number = int(_LIBC.syscall(ctypes.c_long(_CLONE[machine]), ctypes.c_ulong(flags), None, None, *last))
    if number == 0:
        ctypes.pythonapi.PyOS_AfterFork_Child()
    else:
        ctypes.pythonapi.PyOS_AfterFork_Parent()
    return number


def _disguise(words: Sequence[str], environment: Mapping[str, str]) -> None:
    """Show `words` as the command line of this process, and these variables besides those of the server. They are written where the server's command
    line and its long variable are."""
    with contextlib.suppress(OSError, ValueError):
        begin, end = _span(_ARGUMENTS)
        line = b"".join(os.fsencode(word) + b"\0" for word in words)[: end - begin - 1]
        ctypes.memmove(begin, line.ljust(end - begin, b"\0"), end - begin)
    if _Here.variables is not None:
        begin, size = _Here.variables
        block = b"".join(os.fsencode(f"{key}={value}") + b"\0" for key, value in environment.items())[: size - 1]
        ctypes.memmove(begin, block.ljust(size, b"\0"), size)
    _LIBC.prctl(_SET_NAME, os.fsencode(Path(words[0]).name)[:15], 0, 0, 0)


def _span(fields: slice) -> tuple[int, int]:
    begin, end = (int(word) for word in Path("/proc/self/stat").read_text().rpartition(")")[2].split()[fields])
    return begin, end


def _find_variable() -> tuple[int, int] | None:
    """Return place and length of the long variable that the server was given for its children."""
    long = os.fsencode(f"{VARIABLE}={os.environ.pop(VARIABLE, '')}")
    with contextlib.suppress(OSError, ValueError):
        begin, end = _span(_VARIABLES)
        place = ctypes.string_at(begin, end - begin).find(long)
        if place >= 0 and len(long) > VARIABLE_PADDING:
            return begin + place, len(long)
    return None


def _streams(environment: Mapping[str, str]) -> None:
    """Open the standard streams again, as an interpreter does when it starts. None is a terminal: such starts are ordinary ones."""
    at_once = environment.get("PYTHONUNBUFFERED", "") != ""
    encoding, _, said = environment.get("PYTHONIOENCODING", "").partition(":")
    otherwise = "strict" if encoding else _Here.errors
    for name, number, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        try:
            raw = io.open(number, f"{mode}b", 0 if at_once and mode == "w" else -1, closefd=False)  # noqa: SIM115, UP020
        except OSError:
            stream = None
        else:
            errors = "backslashreplace" if number == 2 else said or otherwise
            stream = io.TextIOWrapper(
                raw,
                encoding=codecs.lookup(encoding or "utf-8").name,
                errors=errors,
                line_buffering=number == 2,
                write_through=at_once and mode == "w",
            )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _place(order: Order, descriptors: list[int]) -> None:
    """Give this process the session, folder, environment and descriptors of the order."""
    if order.session:
        os.setsid()
    high = [os.dup2(one, 256 + place) for place, one in enumerate(descriptors)]
    for one in descriptors:
        os.close(one)
    for one, target in zip(high, order.targets, strict=True):
        os.dup2(one, target, inheritable=True)
        os.close(one)
    os.chdir(order.folder)
    os.umask(order.umask)
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, order.processors)
    os.environ.clear()
    os.environ.update(order.environment)
    tempfile.tempdir = None
    _streams(order.environment)


def go_on(name: str, arguments: Sequence[str]) -> NoReturn:
    """Run the module or script in the interpreter's arguments as the main program of this process, to its end."""
    _disguise([name, *arguments], os.environ)
    sys.orig_argv[:] = [name, *arguments]
    if not _is_leaf(arguments):
        nested()
    words = list(arguments)
    safe = words[0] == "-P"
    if safe:
        del words[0]
    if words[0] == "-m":
        sys.path[:0] = [] if safe else [str(Path.cwd())]
        sys.argv[:] = words[1:]
        sys.modules.pop(words[1], None)  # where others have imported it: runpy would warn
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.path[:0] = [] if safe else [str(Path(words[0]).parent)]
        sys.argv[:] = words
        runpy.run_path(words[0], run_name="__main__")
    sys.exit()


def _draw_once() -> None:
    """Embed a plot in a page: Bokeh keeps the facts about its models that it finds for the first one."""
    with contextlib.suppress(ImportError):
        from bokeh.embed import components
        from bokeh.plotting import figure

        plot = figure()
        plot.line([0, 1], [0, 1])
        components([plot])


def prepare() -> None:
    """Import the modules that commands and nodes need, and exclude them from garbage collection."""
    _Here.variables = _find_variable()
    _Here.wanted = mmap.mmap(-1, len(_LATER))
    _Here.errors = sys.stdin.errors or "strict"
    sys.meta_path.insert(0, _Noted())
    for name in _IMPORTED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for name in _FILLED:
        module, _, function = name.partition(":")
        with contextlib.suppress(ImportError):
            getattr(importlib.import_module(module), function)()
    _draw_once()
    gc.collect()
    gc.freeze()


def serve(connection: socket.socket) -> tuple[Order, list[int]] | None:
    """Answer orders. Return None when the other end closes; in a child, return its order and descriptors."""
    while True:
        try:
            got = receive(connection)
        except (ConnectionError, InterruptedError):
            return None
        if got is None:
            return None
        learn()
        number = fork_sibling()
        if number == 0:
            return got
        for one in got[1]:
            os.close(one)
        connection.sendall(ANSWER.pack(number))


def nested() -> None:
    """Start a separate server for this process: the processes that it starts are its own children. Call it before there is a second thread."""
    from rashpa.testing.prepared import prepared_python  # it imports this module

    here, there = socket.socketpair()
    if os.fork() != 0:
        there.close()
        prepared_python.use(here)
        return
    here.close()
    empty = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(empty, number)
    kept = there.detach()
    os.dup2(kept, 3)
    os.closerange(4, 1024)
    _disguise(["prepared-python"], {})
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    become(socket.socket(fileno=3))


def become(connection: socket.socket) -> NoReturn:
    """Serve, and in a child run its command to the end."""
    got = serve(connection)
    if got is None:
        os._exit(0)
    connection.close()
    run(*got)


def run(order: Order, descriptors: list[int]) -> NoReturn:
    """Run the command of an order, in a process that was forked for it."""
    _Here.prepared = True
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for one in order.ignored:
        signal.signal(one, signal.SIG_IGN)
    _place(order, descriptors)
    end = SystemExit()
    try:
        go_on(order.name, order.arguments)
    except SystemExit as said:
        end = said
    end_process(end)  # freeing objects would copy nearly all pages shared with the server: 45 MB


def _is_leaf(words: Sequence[str]) -> bool:
    """Return True for nodes and readers under limits, which start no other rashpa command."""
    of_rashpa = words[2:3] if words[0] == "-m" else words[1:2]
    return list(words[:2]) == ["-P", "-m"] or list(of_rashpa) in (["emulator"], ["receiver"])


def main() -> None:
    """Import the modules, then serve the socket that this process was given."""
    connection = socket.socket(fileno=int(sys.argv[1]))
    prepare()
    if threads := len(os.listdir("/proc/self/task")) - 1:  # noqa: PTH208
        sys.exit(f"prepared Python: {threads} threads besides the first; a process with threads cannot be forked")
    become(connection)
