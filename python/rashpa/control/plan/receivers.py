# SPDX-License-Identifier: Apache-2.0
"""Plans the receivers of a run file: their settings, and the resources that two receivers must not share."""

import ipaddress
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

from rashpa.control.plan.planned_node import PlannedNode
from rashpa.control.runfile import run_file as toml
from rashpa.control.runfile.run_file_reader import RunFileSource


@dataclass(frozen=True)
class PlannedReceiver(PlannedNode):
    """Describes one receiver."""

    port: int
    threads: int
    poll: str
    memory: str
    source_kind: str
    """The link of the emulators that send to it …"""
    destination_kind: str
    """… and its own."""

    role: ClassVar[str] = "receiver"


def plan_receivers(file: toml.RunFile) -> tuple[PlannedReceiver, ...]:
    """Return the receivers in the order of the run file; at least one."""
    listed = isinstance(file.receiver, list)
    return tuple(
        _planned(file, section, position if listed and file.receiver else None)
        for position, section in enumerate(file.receivers)
    )


def _planned(file: toml.RunFile, section: toml.Receiver, position: int | None) -> PlannedReceiver:
    own = section.model_dump(exclude={"name", "link"})
    own["node"] = section.node or file.nodes.receiver
    return PlannedReceiver(
        section.name,
        position,
        frozenset(section.model_fields_set),
        **own,
        source_kind=section.link or file.link.source_kind,
        destination_kind=section.link or file.link.destination_kind,
    )


def link_to(link: toml.Link, receiver: PlannedReceiver) -> toml.Link:
    """Return the table [link] as it would be if all receivers were like this one."""
    return link.model_copy(update={"source": receiver.source_kind, "destination": receiver.destination_kind})


def receiver_problems(file: toml.RunFile, receivers: Sequence[PlannedReceiver], source: RunFileSource) -> Iterator[str]:
    """Yield a line for each fault of the receivers, and of the buffers' keys that name receivers."""
    names = [receiver.name for receiver in receivers]
    for receiver in receivers:
        yield from _own_problems(receiver, source)
    for number, buffer in enumerate(file.buffer):
        if buffer.receiver is not None and buffer.receiver not in names:
            there = (
                f"there are {', '.join(names)}"
                if isinstance(file.receiver, list)
                else "the file lists none: add [[receiver]]"
            )
            yield f"{source.where(('buffer', number, 'receiver'))}: no receiver is named {buffer.receiver}; {there}"
    used = {buffer.receiver or names[0] for buffer in file.buffer}
    for receiver in receivers:
        if receiver.position is not None and receiver.name not in used:
            yield (
                f"{source.where(receiver.own_key('name'))}: no buffer lies at {receiver.label}; give it one "
                f'([[buffer]] receiver = "{receiver.name}") or take the receiver out'
            )
    for one, other in combinations(receivers, 2):
        yield from _common_problems(file, one, other, source)


def _own_problems(receiver: PlannedReceiver, source: RunFileSource) -> Iterator[str]:
    last = receiver.port + receiver.threads - 1
    if receiver.port != 0 and last > 65535:
        yield f"{source.where(receiver.key('port'))}: {receiver.port} and {receiver.threads} threads end at port {last}; 65535 is the last"


def _common_problems(
    file: toml.RunFile, one: PlannedReceiver, other: PlannedReceiver, source: RunFileSource
) -> Iterator[str]:
    ports = one.destination_kind == other.destination_kind == "roce" and file.link.of("roce").framing == "v2"
    if not ports or one.port == 0 or other.port == 0:
        return
    ranges = [range(each.port, each.port + each.threads) for each in (one, other)]
    overlap = ranges[0].start < ranges[1].stop and ranges[1].start < ranges[0].stop
    if overlap and _same_address(one, other):
        said = [f"{each.start} … {each.stop - 1}" if len(each) > 1 else f"{each.start}" for each in ranges]
        yield (
            f"{source.where(other.own_key('port'))}: {one.label} listens on {one.address} port {said[0]}, {other.label} on {other.address} "
            f"port {said[1]}; give each its own port or address, or port = 0 (any free one)"
        )


def _same_address(one: PlannedReceiver, other: PlannedReceiver) -> bool:
    """Return True when one receiver could get packets for the other: the same address, or a wildcard on the same machine."""
    if one.address == other.address:
        return True
    try:
        addresses = [ipaddress.ip_address(each.address) for each in (one, other)]
    except ValueError:  # the link says what is wrong with it
        return False
    if addresses[0] == addresses[1]:
        return True
    same_machine = one.machine == other.machine
    same_family = addresses[0].version == addresses[1].version
    return same_machine and same_family and any(address.is_unspecified for address in addresses)
