# SPDX-License-Identifier: Apache-2.0
"""Records a run while it goes on, for its observer, its journal, and its outcome."""

import contextlib
import socket
import time
from collections.abc import Callable, Iterable

from rashpa.control.books.outcome import Outcome, Progress
from rashpa.control.books.pictures import take_pictures
from rashpa.control.handover.journal import VERSION, Journal, KnownNode, Record
from rashpa.control.nodes.fleet import Fleet
from rashpa.control.nodes.log_text import lines_of
from rashpa.control.nodes.node_client import NodeError
from rashpa.control.nodes.process_identity import identity_of
from rashpa.control.nodes.running_time import since_boot
from rashpa.control.plan.groups import Joined
from rashpa.control.run.run_nodes import RunNodes
from rashpa.data.base.telling import OnlyTells, only_tells

_LOG_ENTRIES = 1000

Observer = Callable[[Progress], None]


def unobserved(progress: Progress) -> None:
    """Ignore the progress."""


class RunNotes:
    """Keeps the notes of one run. `began`: the monotonic time when the acquisition began, 0 before. `joined`: receivers that are not in the run file."""

    def __init__(
        self, fleet: Fleet, nodes: RunNodes, outcome: Outcome, journal: Journal | None, observer: Observer = unobserved
    ) -> None:
        self.outcome = outcome
        self.began = 0.0
        self.joined: tuple[Joined, ...] = ()
        self._fleet = fleet
        self._nodes = nodes
        self._journal = journal
        self.observe(observer)

    def observe(self, observer: Observer) -> None:
        """Call `observer` with the progress of the run. Its exception becomes a caution of the run, and it is not called again."""
        self._observer = OnlyTells("the observer of the run", observer, self.caution)

    @property
    def elapsed_s(self) -> float:
        """Return the seconds of the acquisition, 0 before it has begun."""
        return time.monotonic() - self.began if self.began else 0.0

    def caution(self, text: str) -> None:
        """Add a caution to the outcome; the run can still be good."""
        self.outcome.cautions += (text,)

    def tell(self, phase: str) -> None:
        """Report the present phase and the last status of the nodes to the observer."""
        fleet = self._fleet
        emulators, receivers = fleet.heard_of(fleet.emulators), fleet.heard_of(fleet.receivers)
        self._observer(Progress(phase, fleet.plan.file.run.most_frames, self.elapsed_s, emulators, receivers))

    def note(self) -> None:
        """Write the journal, for a manager that takes over, and for users who want the run to end. Raise NodeError when the run must be able to
        continue without its manager, and no journal can be written."""
        if self._journal is None:
            return
        try:
            self._journal.write(self._record(self._journal))
        except OSError as error:
            text = f"{self._journal.path}: the journal of the run cannot be written: {error.strerror}; choose another run.output"
            if self._fleet.plan.file.run.orphaned == "finish":
                raise NodeError("manager", text, "file") from None
            if not self.began:
                self.caution(f"{text}, or `rashpa attach` will not find this run")

    def close(self) -> None:
        """Remove the journal, since the run is over."""
        if self._journal is not None:
            self._journal.remove()

    async def keep_log(self, name: str) -> None:
        """Copy the log of a node that ends with the run. The run continues when the node does not answer."""
        with only_tells(f"the log of {self._fleet.label(name)}", self.caution), contextlib.suppress(NodeError):
            self.outcome.logs[name] = lines_of(await self._fleet.clients[name].log(_LOG_ENTRIES))

    async def keep_pictures(self, receivers: Iterable[str]) -> None:
        """Store images for the report, if there will be one."""
        if self._journal is None or not self._journal.report:
            return
        with only_tells("images for the report", self.caution):
            self.outcome.pictures |= await take_pictures(self._fleet.plan, self._fleet.clients, receivers)

    def _record(self, journal: Journal) -> Record:
        plan, nodes = self._fleet.plan, self._nodes
        pids = {name: nodes.local[name].pid if name in nodes.local else 0 for name in nodes.clients}
        known = (
            KnownNode(name, client.url, pids[name], identity_of(pids[name]) if pids[name] else "")
            for name, client in nodes.clients.items()
        )
        certificate = nodes.launcher.certificate
        return Record(
            version=VERSION,
            holder=self._fleet.holder,
            owner=nodes.owner,
            local_token=nodes.local_token,
            host=socket.gethostname(),
            run_file=str(plan.source.path.resolve()),
            text=plan.source.text,
            is_toml=plan.source.is_toml,
            output=str(plan.file.run.folder.resolve()),
            report=journal.report,
            began=since_boot() - self.elapsed_s if self.began else 0.0,
            nodes=tuple(known),
            certificate=certificate.certificate if certificate is not None else "",
            joined=self.joined,
        )
