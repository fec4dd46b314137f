# SPDX-License-Identifier: Apache-2.0
"""Finds demands that a link cannot meet, as far as this can be known without asking a machine."""

import ipaddress
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rashpa.control.plan.emulators import PlannedEmulator
from rashpa.control.plan.planned_node import PlannedNode
from rashpa.control.plan.receivers import PlannedReceiver, link_to
from rashpa.control.runfile import run_file as toml
from rashpa.control.runfile.run_file_reader import RunFileSource

_PACKET_FAULTS = ("drop", "duplicate", "reorder", "corrupt")
_AGREED = ("transport", "pmtu", "packetisation")
_RNIC_PORT = 4791  # an RNIC sends to no other


def link_problems(
    file: toml.RunFile,
    emulators: Sequence[PlannedEmulator],
    receivers: Sequence[PlannedReceiver],
    source: RunFileSource,
) -> Iterator[str]:
    """Yield one line for each fault of the links."""
    yield from _kind_problems(file.link, source)
    for link in _links(file.link, receivers):
        yield from _fault_problems(file.faults, link, source)
        yield from _transport_problems(link, source)
        yield from _unlike_ends(link, source)
    yield from _rnic_problems(
        [one for one in receivers if (one.source_kind, one.destination_kind) == ("verbs", "roce")], source
    )
    with_addresses = [one for one in receivers if one.destination_kind != "pcie"]
    if any(link.framed_v1 for link in _links(file.link, receivers)):
        for link in _links(file.link, receivers):
            if link.framed_v1:
                yield from _framing_problems(link, (*emulators, *receivers), source)
    elif with_addresses:
        yield from _address_problems((*emulators, *with_addresses), source)


def _links(link: toml.Link, receivers: Sequence[PlannedReceiver]) -> list[toml.Link]:
    """Return each used link once."""
    found = {(one.source_kind, one.destination_kind): link_to(link, one) for one in receivers}
    return list(found.values())


def route_problems(
    receivers: Sequence[PlannedReceiver],
    dtps: Mapping[str, int],
    routes: Iterable[tuple[PlannedEmulator, PlannedReceiver]],
    link: toml.Link,
    source: RunFileSource,
) -> Iterator[str]:
    """Yield the faults of the routes of DTPs. `dtps`: the number of DTPs of each receiver; `routes`: pairs of emulator and receiver."""
    for receiver in receivers:
        if receiver.threads > dtps[receiver.name] and receiver.destination_kind != "stream2":  # its threads unpack
            yield (
                f"{source.where(receiver.key('threads'))}: {receiver.threads} threads for {dtps[receiver.name]} DTPs at {receiver.label}; a DTP is "
                f"received by one thread: at most {dtps[receiver.name]}"
            )
    for emulator, receiver in routes:
        if emulator.engine == "fpga" and receiver.source_kind != "roce":
            key = "link" if "link" in receiver.given else "source" if link.source else "kind"
            where = source.where(receiver.own_key("link") if key == "link" else ("link", key))
            yield f'{where}: {emulator.label} cannot send to {receiver.label} so: a card sends as the link roce does; "roce"'
        if receiver.destination_kind == "pcie" or link.framed_v1:
            continue
        if len({ipaddress.ip_address(node.address).version for node in (emulator, receiver)}) > 1:
            yield (
                f"{source.where(receiver.key('address'))}: {emulator.label} sends from {emulator.address} to {receiver.label} at {receiver.address}; "
                "both ends are of one IP version"
            )


def _fault_problems(faults: toml.Faults, link: toml.Link, source: RunFileSource) -> Iterator[str]:
    given = [name for name in _PACKET_FAULTS if getattr(faults, name) > 0]
    total = sum(getattr(faults, name) for name in given)
    if total > 1:
        yield (
            f"{source.where(('faults', given[-1]))}: {', '.join(given)} add up to {total:g}; a packet has one fault at most, so that their sum is at "
            "most 1"
        )
    unproven = link.at_destination("icrc") == "off" and link.source_kind == "roce"
    if faults.corrupt > 0 and link.at_source("transport") == "rc" and unproven:
        yield (
            f"{source.where(('faults', 'corrupt'))}: with transport rc and icrc off a damaged packet is acknowledged like any other, "
            "and no log can tell what its image ends with; icrc = modulo_id or full, or corrupt = 0"
        )
    for name in given if "pcie" in (link.source_kind, link.destination_kind) else ():
        yield f"{source.where(('faults', name))}: pcie has no packets that faults could hit; 0, or another link"
    for name in given if link.source_kind == "verbs" else ():
        yield f'{source.where(("faults", name))}: an RNIC injects no faults into its packets; 0, or link.source = "roce"'


