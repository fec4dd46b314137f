# SPDX-License-Identifier: Apache-2.0
"""Finds the hop at which the data of a run stop, from two snapshots of its nodes and of this machine. The hops are source, interface, socket, link,
images, vetoes and sinks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rashpa.control.nodes.standstill import REFUSED
from rashpa.control.telegrams.telegram import BufferStatus, SourceStatus, Status, count_of
from rashpa.node.doctor.finding import Host
from rashpa.node.doctor.sockets import drops_of


@dataclass(frozen=True)
class Look:
    """Holds the counters at one moment. `arrived`: received packets of each interface of this machine; `dropped`: packets of each UDP port that the
    kernel dropped because no program read them in time."""

    nodes: tuple[Status, ...]
    arrived: Mapping[str, int] = field(default_factory=dict)
    dropped: Mapping[int, int] = field(default_factory=dict)


def look(nodes: Sequence[Status], names: Sequence[str], ports: Sequence[int], host: Host) -> Look:
    """Return a snapshot of this machine's counters and of the statuses of nodes. `names`: interfaces that receive packets; `ports`: UDP ports of
    sockets."""
    arrived = {name: host.number(host.interface(name) / "statistics" / "rx_packets") for name in names}
    dropped = {port: drops_of(host, port) for port in ports}
    return Look(
        tuple(nodes),
        {name: value for name, value in arrived.items() if value is not None},
        {port: value for port, value in dropped.items() if value is not None},
    )


def silent_hop(before: Look, now: Look) -> str:
    """Return one sentence: the first hop that forwards nothing, with a remedy; or that data flow."""
    receivers = [status for status in now.nodes if status.destination is not None]
    return (
        _source(before, now) or _way(before, now, receivers) or _images(before, receivers) or _flow(before, receivers)
    )


def _source(before: Look, now: Look) -> str:
    """Return a sentence when there are emulators and none of them sends; otherwise an empty text."""
    sources = [status for status in now.nodes if status.source is not None]
    if not sources or any(_sent(status.source) > _sent(_earlier_source(before, status)) for status in sources):
        return ""
    for status in sources:
        if status.state != "running":
            return f"the source {status.node} does not send: it is {status.state}; {_begin(status.state)}"
        triggers = count_of(status.source.counts, "trigger") if status.source else {}
        if triggers and not triggers.get("accepted"):
            return (
                f"the source {status.node} waits for triggers, and none has come; rashpa trigger, or another [trigger]"
            )
    if full := _full(now):
        return (
            f"the sources wait: buffer {full.name} has no free slot; its kernels or sinks are slower than the detector"
        )
    return "the sources are running and send nothing: their windows are full, or no credits come back; see their logs"


def _begin(state: str) -> str:
    return {"paused": "rashpa resume", "finished": "the run is over", "fault": "its message says why"}.get(
        state, "the run has not begun"
    )


def _full(now: Look) -> BufferStatus | None:
    return next(
        (
            buffer
            for status in now.nodes
            for buffer in (status.destination.buffers if status.destination else ())
            if buffer.slots and buffer.to_write >= buffer.slots
        ),
        None,
    )


def _way(before: Look, now: Look, receivers: Sequence[Status]) -> str:
    """Return a sentence when no receiver accepts packets, or when receivers refuse all packets; otherwise an empty text."""
    if not receivers:
        return "no receiver answers: nobody takes the data"
    taken = sum(_link(before, status, "packets") for status in receivers)
    refused = {name: sum(_link(before, status, name) for status in receivers) for name in REFUSED}
    worst = max(refused, key=refused.__getitem__)
    if refused[worst] and not sum(_link(before, status, "payload_bytes") for status in receivers):
        return f"packets come and are refused: {refused[worst]:,} {REFUSED[worst]}"
    if taken or sum(_link(before, status, "events") for status in receivers):
        return ""
    dropped = {port: value - before.dropped.get(port, 0) for port, value in now.dropped.items()}
    for port, value in dropped.items():
        if value > 0:
            return (
                f"{value:,} packets were dropped at the socket of port {port}: its thread does not run; see processors"
            )
    arrived = {name: value - before.arrived.get(name, 0) for name, value in now.arrived.items()}
    if not arrived:
        return (
            "no packet reaches a receiver; run rashpa doctor on its machine to see whether they come to its interface"
        )
    if not any(arrived.values()):
        return f"no packet comes to {' or '.join(arrived)}: cable, switch, VLAN, or the address of the receiver"
    words = " and ".join(f"{value:,} packets come to {name}" for name, value in arrived.items() if value)
    return f"{words} and none to a receiver's port: a firewall (nft list ruleset), rp_filter, or another port"


def _images(before: Look, receivers: Sequence[Status]) -> str:
    """Return a sentence when packets are accepted but no image is stored; otherwise an empty text."""
    for status in receivers:
        earlier = {each.name: each.books for each in _buffers(_earlier(before, status))}
        for buffer in _buffers(status):
            books, old = buffer.books, earlier.get(buffer.name)
            decided = books.decided - (old.decided if old else 0)
            complete = books.complete - (old.complete if old else 0)
            accepted = books.accepted - (old.accepted if old else 0)
            written = books.written - (old.written if old else 0)
            if not decided:
                return f"packets of buffer {buffer.name} are taken and no image ends: its events do not come; see deadline_ms"
            if not complete:
                return f"no image of buffer {buffer.name} is complete: packets are lost on the way; see rings, sockets and MTU"
            if not accepted and books.errored > (old.errored if old else 0):
                return f"every image of buffer {buffer.name} is errored: its kernel fails; see the log of {status.node}"
            if not accepted:
                return f"every image of buffer {buffer.name} is vetoed; see the thresholds of its vetoes"
            if not written and buffer.to_write:
                return f"images of buffer {buffer.name} wait for its sinks: the disk is full or slow, or a consumer does not read"
    return ""


def _flow(before: Look, receivers: Sequence[Status]) -> str:
    decided = sum(buffer.books.decided for status in receivers for buffer in _buffers(status)) - sum(
        buffer.books.decided for status in receivers for buffer in _buffers(_earlier(before, status))
    )
    return f"data flow: {decided:,} images were decided between the two looks"


def _link(before: Look, status: Status, name: str) -> int:
    """Return the increase of a counter of a receiver's link between the two snapshots."""
    now = count_of(status.destination.counts, "link") if status.destination else {}
    earlier = _earlier(before, status)
    old = count_of(earlier.destination.counts, "link") if earlier and earlier.destination else {}
    return now.get(name, 0) - old.get(name, 0)


def _earlier(before: Look, status: Status) -> Status | None:
    return next((each for each in before.nodes if each.node == status.node and each.role == status.role), None)


def _earlier_source(before: Look, status: Status) -> SourceStatus | None:
    earlier = _earlier(before, status)
    return earlier.source if earlier else None


def _sent(source: SourceStatus | None) -> int:
    return sum(dtp.payload_bytes for dtp in source.dtps) if source else 0


def _buffers(status: Status | None) -> tuple[BufferStatus, ...]:
    return status.destination.buffers if status and status.destination else ()
