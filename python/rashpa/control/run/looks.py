# SPDX-License-Identifier: Apache-2.0
"""Chooses the times at which the manager asks its nodes: often around the time when they may finish, and seldom otherwise."""

from rashpa.control.runfile.run_file import RunFile

_SHORTEST_S = 0.01
_SHARE = 0.5  # of the time since they may be through: a very late node is looked at as seldom


def next_look_s(now: float, due: float, most_s: float) -> float:
    """Return the seconds to wait after `now`, at most `most_s`. `due`: the earliest time at which the nodes may finish."""
    wait = due - now if now < due else max(_SHORTEST_S, _SHARE * (now - due))
    return min(most_s, wait)


def shortest_run_s(file: RunFile) -> float:
    """Return the shortest time in seconds for which the emulators of a run play; 0 without a rate, or when another signal starts frames."""
    if file.detector.rate_hz == 0.0 or file.detector.trigger == "software":
        return 0.0
    return (file.run.most_frames - 1) / file.detector.rate_hz
