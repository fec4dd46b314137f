# SPDX-License-Identifier: Apache-2.0
"""Measures, plans and runs random systems: an accepted plan must run without overrun, and a refused one must overrun when it is forced.

Their pipelines wait in place of working, so that their speed does not depend on the load of the machine. Their rings hold some tenths of a second,
for a loaded machine.
"""

import asyncio
import random
from dataclasses import dataclass
from pathlib import Path

from rashpa.control.books.outcome import Outcome
from rashpa.control.capacity.capacity import CapacityError, check_capacity
from rashpa.control.capacity.proposals import proposals_for
from rashpa.control.plan.model import Plan, PlannedBuffer
from rashpa.control.plan.run_plan import load_plan, plan_run
from rashpa.control.run.manager import Manager
from rashpa.control.runfile.kernels import parameters_of
from rashpa.control.telegrams.telegram import Capabilities, Throughput, count_of
from rashpa.node.engine.folders import Folders
from rashpa.node.engine.native_engine import NativeFactory
from rashpa.node.offline.measure import measure
from rashpa.node.state.node import Node
from rashpa.testing.in_process import transports_of

TRIES = 3
_WAITING = """\
import time
from rashpa.data.kernels.kernel import Column, kernel


@kernel(takes=["uint16"], columns=[Column("first", "uint32")])
def wait(pixels, *, ms: float = 1.0):
    time.sleep(ms / 1000)  # wait: so long does it compute
    return {"first": int(pixels[0, 0])}
"""


@dataclass(frozen=True)
class Trial:
    """Holds the result of one system. `lost`: overruns of the accepted plan at `rate_hz`, for each run. The plan runs up to three times until there
    are none, because another program can occupy the processors for longer than a ring lasts. `overrun`: overruns of the refused plan, which was
    forced."""

    seed: int
    buffers: int
    receivers: int
    rate_hz: float
    lost: tuple[int, ...]
    refused_hz: float
    overrun: int


