# SPDX-License-Identifier: Apache-2.0
"""Finds the processes that this process has started, in /proc."""

import os
from pathlib import Path

_COMM = 15  # characters that the system keeps of a program's name


def children(program: str, parent: int | None = None) -> list[int]:
    """Return the ids of processes that run `program` and are children of `parent`, by default of this process."""
    wanted = os.getpid() if parent is None else parent
    found = []
    for place in Path("/proc").iterdir():
        if not place.name.isdecimal():
            continue
        try:
            name, _, rest = (place / "stat").read_text().partition("(")[2].rpartition(")")
        except OSError:  # it has gone meanwhile
            continue
        if name == program[:_COMM] and int(rest.split()[1]) == wanted:
            found.append(int(place.name))
    return found


def memory_mb(pid: int | str = "self", what: str = "VmRSS") -> float:
    """Return the memory of a process in MB, 0 when the process has ended. `what`: VmRSS (now) or VmHWM (the maximum so far)."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{what}:")), 0.0)
