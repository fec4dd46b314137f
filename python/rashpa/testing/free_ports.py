# SPDX-License-Identifier: Apache-2.0
"""Finds ports for servers that start after their clients."""

import secrets
import socket
from pathlib import Path


def free_ports(count: int) -> int:
    """Return the first of `count` consecutive free ports. They are outside the system's range for outgoing connections: there, a retrying client
    could get the very port to which it connects, and reach itself."""
    given_from = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    for _ in range(1000):
        first = 10_000 + secrets.randbelow(given_from - count - 10_000)
        if all(_is_free(first + n) for n in range(count)):
            return first
    raise OSError(f"no {count} free ports between 10000 and {given_from}")


def _is_free(port: int) -> bool:
    with socket.socket() as one:
        try:
            one.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
