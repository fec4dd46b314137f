# SPDX-License-Identifier: Apache-2.0
"""Lists the network interfaces of this machine with their addresses and speeds, as the kernel reports them."""

import fcntl
import ipaddress
import re
import socket
import struct
from pathlib import Path

from rashpa.control.telegrams.telegram import Interface

_ADDRESS_OF = 0x8915  # SIOCGIFADDR
_MOST = 256
_RATE = re.compile(r"^\s*([0-9.]+)\s*Gb/sec")


def interfaces(system: Path = Path("/sys"), processes: Path = Path("/proc")) -> tuple[Interface, ...]:
    """Return the interfaces of this machine by name; an unreadable fact counts as unknown."""
    ports = _rdma_ports(system)
    wide = _ipv6(processes / "net" / "if_inet6")
    found = []
    for path in sorted((system / "class" / "net").glob("*"))[:_MOST]:
        name = path.name
        device, rate = ports.get(name, ("", 0))
        addresses = (*_ipv4(name), *wide.get(name, ()))
        found.append(Interface(name=name, device=device, bits_per_s=_speed(path) or rate, addresses=addresses))
    return tuple(found)


def _speed(path: Path) -> int:
    """Return the speed in bits/s, 0 when the driver reports none, as for interfaces that are down, virtual or loopback."""
    try:
        megabits = int((path / "speed").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 0
    return max(0, megabits) * 1_000_000


def _rdma_ports(system: Path) -> dict[str, tuple[str, int]]:
    """Return, for each interface, the RDMA device that uses it and its port's rate in bits/s; the rate is 0 for a device in software."""
    found: dict[str, tuple[str, int]] = {}
    for port in sorted((system / "class" / "infiniband").glob("*/ports/*")):
        device = port.parent.parent
        try:
            name = (port / "gid_attrs" / "ndevs" / "0").read_text(encoding="ascii").strip()
            rate = _RATE.match((port / "rate").read_text(encoding="ascii"))
        except (OSError, ValueError):
            continue
        real = (device / "device").exists()
        found[name] = (device.name, int(float(rate[1]) * 1e9) if real and rate else 0)
    return found


def _ipv4(name: str) -> tuple[str, ...]:
    """Return the first IPv4 address of the interface; nothing when the machine has no such interface."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as question:
        try:
            answer = fcntl.ioctl(question, _ADDRESS_OF, struct.pack("256s", name.encode()[:15]))
        except OSError:
            return ()
    return (socket.inet_ntoa(answer[20:24]),)


def _ipv6(table: Path) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    try:
        lines = table.read_text(encoding="ascii").splitlines()
    except OSError:
        return found
    for line in lines:
        fields = line.split()
        if len(fields) == 6:
            address = str(ipaddress.IPv6Address(int(fields[0], 16)))
            found[fields[5]] = (*found.get(fields[5], ()), address)
    return found
