# SPDX-License-Identifier: Apache-2.0
"""Checks whether a process number still belongs to the same process: the system reuses numbers."""

from pathlib import Path

_STARTED = 19  # field 22 of /proc/PID/stat, counted behind the name, which may have spaces and brackets in it


def identity_of(pid: int) -> str:
    """Return the boot of the machine and the process's start time in it; empty when the process does not exist, or is a zombie."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except (OSError, ValueError):
        return ""
    return "" if fields[0] in ("Z", "X") else f"{boot} {fields[_STARTED]}"


def is_process(pid: int, identity: str) -> bool:
    """Return True when the process of that identity is alive."""
    return bool(identity) and identity_of(pid) == identity
