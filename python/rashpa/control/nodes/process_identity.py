# SPDX-License-Identifier: Apache-2.0
"""Whether a process of this machine is still the one that it was: numbers of processes are given again."""

from pathlib import Path

_STARTED = 19  # field 22 of /proc/PID/stat, counted behind the name, which may have spaces and brackets in it


def identity_of(pid: int) -> str:
    """The boot of the machine and when in it the process was started; empty when it is not there, or has ended and is not waited for yet."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except (OSError, ValueError):
        return ""
    return "" if fields[0] in ("Z", "X") else f"{boot} {fields[_STARTED]}"


def is_process(pid: int, identity: str) -> bool:
    """Whether the process of that identity lives."""
    return bool(identity) and identity_of(pid) == identity
