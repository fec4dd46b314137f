# SPDX-License-Identifier: Apache-2.0
"""Defines the common part of a run's emulators and receivers: a name, a node, and the resources that two nodes must not share."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar
from urllib.parse import urlsplit

from rashpa.control.runfile.key_types import KeyPath
from rashpa.control.runfile.run_file_reader import RunFileSource


@dataclass(frozen=True)
class PlannedNode:
    """Describes a node with all its values, given or default. `position`: its position in the run file's list of its role, None when the file lists
    none."""

    name: str
    position: int | None
    given: frozenset[str]
    node: str
    address: str
    device: str
    processor: int
    numa: str | int
    launch: Sequence[str]

    role: ClassVar[str]

    @property
    def label(self) -> str:
        """Return the name of the node for messages."""
        return self.name if self.name == self.role else f"{self.role} {self.name}"

    @property
    def shown_name(self) -> str:
        """Return the node's name when the run file lists several nodes of its role, otherwise an empty text."""
        return "" if self.position is None else self.name

    @property
    def machine(self) -> str:
        """Return the host of the node, empty for this machine."""
        host = urlsplit(self.node).hostname or ""
        return "" if host in ("localhost", "::1") or host.startswith("127.") else host

    def key(self, name: str) -> KeyPath:
        """Return the key of the run file that determines the value `name`."""
        return ("nodes", self.role) if name == "node" and name not in self.given else self.own_key(name)

    def own_key(self, name: str) -> KeyPath:
        """Return the key of the node's own table for the value `name`, whether it exists or not."""
        return (self.role, self.position, name) if self.position is not None else (self.role, name)


def is_loopback(url: str) -> bool:
    """Return True when a node's URL has a loopback address, and thus means this machine."""
    return any(url.startswith(f"http://{host}") for host in ("127.", "localhost", "[::1]"))


def node_problems(nodes: Sequence[PlannedNode], source: RunFileSource) -> Iterator[str]:
    """Yield a line for each fault of nodes of any role."""
    for node in nodes:
        if node.node.startswith("http://") and not is_loopback(node.node):
            yield f"{source.where(node.key('node'))}: {node.node}; nodes elsewhere are reached by https:// only"
    for one, other in combinations(nodes, 2):
        if one.name == other.name:
            yield _same_name(one, other, source)
        if one.node != "local" and one.node.rstrip("/") == other.node.rstrip("/"):
            yield (
                f"{source.where(other.own_key('node'))}: {one.label} and {other.label} are both the node {one.node}; a node has one part in a "
                "run: give each its own"
            )


def _same_name(one: PlannedNode, other: PlannedNode, source: RunFileSource) -> str:
    """Return the fault of two nodes with the same name. It asks to rename the later one in the file's lists; a node in no list has its default name."""
    listed, earlier = (other, one) if other.position is not None else (one, other)
    where = source.where(listed.own_key("name"))
    if earlier.position is None:
        return (
            f"{where}: {listed.name} is the name of the {earlier.role} that no [[{earlier.role}]] names; choose another"
        )
    article = "an earlier" if earlier.role == listed.role else "an" if earlier.role[0] in "aeiou" else "a"
    return f"{where}: {listed.name} is the name of {article} {earlier.role}; choose another"


def processor_cautions(nodes: Sequence[PlannedNode], source: RunFileSource) -> Iterator[str]:
    """Yield a line for nodes on one machine that would pin their threads to the same processors."""
    for one, other in combinations(nodes, 2):
        if one.processor >= 0 and one.processor == other.processor and one.machine == other.machine:
            yield (
                f"{source.where(other.own_key('processor'))}: {one.label} and {other.label} both begin at processor {one.processor} of one machine; "
                "give each its own"
            )
