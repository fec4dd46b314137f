# SPDX-License-Identifier: Apache-2.0
"""Images dealt to 1, 2 and 4 receivers whose links limit, and to 4 of which one is killed: images a second, and how long a dead member was given images.

    .venv/bin/python bench/groups/measure.py --json bench/results/group.json

A link that limits is emulated: each DTP waits `--image-ms` before each image (the fault `stall`), so that a member takes no more than 1000 / image-ms images a second, whatever
the processors do. Everything runs on this machine, by user-space RoCE over loopback.
"""

import argparse
import asyncio
import json
import os
import signal
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rashpa.control.local_node import local_command
from rashpa.control.machine import machine_facts
from rashpa.control.manager import Manager
from rashpa.control.outcome import Outcome, Progress
from rashpa.control.run_plan import load_plan

RUN = """\
[run]
name = "group"
frames = {frames}
output = "."
existing = "replace"
[detector]
width = 128
height = 64
[dataset]
kind = "pattern"
width = 128
height = 64
[link]
port = 0
[faults]
stall = 1.0
stall_us = {stall_us}
{receivers}
[[buffer]]
name = "full"
{where}
slots = 20
stack = 5
sink = [{{ kind = "null" }}]
"""


class Watch:
    """Images that were given to anybody, by time; kills a member at its moment."""

    def __init__(self, kill_after_s: float) -> None:
        self.manager: Manager | None = None
        self.given: list[tuple[float, int]] = []
        self.killed: float | None = None
        self._kill_after_s = kill_after_s

    def __call__(self, progress: Progress) -> None:
        sources = [status.source for status in progress.emulators.values() if status.source]
        if progress.phase != "running" or not sources:
            return
        now = time.monotonic()
        self.given.append((now, sum(dtp.images_sent for dtp in sources[0].dtps)))
        late = now - self.given[0][0] > self._kill_after_s
        if self._kill_after_s and late and self.killed is None and self.manager is not None:
            os.kill(self.manager.local_nodes["r0"].pid, signal.SIGKILL)
            self.killed = now

    def rate(self, first: float, last: float) -> float:
        """Images a second between two times."""
        part = [(when, count) for when, count in self.given if first <= when <= last]
        return (part[-1][1] - part[0][1]) / (part[-1][0] - part[0][0])


def run(folder: Path, members: int, image_ms: float, seconds: float, kill: bool) -> tuple[Outcome, Watch]:
    """One run of about so long."""
    names = [f"r{number}" for number in range(members)]
    receivers = "".join(f'[[receiver]]\nname = "{name}"\n' for name in names)
    if members > 1:
        receivers += f'[[group]]\nname = "farm"\nreceivers = {json.dumps(names)}\n'
    file = folder / "group.toml"
    frames = int(seconds * members * 1000 / image_ms)
    where = 'group = "farm"' if members > 1 else ""
    file.write_text(RUN.format(frames=frames, stall_us=int(image_ms * 1000), receivers=receivers, where=where))
    watch = Watch(seconds / 2 if kill else 0.0)
    watch.manager = Manager(load_plan(file), watch, "", local_command)
    outcome = asyncio.run(watch.manager.run())
    if not outcome.good:
        sys.exit(f"{members} members: {outcome.problem or outcome.reasons}")
    return outcome, watch


def main() -> None:
    """Measures, prints, stores."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--image-ms", type=float, default=5.0)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        stored = given.json.resolve() if given.json else None
        os.chdir(name)
        for members in (1, 2, 4):
            found = []
            for _ in range(given.rounds):
                _, watch = run(Path(name), members, given.image_ms, given.seconds, kill=False)
                found.append(watch.rate(watch.given[0][0] + 1.0, watch.given[-1][0]))
            rows.append({"what": f"{members} members", "images_per_s": statistics.median(found), "rounds": found})
        before, after, silent = [], [], []
        for _ in range(given.rounds):
            outcome, watch = run(Path(name), 4, given.image_ms, given.seconds, kill=True)
            killed = watch.killed or 0.0
            before.append(watch.rate(watch.given[0][0] + 1.0, killed))
            after.append(watch.rate(killed + 0.5, watch.given[-1][0]))
            (group,) = outcome.groups
            silent.append(next(member.silent_ms for member in group.members if member.name == "r0"))
            if group.missing or not group.resent:
                sys.exit(f"{group.missing} images are missing, {group.resent} were sent again")
    one = rows[0]["images_per_s"]
    for row in rows[1:]:
        row["times_one"] = row["images_per_s"] / one
    rows.append(
        {"what": "4 members, before one is killed", "images_per_s": statistics.median(before), "rounds": before}
    )
    left = statistics.median(b / a for a, b in zip(before, after, strict=True))
    rows.append(
        {"what": "… after it", "images_per_s": statistics.median(after), "rounds": after, "part_of_before": left}
    )
    rows.append(
        {"what": "silence of the dead one when it was given up, ms", "ms": statistics.median(silent), "rounds": silent}
    )
    for row in rows:
        print(row)
    if stored:
        facts = {"command": "bench/groups/measure.py", "image_ms": given.image_ms, "seconds": given.seconds}
        text = json.dumps({**facts, "load": os.getloadavg(), "machine": machine_facts(), "rows": rows}, indent=2)
        stored.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
