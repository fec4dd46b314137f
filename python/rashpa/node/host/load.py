# SPDX-License-Identifier: Apache-2.0
"""Reads the resources that a node's process uses, as the kernel counts them. It works on Linux only."""

import os
import resource
import time
from pathlib import Path

from rashpa.control.nodes.node_load import Load, Thread
from rashpa.node.host.temperature import temperature_c

_PROC = Path("/proc/self")
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGESIZE")
_NAME_END = ")"  # behind the name in stat, which may hold anything else


def load() -> Load:
    """Return the current load. Any thread may call it; it reads one short file for each thread of the process."""
    stat = _fields((_PROC / "stat").read_text())[1]
    return Load(
        time_s=time.time(),
        started_s=_boot_s() + int(stat[19]) / _TICKS,
        cpu_s=_cpu_s(stat),
        resident_bytes=int((_PROC / "statm").read_text().split()[1]) * _PAGE_BYTES,
        open_files=sum(1 for _ in (_PROC / "fd").iterdir()) - 1,  # less the one that lists them
        most_files=resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        processors=len(os.sched_getaffinity(0)),
        threads=tuple(_threads()),
        temperature_c=temperature_c(),
    )


def _threads() -> list[Thread]:
    found: list[Thread] = []
    for task in sorted((_PROC / "task").iterdir(), key=lambda path: int(path.name)):
        try:
            name, stat = _fields((task / "stat").read_text())
        except (FileNotFoundError, ProcessLookupError):  # it has just ended
            continue
        found.append(Thread(int(task.name), name, _cpu_s(stat), int(stat[36])))
    return found


def _fields(line: str) -> tuple[str, list[str]]:
    """Return the name and the fields after it of a line of /proc/PID/stat; the list begins with the third field of proc(5)."""
    head, _, rest = line.rpartition(_NAME_END)
    return head.partition("(")[2], rest.split()


def _cpu_s(stat: list[str]) -> float:
    return (int(stat[11]) + int(stat[12])) / _TICKS


def _boot_s() -> float:
    for line in Path("/proc/stat").read_text().splitlines():
        if line.startswith("btime "):
            return float(line.split()[1])
    return 0.0
