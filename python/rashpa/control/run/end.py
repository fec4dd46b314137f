# SPDX-License-Identifier: Apache-2.0
"""Ends a run before its last frame, or a run with an unknown last frame: all emulators end after the same frame."""

from collections.abc import Iterable, Sequence

from rashpa.control.books.outcome import Outcome
from rashpa.control.handover.journal import Journal
from rashpa.control.handover.stop_request import StopAnswer, StopRequests
from rashpa.control.nodes.gather_limited import gather_all
from rashpa.control.nodes.holding import deadlines_held
from rashpa.control.nodes.node_client import NodeClient
from rashpa.control.plan.model import Plan
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram import Status


class EndOfRun:
    """Decides whether a run ends now, and sends its receivers their numbers of images. `wanted`: True when it should end; `by`: the user who asked
    for it."""

    def __init__(self, plan: Plan, journal: Journal | None) -> None:
        self.wanted = False
        self.by = ""
        self._plan = plan
        self._requests = StopRequests(journal.path) if journal is not None else None

    @property
    def early(self) -> bool:
        """Return True when the emulators end before they have played all frames, or when the number of frames is unknown."""
        return self.wanted or self._plan.end_told

    def begin(self) -> None:
        """Remove requests to an earlier run."""
        if self._requests is not None:
            self._requests.forget()

    def want(self, by: str = "") -> None:
        self.wanted, self.by = True, by

    def due(self, elapsed_s: float) -> bool:
        """Return True when the run should end: on request, or after its duration."""
        duration_s = self._plan.file.run.duration_s
        if duration_s is not None and elapsed_s >= duration_s:
            self.wanted = True
        if self._requests is not None and not self.wanted and (by := self._requests.asked()):
            if why := never_early(self._plan):
                self._requests.answer(StopAnswer(refused=why))
            else:
                self.want(by)
        return self.wanted

    def orders(self, names: Iterable[str], sources: Iterable[Status]) -> dict[str, telegram.Stop]:
        """Return Stop orders for the receivers, with the number of due images of each DTP. When the run ends early, the emulators' counters give it,
        or for a detector that sends by itself the images that have arrived."""
        if self.early and not self._plan.emulators:
            images = images_come(self._plan, sources)
        elif self.early:
            images = {dtp.id: dtp.images_due for status in sources if status.source for dtp in status.source.dtps}
        else:
            images = {dtp.id: buffer.images for buffer in self._plan.buffers for dtp in buffer.dtps}
        dtps = {name: self._plan.dtps_of(name) for name in names}
        return {
            name: telegram.Stop(ends=tuple(telegram.DtpEnd(dtp=dtp.id, images=images.get(dtp.id, 0)) for dtp in own))
            for name, own in dtps.items()
        }

    def answer(self, outcome: Outcome) -> None:
        """Answer a request to stop with the result of the run."""
        if self._requests is not None:
            self._requests.answer(_answer_of(outcome))


def images_come(plan: Plan, statuses: Iterable[Status]) -> dict[int, int]:
    """Return the number of due images of each DTP, up to the latest frame of which any DTP has an image."""
    buffers = [buffer for status in statuses if status.destination for buffer in status.destination.buffers]
    come = {dtp.id: dtp.complete + dtp.partial + dtp.missing for buffer in buffers for dtp in buffer.dtps}
    last = {one.section.name: max(come.get(dtp.id, 0) for dtp in one.dtps) for one in plan.buffers}
    frames = max(
        (one.frame_of(last[one.section.name] - 1) + 1 for one in plan.buffers if last[one.section.name]), default=0
    )
    due = {one.section.name: -(-max(frames - one.section.phase, 0) // one.section.every) for one in plan.buffers}
    return {dtp.id: due[one.section.name] for one in plan.buffers for dtp in one.dtps}


def never_early(plan: Plan) -> str:
    """Return the reason why a run of this plan cannot end in order before its last frame, empty when it can."""
    if any(emulator.engine == "fpga" for emulator in plan.emulators):
        return (
            "a card plays all frames that it was configured for; interrupt `rashpa run` (Ctrl-C, SIGTERM) to abort it"
        )
    if plan.groups:
        return "images that are dealt to a group are as many as the run file says; interrupt `rashpa run` (Ctrl-C, SIGTERM) to abort it"
    if plan.file.faults.reorder > 0:
        return "the fault reorder needs the run's last frame; interrupt `rashpa run` (Ctrl-C, SIGTERM) to abort it"
    return ""


async def end_sources(emulators: Sequence[NodeClient], receivers: Sequence[NodeClient]) -> int:
    """Stop all sources after the same frame and return the number of frames of the run. Pause all sources, take the latest frame that any has begun,
    and order them to play up to it. The deadlines of the receivers are suspended meanwhile. Raise NodeError when a node refuses."""
    async with deadlines_held(receivers):
        return await _end_at_one_frame(emulators)


async def _end_at_one_frame(emulators: Sequence[NodeClient]) -> int:
    statuses = await gather_all(emulator.status() for emulator in emulators)
    states = zip(emulators, statuses, strict=True)
    going = [one for one, status in states if status.state in ("running", "paused")]
    await gather_all(emulator.order_unless_finished(telegram.Pause()) for emulator in going)
    statuses = await gather_all(emulator.status() for emulator in emulators)
    frames = max((status.source.frames_begun for status in statuses if status.source), default=0)
    await gather_all(emulator.order_unless_finished(telegram.Stop(frames=frames)) for emulator in going)
    return frames


def _answer_of(outcome: Outcome) -> StopAnswer:
    books, run = outcome.books, outcome.plan.file.run
    return StopAnswer(
        frames=outcome.frames,
        planned=0 if run.open_ended else run.most_frames,
        good=outcome.good,
        balanced=outcome.balanced,
        expected=books.expected,
        complete=books.complete,
        written=books.written,
        problem=outcome.problem,
        reasons=outcome.reasons,
    )
