# SPDX-License-Identifier: Apache-2.0
"""Inspects the network interfaces that a run uses: their speed, longest packet, ring, queues, interrupts and NUMA node."""

import re
from collections.abc import Iterator
from pathlib import Path

from rashpa.control.telegrams.telegram import Interface
from rashpa.node.doctor import cards
from rashpa.node.doctor.finding import Finding, Host, Setting, unknown
from rashpa.node.doctor.needs import End, Needs
from rashpa.node.doctor.route import path_mtu

_SHORT_RING = 2048
_LOST = ("rx_missed_errors", "rx_fifo_errors", "rx_over_errors")


def interface_findings(
    host: Host, needs: Needs, known: tuple[Interface, ...], measured: bool = True
) -> Iterator[Finding]:
    """Yield findings on the interfaces that have addresses of the run's nodes. `known`: all interfaces of this machine; `measured`: also measure the
    paths to the other ends."""
    ends = [end for end in needs.ends if end.kind != "pcie"]
    by_name: dict[str, list[End]] = {}
    for end in ends:
        address = end.address.partition("%")[0].lower()
        name = next((one.name for one in known if address in one.addresses), None)
        if name is None and not address.startswith("127."):
            yield Finding(
                f"address of {end.name}",
                "poor",
                f"no interface has {end.address}",
                "an address of this machine",
                "the node cannot begin",
                "ip addr",
            )
        elif name is not None:
            by_name.setdefault(name, []).append(end)
    for name, used in by_name.items():
        yield from _of_interface(host, name, used)
    paths = {(end.address, peer): end for end in ends for peer in end.peers} if measured else {}
    for (_, peer), end in paths.items():
        yield _path(end, peer)


def _of_interface(host: Host, name: str, ends: list[End]) -> Iterator[Finding]:
    place = host.interface(name)
    yield _speed(host, name, ends)
    yield _mtu(host, name, max(end.packet_bytes for end in ends))
    if host.text(place / "flags") is not None and not (place / "device").exists():
        return  # loopback and virtual interfaces have no ring, no interrupt and no place
    yield _ring(name)
    yield _lost(host, name)
    yield _pause(name)
    yield from _queues(host, name, max(end.threads for end in ends))
    yield from _numa(host, name, ends)


def _speed(host: Host, name: str, ends: list[End]) -> Finding:
    subject = f"speed of {name}"
    megabits = host.number(host.interface(name) / "speed") or 0
    wanted = max(sum(end.bytes_per_s for end in ends if end.role == role) for role in ("emulator", "receiver")) * 8e-9
    if megabits <= 0:
        return unknown(subject, "its driver does not tell")
    needed = f"{wanted:.2f} Gb/s" if wanted else ""
    if wanted > megabits * 1e-3:
        return Finding(subject, "poor", f"{megabits * 1e-3:g} Gb/s", needed, "packets that do not fit are lost", "")
    return Finding(subject, "good", f"{megabits * 1e-3:g} Gb/s", needed)


def _mtu(host: Host, name: str, packet_bytes: int) -> Finding:
    subject = f"MTU of {name}"
    value = host.number(host.interface(name) / "mtu")
    if value is None:
        return unknown(subject, "it cannot be read")
    if value >= packet_bytes:
        return Finding(subject, "good", f"{value} bytes", f"{packet_bytes} or more")
    why = f"a packet of {packet_bytes} bytes cannot be sent, and none is received"
    command = (
        f"ip link set {name} mtu {packet_bytes}, here, at the other ends and in switches between; or a smaller pmtu"
    )
    settings = (Setting(host.interface(name) / "mtu", str(packet_bytes)),)
    return Finding(subject, "poor", f"{value} bytes", f"{packet_bytes} or more", why, command, settings)


def _path(end: End, peer: str) -> Finding:
    """Return the finding on the longest packet of the path to another end, as measured."""
    subject = f"path from {end.address} to {peer}"
    try:
        found = path_mtu(end.address.partition("%")[0], peer.partition("%")[0], end.packet_bytes)
    except OSError as error:
        return unknown(subject, f"not measured: {error.strerror or error}")
    if found >= end.packet_bytes:
        return Finding(subject, "good", f"{found} bytes pass, or nobody says no", f"{end.packet_bytes}")
    why = "longer packets are lost on the way"
    command = "a larger MTU at each interface and switch of the path, or a smaller pmtu in the run file"
    return Finding(subject, "poor", f"{found} bytes", f"{end.packet_bytes}", why, command)


