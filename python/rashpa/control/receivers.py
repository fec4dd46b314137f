"""The receivers of a run file: what each is told, and what several of them must not share."""

import ipaddress
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from urllib.parse import urlsplit

from rashpa.control import run_file as toml
from rashpa.control.run_file_reader import KeyPath, RunFileSource

EMULATOR = "emulator"
ONLY = "receiver"  # the name of the one receiver of a run file that lists none

_IN_LINK_AND_NODES: dict[str, KeyPath] = {
    "node": ("nodes", "receiver"),
    "address": ("link", "receiver_address"),
    "port": ("link", "port"),
    "threads": ("link", "threads"),
    "device": ("link", "receiver_device"),
    "processor": ("link", "receiver_processor"),
}


@dataclass(frozen=True)
class PlannedReceiver:
    """A receiver with every value it has, given or not. `position` in the run file's list; None when the file lists none."""

    name: str
    position: int | None
    given: frozenset[str]
    node: str
    address: str
    port: int
    threads: int
    device: str
    processor: int

    @property
    def label(self) -> str:
        """How messages call it."""
        return self.name if self.name == ONLY else f"receiver {self.name}"

    @property
    def shown_name(self) -> str:
        """Its name where several are told apart; empty when the file lists none."""
        return "" if self.position is None else self.name

    @property
    def machine(self) -> str:
        """The host of its node; empty: this machine."""
        host = urlsplit(self.node).hostname or ""
        return "" if host in ("localhost", "::1") or host.startswith("127.") else host

    def key(self, name: str) -> KeyPath:
        """Where the value of `name` stands in the run file."""
        return ("receiver", self.position, name) if self.position is not None and name in self.given else _default(name)

    def own_key(self, name: str) -> KeyPath:
        """Where a value of its own stands or would stand."""
        return ("receiver", self.position, name) if self.position is not None else _default(name)


def _default(name: str) -> KeyPath:
    return _IN_LINK_AND_NODES[name]


def plan_receivers(file: toml.RunFile) -> tuple[PlannedReceiver, ...]:
    """In the order of the run file; at least one."""
    defaults = {
        "node": file.nodes.receiver,
        "address": file.link.receiver_address,
        "port": file.link.port,
        "threads": file.link.threads,
        "device": file.link.receiver_device,
        "processor": file.link.receiver_processor,
    }
    if not file.receiver:
        return (PlannedReceiver(ONLY, None, frozenset(), **defaults),)  # type: ignore[arg-type]
    found: list[PlannedReceiver] = []
    for position, section in enumerate(file.receiver):
        own = {name: value for name, value in section.model_dump(exclude={"name"}).items() if value is not None}
        found.append(PlannedReceiver(section.name, position, frozenset(own), **{**defaults, **own}))
    return tuple(found)


def receiver_problems(file: toml.RunFile, receivers: Sequence[PlannedReceiver], source: RunFileSource) -> Iterator[str]:
    """What is wrong with the receivers and with what buffers say of them, a line each."""
    names = [receiver.name for receiver in receivers]
    for receiver in receivers:
        yield from _own_problems(receiver, names, source)
    for number, buffer in enumerate(file.buffer):
        if buffer.receiver is not None and buffer.receiver not in names:
            there = f"there are {', '.join(names)}" if file.receiver else "the file lists none: add [[receiver]]"
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


def _own_problems(receiver: PlannedReceiver, names: Sequence[str], source: RunFileSource) -> Iterator[str]:
    where = source.where(receiver.own_key("name")) if receiver.position is not None else ""
    if receiver.position is not None and names.index(receiver.name) != receiver.position:
        yield f"{where}: {receiver.name} is the name of an earlier receiver; choose another"
    if receiver.name == EMULATOR:
        yield f"{where}: {EMULATOR} is the name of the other side; choose another"
    if receiver.node.startswith("http://") and not is_loopback(receiver.node):
        yield f"{source.where(receiver.key('node'))}: {receiver.node}; nodes elsewhere are reached by https:// only"
    last = receiver.port + receiver.threads - 1
    if receiver.port != 0 and last > 65535:
        yield f"{source.where(receiver.key('port'))}: {receiver.port} and {receiver.threads} threads end at port {last}; 65535 is the last"


def is_loopback(url: str) -> bool:
    """Whether a node's URL names this machine itself."""
    return any(url.startswith(f"http://{host}") for host in ("127.", "localhost", "[::1]"))


def _common_problems(
    file: toml.RunFile, one: PlannedReceiver, other: PlannedReceiver, source: RunFileSource
) -> Iterator[str]:
    if one.node != "local" and one.node.rstrip("/") == other.node.rstrip("/"):
        yield (
            f"{source.where(other.own_key('node'))}: {one.label} and {other.label} are both the node {one.node}; a node is one receiver: "
            "give each its own"
        )
    ports = file.link.destination_kind == "roce" and file.link.framing == "v2"  # the others have no ports of ours
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
    """Whether packets for one could be taken by the other: the same address, or a wildcard on the same machine."""
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


def processor_cautions(receivers: Sequence[PlannedReceiver], source: RunFileSource) -> Iterator[str]:
    """Receivers on one machine that would pin their threads to the same processors."""
    for one, other in combinations(receivers, 2):
        if one.processor >= 0 and one.processor == other.processor and one.machine == other.machine:
            yield (
                f"{source.where(other.own_key('processor'))}: {one.label} and {other.label} both begin at processor {one.processor} of one machine; "
                "give each its own"
            )
