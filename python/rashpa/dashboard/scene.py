# SPDX-License-Identifier: Apache-2.0
"""Describes a snapshot of nodes and run, as the page shows it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from rashpa.control.capacity.limits import Limit
from rashpa.control.nodes.node_load import Load, busy
from rashpa.control.nodes.node_progress import Receiving, Sending, progress_of
from rashpa.control.plan.model import Plan
from rashpa.control.telegrams.telegram import Books, BufferStatus, Count, Status


@dataclass(frozen=True)
class NodeScene:
    """Holds the state of one node. `status`: the last one, also of a lost node; `problem`: the reason why there is no newer one."""

    name: str
    url: str
    status: Status | None = None
    before: Status | None = None
    load: Load | None = None
    load_before: Load | None = None
    problem: str = ""
    alone: bool = False  # it was lost while others answered
    gone: bool = False  # with its run

    def ended(self) -> "NodeScene":
        """Return the state of this node after its run. A node that the run had started has ended, too."""
        return self if self.alone or not self.problem else replace(self, problem="", gone=True)

    @property
    def state(self) -> str:
        if self.gone:
            return "gone"
        if self.problem:
            return "lost"
        return self.status.state if self.status is not None else "not asked yet"

    @property
    def processors(self) -> float | None:
        """Return the number of processors that the node keeps busy."""
        return busy(self.load_before, self.load)[0] if self.load is not None else None

    @cached_property
    def parts(self) -> tuple[Sending | Receiving, ...]:
        """Return the progress and rate of each part of the node."""
        return progress_of(self.before, self.status) if self.status is not None else ()


@dataclass(frozen=True)
class BufferScene:
    """Holds the state of one buffer and its rate. `elapsed_s`: seconds since the run began, by its node's clock when it reported the counts."""

    node: str
    status: BufferStatus
    progress: Receiving
    elapsed_s: float

    @property
    def key(self) -> tuple[str, str]:
        """Return the key that identifies the buffer in the run."""
        return self.node, self.status.name


@dataclass(frozen=True)
class Ending:
    """Holds the end of a run from the report in `folder`. `good`: True when no line is red; `lines`: the red lines. `books`: the books of each
    buffer; `counts`: its vetoes and errors."""

    folder: str
    good: bool
    lines: tuple[str, ...]
    books: Mapping[str, Books]
    text: str
    counts: Mapping[str, tuple[Count, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Scene:
    """Holds everything that the page shows. `plan`: that of the run that goes on, otherwise of the last or next one. `going`: True while a run goes
    on; `managed`: True when its manager is alive. `ending`: the end of a run that has a report."""

    time_s: float
    plan: Plan | None
    going: bool
    managed: bool
    holder: str = ""
    nodes: tuple[NodeScene, ...] = ()
    limits: tuple[Limit, ...] = ()
    ending: Ending | None = None
    free_bytes: int | None = None  # of the disk of run.output, where receivers of this machine store
    said: tuple[str, ...] = field(default=())  # lines that the run has printed, where the page has started it

    @cached_property
    def buffers(self) -> tuple[BufferScene, ...]:
        return tuple(self._buffers())

    def _buffers(self) -> Iterator[BufferScene]:
        for node in self.nodes:
            if node.status is None or node.status.destination is None:
                continue
            of = {part.name: part for part in node.parts if isinstance(part, Receiving)}
            for buffer in node.status.destination.buffers:
                yield BufferScene(node.name, buffer, of[buffer.name], node.status.destination.elapsed_s)

    @cached_property
    def sources(self) -> tuple[Sending, ...]:
        return tuple(part for node in self.nodes for part in node.parts if isinstance(part, Sending))

    @cached_property
    def state(self) -> str:
        """Return the state as one word."""
        if not self.going:
            return "ended" if self.ending is not None or any(node.status for node in self.nodes) else "no run"
        states = {node.state for node in self.nodes if node.status is None or node.status.role == "emulator"}
        if any(node.state in ("lost", "fault") for node in self.nodes):
            return "in trouble"
        for state in ("paused", "running", "armed", "configured"):
            if state in states:
                return state
        return "finishing" if states == {"finished"} else "starting"

    @property
    def done(self) -> float | None:
        """Return the share of the run's images with a known fate, None while the number of images is unknown."""
        if self.plan is None or self.plan.end_told:
            return None
        dealt = {name for group in self.plan.groups for name in group.buffers}
        expected = sum(one.status.books.expected for one in self.buffers if one.status.name not in dealt)
        # a member of a group expects what it was dealt until now; the group expects all
        images = {buffer.section.name: buffer.images for buffer in self.plan.buffers}
        expected += sum(images[group.buffers[0]] for group in self.plan.groups)
        return sum(buffer.status.books.decided for buffer in self.buffers) / expected if expected else None
