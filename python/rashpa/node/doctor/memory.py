# SPDX-License-Identifier: Apache-2.0
"""Inspects the memory of this machine: space for the buffers of a run, huge pages, and the permission to pin memory."""

import re
import resource
from collections.abc import Iterator

from rashpa.node.doctor.finding import Finding, Host, Setting, unknown
from rashpa.node.doctor.needs import Needs

_HUGE_BYTES = 2 << 20
_MIB = 1 << 20


def memory_findings(host: Host, needs: Needs) -> Iterator[Finding]:
    """Yield findings on the memory that the run needs on this machine."""
    if not needs.memory_bytes:
        return
    yield _room(host, needs)
    if needs.huge:
        yield _huge(host, needs)
    if needs.pinned_bytes:
        yield _pinned(needs)


def _room(host: Host, needs: Needs) -> Finding:
    subject = "memory for buffers"
    found = re.search(r"^MemAvailable:\s+(\d+) kB", host.text(host.processes / "meminfo") or "", re.MULTILINE)
    if found is None:
        return unknown(subject, "the kernel does not tell what is free")
    free, wanted = int(found[1]) * 1024, needs.memory_bytes
    words = (f"{free / _MIB:,.0f} MiB free", f"{wanted / _MIB:,.0f} MiB")
    if free >= wanted:
        return Finding(subject, "good", *words)
    return Finding(
        subject, "poor", *words, "the receiver cannot begin", "fewer slots in the run file, or end other programs"
    )


def _huge(host: Host, needs: Needs) -> Finding:
    """Return the finding on huge pages. Transparent huge pages are as fast, where the kernel provides them."""
    subject = "huge pages"
    place = host.system / "kernel" / "mm" / "hugepages" / "hugepages-2048kB"
    free = host.number(place / "free_hugepages")
    wanted = -(-needs.memory_bytes // _HUGE_BYTES)
    transparent = re.search(
        r"\[(\w+)\]", host.text(host.system / "kernel" / "mm" / "transparent_hugepage" / "enabled") or ""
    )
    if free is not None and free >= wanted:
        return Finding(subject, "good", f"{free} of 2 MiB free", f"{wanted}")
    if transparent and transparent[1] in ("always", "madvise"):
        return Finding(subject, "good", f"transparent: {transparent[1]}", f"{wanted} of 2 MiB, or transparent ones")
    if free is None and transparent is None:
        return unknown(subject, "the kernel does not tell")
    why = "each step over 4 KiB asks the page table"
    pages = (host.number(place / "nr_hugepages") or 0) - (free or 0) + wanted
    settings = (Setting(place / "nr_hugepages", str(pages)),)
    return Finding(
        subject, "poor", f"{free or 0} of 2 MiB free", f"{wanted}", why, f"sysctl -w vm.nr_hugepages={pages}", settings
    )


def _pinned(needs: Needs) -> Finding:
    subject = "memory that may be pinned"
    most, wanted = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0], needs.pinned_bytes
    need = f"{wanted / _MIB:,.0f} MiB"
    if most == resource.RLIM_INFINITY:
        return Finding(subject, "good", "without limit", need)
    if most >= wanted:
        return Finding(subject, "good", f"{most / _MIB:,.0f} MiB", need)
    why = "an RNIC cannot register the buffers"
    command = "ulimit -l unlimited, or LimitMEMLOCK=infinity in the node's service"
    return Finding(subject, "poor", f"{most / _MIB:,.0f} MiB", need, why, command)
