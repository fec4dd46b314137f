# SPDX-License-Identifier: Apache-2.0
"""Runs a plan with fake nodes as processes, and disturbs the run while it goes on."""

import asyncio
import sys
import time
from collections.abc import Callable

from rashpa.control.books.outcome import Outcome, Progress
from rashpa.control.nodes.launcher import LocalLauncher
from rashpa.control.plan.model import Plan
from rashpa.control.run.manager import Manager


def fake_command(role: str, name: str) -> tuple[str, ...]:
    """Return the command of a node with a fake engine."""
    return (sys.executable, "-m", "rashpa.testing.fake_node", role, name)


def run_and_strike(plan: Plan, strike: Callable[[Manager], None], after_images: int = 4) -> tuple[Outcome, float]:
    """Call `strike` once all receivers have `after_images` complete images. Return the outcome, and the seconds from the call to the end."""
    struck: list[float] = []

    def observe(progress: Progress) -> None:
        seen = [status.destination for status in progress.receivers.values()]
        there = all(each and each.buffers[0].books.complete >= after_images for each in seen)
        if not struck and len(seen) == len(plan.receivers) and there:
            struck.append(time.monotonic())
            strike(manager)

    manager = Manager(plan, observe, launcher=LocalLauncher(fake_command))
    outcome = asyncio.run(manager.run())
    return outcome, time.monotonic() - struck[0]
