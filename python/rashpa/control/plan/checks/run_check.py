# SPDX-License-Identifier: Apache-2.0
"""Finds faults in the run file's keys of the run itself: its length, its end, its injected faults."""

from collections.abc import Iterator

from rashpa.control.plan.series import series_problems
from rashpa.control.runfile import run_file as toml
from rashpa.control.runfile.run_file_reader import RunFileSource


def run_problems(file: toml.RunFile, source: RunFileSource) -> Iterator[str]:
    """Yield a line for each contradiction between [run], [faults] and the rest."""
    yield from _length_problems(file, source)
    yield from series_problems(file, source)
    if file.run.open_ended and file.run.orphaned == "finish":
        yield f'{source.where(("run", "orphaned"))}: a run without an end has none to go on to without its manager; "end" is what nodes can do'
    for emulator in file.emulators:
        if file.run.on_overrun == "slow" and emulator.engine == "fpga":
            yield f'{source.where(("run", "on_overrun"))}: emulator {emulator.name} is a card, which keeps its rate while it plays; use "stop" or "count"'
    for number, dead in enumerate(file.faults.dead_modules):
        if dead.module >= len(file.detector.module):
            yield (
                f"{source.where(('faults', 'dead_modules', number, 'module'))}: module {dead.module} does not exist; "
                f"modules are 0 … {len(file.detector.module) - 1}"
            )


def _length_problems(file: toml.RunFile, source: RunFileSource) -> Iterator[str]:
    """Yield faults of runs of unknown length."""
    if not file.run.open_ended and file.run.duration_s is not None:
        yield f'{source.where(("run", "duration_s"))}: the run has {file.run.frames} frames; set frames = "until stopped"'
    if not file.run.open_ended and file.detector.trigger == "internal":
        return
    if file.faults.reorder > 0:
        yield f"{source.where(('faults', 'reorder'))}: needs a known number of run.frames and no triggers: nothing is held back behind the last frame"
    for number, emulator in enumerate(file.emulators):
        if emulator.engine == "fpga":
            here = ("emulator", number, "engine") if isinstance(file.emulator, list) else ("emulator", "engine")
            yield f"{source.where(here)}: a card plays a known number of run.frames, without triggers; set them so, or another engine"
    if file.link.flow == "paced" and file.detector.rate_hz == 0:
        yield f'{source.where(("link", "flow"))}: until stopped without a rate needs flow = "credits"'
