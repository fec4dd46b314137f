# SPDX-License-Identifier: Apache-2.0
"""Inspects the sockets of this machine: their buffer sizes, and the packets dropped because a program did not read in time."""

import os
from collections.abc import Iterator

from rashpa.node.doctor.finding import Finding, Host, count, unknown
from rashpa.node.doctor.needs import Needs

_STAND_STILL_S = 0.01  # a receiving thread may stand still for so long
_LEAST_BACKLOG, _MOST_BACKLOG = 1_000, 250_000


def socket_findings(host: Host, needs: Needs) -> Iterator[Finding]:
    """Yield findings on the sockets with which the run receives."""
    if not needs.receiving:
        return
    yield _granted(host, needs)
    yield from _long_enough(needs)
    yield _backlog(host, needs)


def _granted(host: Host, needs: Needs) -> Finding:
    subject, setting = "most bytes of a socket", "net.core.rmem_max"
    value = host.number(host.sysctl(setting))
    if value is None:
        return unknown(subject, f"{setting} cannot be read")
    found = count(
        value,
        needs.socket_bytes,
        host,
        setting,
        subject,
        "a socket gets less than link.roce.socket_buffer asks for",
        "bytes",
    )
    if found.state == "poor" and os.geteuid() == 0:
        return Finding(subject, "good", f"{value:,} bytes; root is not bound by it", found.wanted)
    return found


def _long_enough(needs: Needs) -> Iterator[Finding]:
    """Yield, for each receiver with a known rate, a finding on the time for which its socket buffers last while its threads do not run."""
    for end in needs.receiving:
        if end.bytes_per_s and end.kind != "verbs":
            held = needs.socket_bytes * end.threads / end.bytes_per_s
            wanted = round(end.bytes_per_s * _STAND_STILL_S / end.threads)
            subject, least = f"time that sockets of {end.name} hold", f"{_STAND_STILL_S * 1e3:.0f} ms or more"
            if held >= _STAND_STILL_S:
                yield Finding(subject, "good", f"{held * 1e3:.1f} ms", least)
            else:
                why = "a thread that the machine does not run for so long loses packets"
                command = f"socket_buffer = {wanted} in the run file"
                yield Finding(subject, "poor", f"{held * 1e3:.1f} ms", least, why, command)


def _backlog(host: Host, needs: Needs) -> Finding:
    subject, setting = "packets that wait for the kernel", "net.core.netdev_max_backlog"
    value = host.number(host.sysctl(setting))
    if value is None:
        return unknown(subject, f"{setting} cannot be read")
    rate = sum(end.packets_per_s for end in needs.receiving)
    wanted = min(max(_LEAST_BACKLOG, round(rate * _STAND_STILL_S)), _MOST_BACKLOG)
    return count(
        value, wanted, host, setting, subject, "the kernel drops packets between interface and socket", "packets"
    )


def drops_of(host: Host, port: int) -> int | None:
    """Return the number of packets that the kernel dropped at open sockets of this UDP port, None when no socket has the port."""
    found: int | None = None
    for name in ("udp", "udp6"):
        for line in (host.text(host.processes / "net" / name) or "").splitlines()[1:]:
            words = line.split()
            try:
                if int(words[1].rpartition(":")[2], 16) == port:
                    found = (found or 0) + int(words[-1])
            except (IndexError, ValueError):
                continue
    return found
