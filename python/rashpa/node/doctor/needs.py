# SPDX-License-Identifier: Apache-2.0
"""Lists the demands of a run file on this machine: interfaces, sockets, packets, memory and processors of the nodes that run here."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from rashpa.control.capacity.loads import DtpLoad, dtp_loads, memory_of
from rashpa.control.capacity.packets import longest_packet
from rashpa.control.plan.model import Plan
from rashpa.control.plan.planned_node import PlannedNode

_SOCKETS = ("roce", "sls")  # links that receive by sockets of this program


@dataclass(frozen=True)
class End:
    """Describes one network end of a node on this machine. `address`: its own address; `peers`: addresses of the other ends. `packets_per_s` and
    `bytes_per_s` (on the wire): 0 when the detector's rate is not given. `packet_bytes`: the longest IP packet. `processor`: that of its first
    thread, -1 for any; `port`: 0 for any."""

    name: str
    role: str
    address: str
    peers: tuple[str, ...]
    port: int
    threads: int
    kind: str
    packets_per_s: float
    bytes_per_s: float
    packet_bytes: int
    processor: int


@dataclass(frozen=True)
class Needs:
    """Holds the demands of one run. `memory_bytes`: the buffers of all receivers here; `pinned_bytes`: the part that an RNIC or a GPU pins;
    `elsewhere`: labels of nodes on other machines; `huge`: True when images use huge pages where available; `socket_bytes`: the requested buffer size
    of each socket."""

    ends: tuple[End, ...]
    elsewhere: tuple[str, ...]
    memory_bytes: int
    pinned_bytes: int
    huge: bool
    socket_bytes: int

    @property
    def receiving(self) -> tuple[End, ...]:
        """Return the ends of receivers that receive through sockets of this program."""
        return tuple(end for end in self.ends if end.role == "receiver" and end.kind != "pcie")


NOTHING = Needs((), (), 0, 0, huge=False, socket_bytes=0)
"""The demands of no run."""


def needs_of(plan: Plan, own: Collection[str]) -> Needs:
    """Return the demands of a plan on this machine. `own`: the addresses of this machine; a node with a URL runs here when its URL has one of them."""
    loads = dtp_loads(plan)
    addresses = {node.name: node.address for node in plan.nodes}
    here = [node for node in plan.nodes if not node.machine or node.machine in own]
    names = {node.name for node in here}
    ends: list[End] = []
    for node in here:
        mine = [load for load in loads if node.name in (load.emulator, load.receiver)]
        others = {load.receiver if load.emulator == node.name else load.emulator for load in mine}
        peers = tuple(sorted({addresses[name] for name in others if name in addresses}))  # a detector is no node
        kinds = {load.destination_link if load.receiver == node.name else load.source_link for load in mine}
        ends.extend(_end(plan, node, kind, peers, mine) for kind in sorted(kinds))
    memory = _memory(plan, names)
    pinned = [name for name, used in memory.items() if any(e.kind == "verbs" and e.name == name for e in ends)]
    return Needs(
        ends=tuple(ends),
        elsewhere=tuple(node.label for node in plan.nodes if node not in here),
        memory_bytes=sum(memory.values()),
        pinned_bytes=sum(memory[name] for name in pinned),
        huge=any(receiver.memory == "huge" for receiver in plan.receivers if receiver.name in names),
        socket_bytes=max(
            (plan.file.link.of(end.kind).socket_buffer for end in ends if end.kind in _SOCKETS), default=0
        ),
    )


def _end(plan: Plan, node: PlannedNode, kind: str, peers: tuple[str, ...], loads: Sequence[DtpLoad]) -> End:
    return End(
        name=node.label,
        role=node.role,
        address=node.address,
        peers=peers,
        port=getattr(node, "port", 0),
        threads=getattr(node, "threads", 1),
        kind=kind,
        packets_per_s=sum(load.packets_per_s for load in loads),
        bytes_per_s=sum(load.wire_bytes_per_s for load in loads),
        packet_bytes=longest_packet(plan.file.link, kind, node.address),
        processor=node.processor,
    )


def _memory(plan: Plan, names: Collection[str]) -> Mapping[str, int]:
    """Return the bytes of the buffers of each receiver on this machine, by its label."""
    found: dict[str, int] = {}
    for receiver in plan.receivers:
        if receiver.name in names:
            found[receiver.label] = sum(
                sum(memory_of(plan, buffer).values()) for buffer in plan.buffers if buffer.receiver == receiver.name
            )
    return found
