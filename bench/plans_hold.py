#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures, plans and runs random systems: an accepted plan must run without overrun, and a refused plan must overrun when it is forced. Prints a
line for each; --json writes all with machine facts. Exit code 1 when a plan does not hold.

Usage: plans_hold.py [--systems 50] [--part 0.8] [--times 1.5] [--json OUT.json]
  --part   share of the highest rate that fits, at which a system is accepted
  --times  multiple of the highest rate of its pipelines, at which it is refused
"""

import argparse
import dataclasses
import sys
import tempfile
from pathlib import Path

from rashpa.control.nodes.machine import measured, write_measured
from rashpa.testing.random_systems import Trial, try_out


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--systems", type=int, default=50)
    options.add_argument("--part", type=float, default=0.8)
    options.add_argument("--times", type=float, default=1.5)
    options.add_argument("--json", type=Path)
    chosen = options.parse_args()
    trials: list[Trial] = []
    for seed in range(chosen.systems):
        with tempfile.TemporaryDirectory() as folder:
            trials.append(try_out(seed, Path(folder), chosen.part, chosen.times))
        one = trials[-1]
        print(
            f"{seed:3} {one.buffers} buffers, {one.receivers} receivers: {one.rate_hz:7.1f} Hz, overruns {one.lost}; "
            f"{one.refused_hz:7.1f} Hz forced, overruns {one.overrun}",
            flush=True,
        )
    held = [one for one in trials if one.lost[-1] == 0]
    at_once = [one for one in trials if one.lost == (0,)]
    overran = [one for one in trials if one.overrun > 0]
    print(
        f"of {len(trials)} systems {len(held)} ran without overrun as accepted, {len(at_once)} of them the first time; "
        f"{len(overran)} overran as refused"
    )
    if chosen.json:
        name = f"{len(trials)} random systems, accepted at {chosen.part:g} of the rate that fits, refused at {chosen.times:g} × the fastest"
        facts = {"accepted_and_held": len(held), "the_first_time": len(at_once), "refused_and_overran": len(overran)}
        write_measured(chosen.json, measured(name, map(dataclasses.asdict, trials), **facts))
    return 0 if len(held) == len(overran) == len(trials) else 1


if __name__ == "__main__":
    sys.exit(main())
