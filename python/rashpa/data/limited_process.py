# SPDX-License-Identifier: Apache-2.0
"""Another Python process with limits on processor time, memory and what it writes, for libraries that a damaged file can make run for ever, take
all memory, or crash (fabio, HDF5).

`python -m rashpa.data.limited_process SECONDS MEMORY FILE MODULE …` is that process: it runs MODULE as `python -m` does, under the limits.
"""

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
    """What the process may use; more ends it."""

    seconds: int = 60
    """Of processor time."""
    memory_bytes: int = max(4 << 30, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)
    """Of address space: libraries and files alone take about one gigabyte."""
    file_bytes: int = max(4 << 30, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)
    """Of every file that it writes."""


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
    """Starts `module` under `limits`, without standard input. Whoever starts it also ends it when it waits for ever without using its processor
    time."""
    numbers = [str(value) for value in (limits.seconds, limits.memory_bytes, limits.file_bytes)]
    command = [sys.executable, "-P", "-m", "rashpa.data.limited_process", *numbers, module, *arguments]
    own = {**os.environ, **dict.fromkeys(_OWN, "1"), **(environment or {})}
    return subprocess.Popen(  # noqa: S603 (our own module; the arguments are not read by a shell)
        command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, pass_fds=tuple(pass_fds), env=own
    )


def private_output() -> IO[bytes]:
    """Take the pipe of answers away from standard output, to which libraries print, and return it. What they print goes where errors go."""
    pipe = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return pipe


def why_it_ended(status: int, limits: Limits) -> str:
    """In words, for a process that said nothing itself: `status` is Popen.returncode."""
    if status == -signal.SIGXCPU or status == -signal.SIGKILL:
        return f"it took more than {limits.seconds} s of processor time"
    if status < 0:
        return f"the library crashed on it (signal {signal.Signals(-status).name})"
    return f"the library gave it up (status {status}, at most {limits.memory_bytes >> 20} MiB of memory)"


def _main() -> None:
    seconds, memory, file = (int(text) for text in sys.argv[1:4])
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (file, file))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    module = sys.argv[4]
    sys.argv = sys.argv[4:]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _main()
