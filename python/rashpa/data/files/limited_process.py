# SPDX-License-Identifier: Apache-2.0
"""Starts another Python process with limits on processor time, memory and written bytes. It is for libraries (fabio, HDF5) that a damaged file can
make loop, take all memory, or crash.

`python -m rashpa.data.files.limited_process SECONDS MEMORY FILE MODULE …` is that process: it runs MODULE under the limits, as `python -m` does.
"""

import contextlib
import importlib
import os
import resource
import runpy
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

_OWN = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")  # one thread: each would take tens of megabytes of the limit


@dataclass(frozen=True)
class Limits:
    """Limits the process; exceeding a limit ends it."""

    seconds: int = 60
    """Seconds of processor time."""
    memory_bytes: int = max(4 << 30, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)
    """Bytes of address space: libraries and files alone take about one gigabyte."""
    file_bytes: int = max(4 << 30, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)
    """Bytes of every file that it writes."""


def start_limited(
    module: str,
    arguments: Sequence[str],
    limits: Limits,
    *,
    stdout: int,
    stderr: int,
    pass_fds: Sequence[int] = (),
    environment: dict[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start `module` under `limits`, without standard input. The caller must end the process if it hangs without using processor time."""
    numbers = [str(value) for value in (limits.seconds, limits.memory_bytes, limits.file_bytes)]
    command = [sys.executable, "-P", "-m", "rashpa.data.files.limited_process", *numbers, module, *arguments]
    own = {**os.environ, **dict.fromkeys(_OWN, "1"), **(environment or {})}
    return subprocess.Popen(  # noqa: S603 (our own module; the arguments are not read by a shell)
        command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, pass_fds=tuple(pass_fds), env=own
    )


def private_output() -> IO[bytes]:
    """Return the pipe of standard output, and redirect the standard output of libraries to standard error."""
    pipe = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return pipe


def why_it_ended(status: int, limits: Limits) -> str:
    """Return a text with advice on the reason why a process ended without an answer; `status` is Popen.returncode. Blame the file only when none of
    our own limits can be the cause."""
    own = _own_memory()
    if status == _NOT_STARTED:
        return f"the process that reads it could not be started{own or ', for want of memory or a part of rashpa'}; allow it more"
    if status == -signal.SIGXCPU or status == -signal.SIGKILL:
        return f"it took more than {limits.seconds} s of processor time; it is damaged: copy it again"
    said = f"the library gave it up (status {status}, at most {limits.memory_bytes >> 20} MiB of memory)"
    if status < 0:
        said = f"the library crashed on it (signal {signal.Signals(-status).name})"
    if own and _hard_memory() < limits.memory_bytes:
        return f"{said}{own}; allow it more"
    return f"{said}; it is damaged: copy it again"


def is_own_end(status: int, limits: Limits) -> bool:
    """Return True when one of our own limits may have ended the process, so that the file may be good."""
    return status == _NOT_STARTED or (
        status not in (-signal.SIGXCPU, -signal.SIGKILL) and _hard_memory() < limits.memory_bytes
    )


def _hard_memory() -> int:
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    return sys.maxsize if hard == resource.RLIM_INFINITY else hard


def _own_memory() -> str:
    hard = _hard_memory()
    return "" if hard == sys.maxsize else f", where address space is limited to {hard >> 20} MiB (ulimit -v)"


def _limit(which: int, soft: int, hard: int) -> None:
    """Set a limit as far as the limits of this process allow; a stricter existing limit stays."""
    known = resource.getrlimit(which)[1]
    if known != resource.RLIM_INFINITY:
        soft, hard = min(soft, known), min(hard, known)
    resource.setrlimit(which, (soft, hard))


def limit_more_memory(more_bytes: int) -> bool:
    """Limit the address space of this process to `more_bytes` above its present size; return True when it may use as much."""
    with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 (a file of the kernel, read at once)
        now = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    wanted = now + more_bytes
    granted = hard == resource.RLIM_INFINITY or wanted <= hard
    resource.setrlimit(resource.RLIMIT_AS, (wanted if granted else hard, hard))
    return granted


_NOT_STARTED = 97


def _main() -> None:
    seconds, memory, file = (int(text) for text in sys.argv[1:4])
    module = sys.argv[4]
    try:
        _limit(resource.RLIMIT_CPU, seconds, seconds + 1)
        _limit(resource.RLIMIT_AS, memory, memory)
        _limit(resource.RLIMIT_FSIZE, file, file)
        _limit(resource.RLIMIT_CORE, 0, 0)
        importlib.import_module(module)  # all that it imports: a failure until here is no fault of the file
    except BaseException:  # noqa: BLE001 (whatever it is, it is no fault of the file)
        with contextlib.suppress(BaseException):
            sys.stderr.write(f"{module}: cannot be started: {sys.exc_info()[1]!r}\n")
        os._exit(_NOT_STARTED)
    del sys.modules[module]
    sys.argv = sys.argv[4:]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _main()