def _ring(name: str) -> Finding:
    subject = f"receive ring of {name}"
    ring = cards.ring_of(name)
    if ring is None:
        return unknown(subject, "its driver does not tell")
    wanted = min(ring.most, _SHORT_RING)
    if ring.now >= wanted:
        return Finding(subject, "good", f"{ring.now} descriptors", f"{wanted} or more")
    why = "the card drops packets of a burst before the kernel takes them"
    return Finding(
        subject,
        "poor",
        f"{ring.now} of {ring.most} descriptors",
        f"{wanted} or more",
        why,
        f"ethtool -G {name} rx {ring.most}",
    )


def _lost(host: Host, name: str) -> Finding:
    subject = f"packets that {name} has dropped"
    values = {each: host.number(host.interface(name) / "statistics" / each) for each in _LOST}
    known = {each: value for each, value in values.items() if value is not None}
    if not known:
        return unknown(subject, "its driver does not tell")
    words = ", ".join(f"{each} {value:,}" for each, value in known.items() if value)
    if not words:
        return Finding(subject, "good", "none since the machine was started")
    why = "they came, and the machine did not take them in time; images of that time are incomplete"
    return Finding(subject, "poor", f"{words} since the machine was started", "none", why, "")


def _pause(name: str) -> Finding:
    subject = f"pause frames of {name}"
    value = cards.pauses(name)
    if value is None:
        return unknown(subject, "its driver does not tell")
    return Finding(subject, "good", "on" if value else "off", "as the switch has it")


def _queues(host: Host, name: str, threads: int) -> Iterator[Finding]:
    """Yield findings on the receive queues of an interface, and on the processors that serve their interrupts."""
    queues = len(list((host.interface(name) / "queues").glob("rx-*")))
    subject = f"receive queues of {name}"
    if queues < threads:
        why = f"{threads} receiving threads get packets from {queues} queue(s), so that one processor serves several"
        yield Finding(subject, "poor", f"{queues}", f"{threads} or more", why, f"ethtool -L {name} combined {threads}")
    else:
        yield Finding(subject, "good", f"{queues}", f"{threads} or more")
    served = {processors for number in _interrupts(host, name) if (processors := _served_by(host, number))}
    if queues > 1 and len(served) == 1:
        yield Finding(
            f"interrupts of {name}",
            "poor",
            f"all on processor {served.pop()}",
            "one processor for each queue",
            "one processor takes the packets of all queues",
            "systemctl start irqbalance, or write processors to /proc/irq/NUMBER/smp_affinity_list",
        )
    elif served:
        yield Finding(f"interrupts of {name}", "good", f"on processors {', '.join(sorted(served))}")


def _interrupts(host: Host, name: str) -> list[int]:
    """Return the interrupt numbers of an interface, found by the name of the interface or of its device."""
    device = (host.interface(name) / "device" / "msi_irqs").glob("*")
    numbers = [int(path.name) for path in device if path.name.isdigit()]
    if numbers:
        return sorted(numbers)
    lines = (host.text(host.processes / "interrupts") or "").splitlines()
    return [int(found[1]) for line in lines if name in line.split() and (found := re.match(r"\s*(\d+):", line))]


def _served_by(host: Host, number: int) -> str:
    return host.text(host.processes / "irq" / str(number) / "effective_affinity_list") or ""


def _numa(host: Host, name: str, ends: list[End]) -> Iterator[Finding]:
    """Yield a finding for each node with a processor on another NUMA node than its interface."""
    own = host.number(host.interface(name) / "device" / "numa_node")
    if own is None or own < 0:
        return
    for end in ends:
        node = _numa_node(host, end.processor) if end.processor >= 0 else None
        if node is not None and node != own:
            yield Finding(
                f"NUMA node of {end.name}",
                "poor",
                f"processor {end.processor} lies on node {node}",
                f"node {own}, as {name}",
                "each packet crosses from one processor's memory to another's",
                f"numa = {own} of that node in the run file, and a processor of node {own}",
            )


def _numa_node(host: Host, processor: int) -> int | None:
    place: Path = host.system / "devices" / "system" / "cpu" / f"cpu{processor}"
    names = [path.name for path in place.glob("node*")]
    return int(names[0].removeprefix("node")) if names and names[0].removeprefix("node").isdigit() else None