class System:
    """Describes a run file with one to three buffers at one or two receivers, and nodes in this process with their measured rates."""

    def __init__(self, seed: int, folder: Path) -> None:
        dice = random.Random(seed)  # noqa: S311  for systems, not for secrets
        self._folder = folder
        (folder / "waiting.py").write_text(_WAITING)
        modules, receivers = dice.randint(1, 3), dice.randint(1, 2)
        text = '[run]\nname = "plan"\nframes = 1000\n[detector]\nwidth = 64\nheight = 32\nrate_hz = 100.0\n'
        text += "".join(f"[[detector.module]]\nx = 0\ny = {40 * number}\n" for number in range(modules))
        text += f'[dataset]\nkind = "pattern"\nmodules = {modules}\nwidth = 64\nheight = 32\n'
        text += '[link]\nflow = "paced"\n'
        keys = 'port = 0\nmemory = "pageable"\n'
        text += "".join(f'[[receiver]]\nname = "r{number}"\n{keys}' for number in range(receivers))
        for number in range(max(receivers, dice.randint(1, 3))):
            stack = dice.choice((1, 2, 4))
            text += f'[[buffer]]\nname = "b{number}"\nreceiver = "r{number % receivers}"\nstack = {stack}\nslots = 48\n'
            text += f'every = {dice.choice((1, 1, 2))}\ndeadline_ms = 20000\n[[buffer.sink]]\nkind = "null"\n'
            text += '[[buffer.kernel]]\nname = "python"\nfunction = "waiting:wait"\n'
            text += f"parameters = {{ ms = {dice.choice((4.0, 7.0, 10.0))} }}\n"
        path = folder / "system.toml"
        path.write_text(text)
        self.plan = load_plan(path)
        # the best of several: while others have the processors, a figure is too low, and a run at its rate takes minutes
        best: dict[str, Throughput] = {}
        for _ in range(TRIES):
            for one in measure(path, 0.3):
                made = one.throughput
                if made is None:
                    raise RuntimeError(one.trouble)
                best[made.pipeline] = max(made, best.get(made.pipeline, made), key=lambda each: each.images_per_s)
        self._known = tuple(best.values())

    def nodes(self) -> dict[str, Node]:
        folders = Folders([Path("/")], [Path("/")], self._folder)
        return {
            node.name: Node(node.label, node.role, NativeFactory(node.role, folders=folders, throughputs=self._known))
            for node in self.plan.nodes
        }

    def capabilities(self) -> dict[str, Capabilities]:
        return {name: node.capabilities() for name, node in self.nodes().items()}

    def accepted(self, part: float) -> Plan:
        """Return a plan at `part` of the highest rate that fits, with enough frames to fill every ring three times."""
        often = self._with(1e6, 3)
        (highest,) = [
            change.value
            for proposal in proposals_for(often, self.capabilities())
            for change in proposal.changes
            if change.path == ("detector", "rate_hz")
        ]
        return self._with(part * highest, 3)

    def refused(self, times: float) -> Plan:
        """Return a plan at `times` the rate that its pipelines keep up with, with enough frames that the surplus fills every ring twice."""
        return self._with(times * min(self._fastest(buffer) for buffer in self.plan.buffers), 2 * times / (times - 1))

    def _fastest(self, buffer: PlannedBuffer) -> float:
        """Return the largest frame rate, 1/s, that the pipeline can keep up with; its only kernel waits for a fixed time per image."""
        (kernel,) = buffer.section.kernel
        return buffer.section.every * 1000 / float(parameters_of(kernel)["parameters"]["ms"])

    def _with(self, rate_hz: float, fills: float) -> Plan:
        file = self.plan.file
        frames = round(max(fills * buffer.section.slots * buffer.section.every for buffer in self.plan.buffers))
        detector = file.detector.model_copy(update={"rate_hz": rate_hz})
        run = file.run.model_copy(update={"frames": frames})
        return plan_run(file.model_copy(update={"detector": detector, "run": run}), self.plan.source)

    def run(self, plan: Plan, *, force: bool = False) -> Outcome:
        """Run the plan. Raise RuntimeError when it has a problem, or when its books do not balance."""
        outcome = asyncio.run(Manager(plan, transports=transports_of(self.nodes()), force=force).run())
        if outcome.problem or not outcome.balanced:
            raise RuntimeError(outcome.problem or "the books do not balance")
        return outcome


def try_out(seed: int, folder: Path, part: float, times: float) -> Trial:
    """Run one system with an accepted and a refused plan. Raise RuntimeError when the planner decides otherwise, or when a run fails."""
    system = System(seed, folder)
    accepted, refused = system.accepted(part), system.refused(times)
    check_capacity(accepted, system.capabilities())
    lost: list[int] = []
    while len(lost) < TRIES and (not lost or lost[-1] > 0):
        lost.append(_overruns(system.run(accepted)))
    try:
        check_capacity(refused, system.capabilities())
    except CapacityError as error:
        if "a stack of" not in str(error):
            raise RuntimeError(f"refused, but not for the time of a stack: {error}") from None
    else:
        raise RuntimeError(f"{refused.file.detector.rate_hz:g} Hz are not refused")
    forced = system.run(refused, force=True)
    if not forced.cautions:
        raise RuntimeError("a run that was forced does not say so")
    rates = accepted.file.detector.rate_hz, refused.file.detector.rate_hz
    plan = system.plan
    return Trial(seed, len(plan.buffers), len(plan.receivers), rates[0], tuple(lost), rates[1], _overruns(forced))


def _overruns(outcome: Outcome) -> int:
    return sum(
        count_of(dtp.counts, "loss").get("overrun", 0) for buffer in outcome.buffers for dtp in buffer.dtps
    ) + sum(count_of(buffer.counts, "error").get("overwritten", 0) for buffer in outcome.buffers)
