# SPDX-License-Identifier: Apache-2.0
"""Reads the amount of memory that a node may still allocate."""

from pathlib import Path


def available_memory_bytes() -> int:
    """Return the memory in bytes that the kernel can provide without swapping, or the rest of the control group's limit if that is less. Return 0
    when neither is known."""
    limits = [limit for limit in (_available(), _left_in_group()) if limit is not None]
    return min(limits, default=0)


def _available() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    fields = (line.split() for line in lines if line.startswith("MemAvailable:"))
    return next((int(field[1]) * 1024 for field in fields), None)


def _left_in_group() -> int | None:
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
        used = Path("/sys/fs/cgroup/memory.current").read_text(encoding="ascii").strip()
    except OSError:
        return None
    return None if limit == "max" else max(0, int(limit) - int(used))
