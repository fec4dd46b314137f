# SPDX-License-Identifier: Apache-2.0
"""What is known at one moment, as the page shows it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from rashpa.control.capacity.limits import Limit
from rashpa.control.nodes.node_load import Load, busy
from rashpa.control.nodes.node_progress import Receiving, Sending, progress_of
from rashpa.control.plan.run_plan import Plan
from rashpa.control.telegrams.telegram import Books, BufferStatus, Count, Status


@dataclass(frozen=True)
class NodeScene:
    """One node. `status`: the last one, also of a node that is lost; `problem`: why there is no newer one."""

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
        """When its run has ended: nodes that the run has started go with it."""
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
        """How many it keeps busy."""
        return busy(self.load_before, self.load)[0] if self.load is not None else None

    @property
    def parts(self) -> tuple[Sending | Receiving, ...]:
        """How far it is, and how fast."""
        return progress_of(self.before, self.status) if self.status is not None else ()


@dataclass(frozen=True)
class BufferScene:
    """A buffer, and how fast it is."""

    node: str
    status: BufferStatus
    progress: Receiving

    @property
    def key(self) -> tuple[str, str]:
        """Of it among all buffers of the run."""
        return self.node, self.status.name


@dataclass(frozen=True)
class Ending:
    """How a run ended, as its report says it: `folder` of the report. `good`: nothing is red; `lines`: what is. `books`: of each buffer; `counts`: its vetoes and
    errors."""

    folder: str
    good: bool
    lines: tuple[str, ...]
    books: Mapping[str, Books]
    text: str
    counts: Mapping[str, tuple[Count, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Scene:
    """`plan`: of the run that goes on, or went on last, or could. `going`: a run goes on; `managed`: its manager lives. `ending`: of the run that has ended, where a
    report was written."""

    time_s: float
    plan: Plan | None
    going: bool
    managed: bool
    holder: str = ""
    nodes: tuple[NodeScene, ...] = ()
    limits: tuple[Limit, ...] = ()
    ending: Ending | None = None
    said: tuple[str, ...] = field(default=())  # lines that the run has printed, where the page has started it

    @property
    def buffers(self) -> tuple[BufferScene, ...]:
        return tuple(self._buffers())

    def _buffers(self) -> Iterator[BufferScene]:
        for node in self.nodes:
            if node.status is None or node.status.destination is None:
                continue
            of = {part.name: part for part in node.parts if isinstance(part, Receiving)}
            for buffer in node.status.destination.buffers:
                yield BufferScene(node.name, buffer, of[buffer.name])

    @property
    def sources(self) -> tuple[Sending, ...]:
        return tuple(part for node in self.nodes for part in node.parts if isinstance(part, Sending))

    @property
    def state(self) -> str:
        """In a word."""
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
        """The share of the run's images of which it is known what has arrived; None where nobody knows how many there are."""
        if self.plan is None or self.plan.end_told:
            return None
        dealt = {name for group in self.plan.groups for name in group.buffers}
        expected = sum(one.status.books.expected for one in self.buffers if one.status.name not in dealt)
        # a member of a group expects what it was dealt until now; the group expects all
        images = {buffer.section.name: buffer.images for buffer in self.plan.buffers}
        expected += sum(images[group.buffers[0]] for group in self.plan.groups)
        return sum(buffer.status.books.decided for buffer in self.buffers) / expected if expected else None
