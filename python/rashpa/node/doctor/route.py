# SPDX-License-Identifier: Apache-2.0
"""Measures the longest packet of a path: sends datagrams that may not be fragmented; routers answer those that are too long."""

import errno
import socket
import time
from contextlib import suppress

_DISCARD = 9  # port of a service that reads nothing; an answer that nobody listens is as good
_WAIT_S, _STEP_S = 0.3, 0.02
_SEND = 3
_UDP_BYTES = {socket.AF_INET: 28, socket.AF_INET6: 48}
# Of linux/in.h and linux/in6.h; the module socket has no names for them.
_OPTIONS = {socket.AF_INET: (socket.IPPROTO_IP, 10, 14), socket.AF_INET6: (socket.IPPROTO_IPV6, 23, 24)}
_PROBE = 3  # IP_PMTUDISC_PROBE: never cut, and never trust the knowledge of an earlier packet


def path_mtu(own: str, other: str, packet_bytes: int) -> int:
    """Return the length in bytes, at most `packet_bytes`, of the longest IP packet that the path from `own` to `other` is known to pass. Three
    datagrams of `packet_bytes` are sent to port 9. A router that drops them silently is not noticed. Raise OSError when no datagram can be sent at
    all."""
    family = socket.AF_INET6 if ":" in other else socket.AF_INET
    level, discover, mtu = _OPTIONS[family]
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.setsockopt(level, discover, _PROBE)
        probe.bind((own, 0))
        probe.connect((other, _DISCARD))
        payload = bytes(max(0, packet_bytes - _UDP_BYTES[family]))
        until = time.monotonic() + _WAIT_S
        for _ in range(_SEND):
            try:
                probe.send(payload)
            except ConnectionRefusedError:  # the other end has got one, and has no such service
                return packet_bytes
            except OSError as error:
                if error.errno != errno.EMSGSIZE:
                    raise
                return _known(family, own, other)
            time.sleep(_STEP_S)
        while time.monotonic() < until:
            with suppress(ConnectionRefusedError):
                if (known := probe.getsockopt(level, mtu)) < packet_bytes:
                    return known
            time.sleep(_STEP_S)
        return packet_bytes


def _known(family: socket.AddressFamily, own: str, other: str) -> int:
    """Return the longest packet of the path in bytes, as the kernel knows it."""
    level, _, mtu = _OPTIONS[family]
    with socket.socket(family, socket.SOCK_DGRAM) as asking:
        asking.bind((own, 0))
        asking.connect((other, _DISCARD))
        return asking.getsockopt(level, mtu)