def _kind_problems(link: toml.Link, source: RunFileSource) -> Iterator[str]:
    kinds = (link.source_kind, link.destination_kind)
    if "pcie" in kinds and kinds != ("pcie", "pcie"):
        key = "source" if link.source is not None else "destination"
        yield f"{source.where(('link', key))}: pcie is memory that both sides map; both are pcie, or neither (here {' → '.join(kinds)})"


def _transport_problems(link: toml.Link, source: RunFileSource) -> Iterator[str]:
    kinds = (link.source_kind, link.destination_kind)
    for kind in dict.fromkeys(kinds) if "verbs" in kinds else ():
        if getattr(link.of(kind), "transport", "") == "ud":
            yield f'{source.where(("link", kind, "transport"))}: ud has no RDMA WRITE, so that an RNIC cannot take or send it; "uc" or "rc", or kind "roce"'
    if "verbs" in kinds and link.of("verbs").paging == "on_demand" and link.of("verbs").transport != "rc":
        yield (
            f"{source.where(('link', 'verbs', 'paging'))}: on_demand; a page that must be fetched delays its packet, which only transport rc waits for: "
            'transport = "rc", or "pinned"'
        )
    if "verbs" in kinds and link.of("verbs").operation == "read":
        yield from _read_problems(link, source)
    roce = link.of("roce")
    if roce.transport == "ud" and roce.packetisation != "only" and "roce" in kinds:
        yield f'{source.where(("link", "roce", "packetisation"))}: {roce.packetisation}; with transport ud a message is one packet: "only"'
    used = (
        link.source_kind == "roce"
        and link.destination_kind == "roce"
        and (link.flow == "credits" or roce.transport == "rc")
    )
    if used and 0 < roce.window_bytes < roce.pmtu:
        yield (
            f"{source.where(('link', 'roce', 'window_bytes'))}: {roce.window_bytes} bytes are less than one packet of pmtu {roce.pmtu}; more, or 0 for "
            "none"
        )


def _read_problems(link: toml.Link, source: RunFileSource) -> Iterator[str]:
    where = source.where(("link", "verbs", "operation"))
    if link.of("verbs").transport != "rc":
        yield f'{where}: read; transport uc has no RDMA READ: transport = "rc", or "write"'
    if link.source_kind != link.destination_kind:
        yield f'{where}: read; {link.source_kind} → {link.destination_kind} offers nothing to read: kind = "verbs" for both ends, or "write"'
    if link.flow != "credits":
        yield f'{where}: read; a receiver counts in its credits what it has read: flow = "credits", or "write"'


def _unlike_ends(link: toml.Link, source: RunFileSource) -> Iterator[str]:
    """Yield a line for each key that must be equal in the tables of the two ends of a DTP, and is not."""
    kinds = (link.source_kind, link.destination_kind)
    for key in _AGREED if kinds[0] != kinds[1] else ():
        ours, theirs = link.at_source(key), link.at_destination(key)
        if None not in (ours, theirs) and ours != theirs:
            yield (
                f"{source.where(('link', kinds[1], key))}: {theirs}, and [link.{kinds[0]}] has {ours}; both ends of a DTP have the same: write it in "
                "both tables"
            )


def _rnic_problems(receivers: Sequence[PlannedReceiver], source: RunFileSource) -> Iterator[str]:
    for receiver in receivers:
        if receiver.port != _RNIC_PORT:
            yield f"{source.where(receiver.key('port'))}: {receiver.port}; an RNIC sends to UDP port {_RNIC_PORT} and no other"
        if receiver.threads != 1:
            yield f"{source.where(receiver.key('threads'))}: {receiver.threads}; an RNIC sends to one port, and each thread has its own: 1"


def _framing_problems(link: toml.Link, nodes: Sequence[PlannedNode], source: RunFileSource) -> Iterator[str]:
    if (link.source_kind, link.destination_kind) != ("roce", "roce"):
        yield f'{source.where(("link", "roce", "framing"))}: v1 needs kind "roce" on both sides; use "v2"'
    for node in nodes:
        if not node.address.lower().startswith("fe80:") or "%" not in node.address:
            yield (
                f'{source.where(node.key("address"))}: "{node.address}" is no link-local GID with its interface; framing v1 needs '
                "one such as fe80::8ec:aff:fe01:203%eth0 (the EUI-64 form of the MAC address)"
            )


def _address_problems(nodes: Sequence[PlannedNode], source: RunFileSource) -> Iterator[str]:
    for node in nodes:
        try:
            if ipaddress.ip_address(node.address).is_multicast:
                yield (
                    f'{source.where(node.key("address"))}: "{node.address}" is an address of many; each DTP is sent to one receiver, which grants its '
                    "slots: the address of one interface"
                )
        except ValueError:
            yield f'{source.where(node.key("address"))}: "{node.address}" is no IPv4 or IPv6 address; give a numeric one, such as 127.0.0.1'
